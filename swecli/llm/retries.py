"""Ask a model once more when an answer fails: without what it refused, with more room, or after a wait."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from swecli.llm.base import ChatModel
from swecli.llm.errors import TRIES_IF_BROKEN_OFF, TRIES_IF_EMPTY
from swecli.models.errors import CallLost, OutputLimitReached, Unavailable, UnsupportedFeature
from swecli.models.message import ModelChunk, ModelRequest
from swecli.values import dataclass

LONGEST_WAIT = 60.0  # seconds
ALL_WAITS = 120.0  # seconds
_TRIES = 5
_MAX_LEFT_OUT = 4  # features that one answer may be asked for without
_FIRST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class Retry:
    """A request is sent again after `wait` seconds; `attempt` counts from 1. With `restart` the chunks received so far
    must be discarded. A `notice` is not a failure: the request is repeated without a feature the model refused."""

    attempt: int
    wait: float
    reason: str
    restart: bool
    notice: bool = False


async def stream_with_retry(
    model: ChatModel,
    request: ModelRequest,
    *,
    attempts: int = _TRIES,
    jitter: Callable[[], float] = random.random,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AsyncGenerator[ModelChunk | Retry]:
    """Stream an answer, retrying transient failures with exponential backoff and jitter: at most `attempts` requests,
    the error's own limit for each kind of failure, and ALL_WAITS seconds of waiting in total, each wait by `pause`.
    Yields a `Retry` before each wait. A stream that ends without `stop` counts as cut off. Raises the last
    ProviderError, or the first that is not transient or asks for a wait above LONGEST_WAIT."""
    tries = _Tries(model, request, attempts, jitter)
    while True:
        received = _Received()
        try:
            async with aclosing(model.stream(tries.request)) as source:
                async for chunk in source:
                    received.add(chunk)
                    yield chunk
            received.check_end(model, request)
            return
        except (UnsupportedFeature, OutputLimitReached, Unavailable) as error:
            retry = tries.next_after(error, restart=received.has_content)
            if retry is None:
                raise
        yield retry
        if not retry.notice:
            await pause(retry.wait)


class _Received:
    """What an attempt has received so far."""

    def __init__(self) -> None:
        self.has_content = False
        self._has_stopped = False
        self._has_call = False
        self._announces_call = False
        self._text = ""

    def add(self, chunk: ModelChunk) -> None:
        self.has_content = self.has_content or bool(chunk.text or chunk.reasoning or chunk.call)
        self._has_stopped = self._has_stopped or chunk.stop is not None
        self._has_call = self._has_call or chunk.call is not None
        self._announces_call = chunk.stop == "tool_calls"
        self._text += chunk.text

    def check_end(self, model: ChatModel, request: ModelRequest) -> None:
        """Raise Unavailable for an answer that was cut off, CallLost for one that was announced as a call and has none,
        not in its text either."""
        if not self._has_stopped:
            words = f"The answer of {model.name} was cut off."
            raise Unavailable(words, "Try again.", tries=TRIES_IF_BROKEN_OFF)
        if self._has_call or not (self._announces_call and request.tools):
            return
        if model.profile.reads_written_calls:
            # late: few servers leave calls in the text
            from swecli.llm.written_calls import find_written_call

            if find_written_call(self._text, request.tools) is not None:
                return
        raise CallLost(
            f"{model.name} announced a tool call and sent none.",
            "Try again, or choose another model: its server may not read the model's calls.",
            tries=TRIES_IF_EMPTY,
        )


class _Tries:
    """The attempts at one answer. `request` is what the next one sends."""

    def __init__(
        self,
        model: ChatModel,
        request: ModelRequest,
        attempts: int,
        jitter: Callable[[], float],
    ) -> None:
        self.request = request
        self._model = model
        self._attempts = attempts
        self._jitter = jitter
        self._attempt = 0
        self._features_left_out = 0
        self._is_doubled = False
        self._failures: Counter[int] = Counter()  # by the tries that their kind allows
        self._seconds_waited = 0.0

    def next_after(
        self, error: UnsupportedFeature | OutputLimitReached | Unavailable, *, restart: bool
    ) -> Retry | None:
        """Return how to go on after an error, None if it has to be raised."""
        self._attempt += 1
        if self._attempt == self._attempts:
            return None
        if isinstance(error, UnsupportedFeature):
            self._features_left_out += 1
            if self._features_left_out > _MAX_LEFT_OUT:
                return None
            return Retry(self._attempt, 0.0, error.message, restart, notice=True)
        if isinstance(error, OutputLimitReached):
            if not self._double_length():
                return None
            reason = f"{error.message} Retrying with twice the length."
            return Retry(self._attempt, 0.0, reason, restart, notice=True)
        wait = self._wait_after(error)
        return None if wait is None else Retry(self._attempt, wait, error.message, restart)

    def _double_length(self) -> bool:
        """Ask for an answer of twice the length. Returns False if that was done before, the request names no length, or
        the model allows no more."""
        length = self.request.max_tokens
        limit = self._model.profile.max_output
        if self._is_doubled or not length or (limit is not None and length >= limit):
            return False
        self._is_doubled = True
        self.request = replace(self.request, max_tokens=2 * length)
        return True

    def _wait_after(self, failure: Unavailable) -> float | None:
        """Return the seconds until the next attempt, None if there should be none: its kind has failed too often, or
        the wait would be too long."""
        self._failures[failure.tries] += 1
        failures = self._failures[failure.tries]
        wait = failure.retry_after
        if wait is None:
            longest = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (failures - 1))
            wait = longest * (0.5 + self._jitter() / 2)
        is_too_long = wait > LONGEST_WAIT or self._seconds_waited + wait > ALL_WAITS
        if failures >= failure.tries or is_too_long:
            return None
        self._seconds_waited += wait
        return wait
