"""Trying again what may pass: which failures, how often, after which wait; and how long a stream may be silent."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from swecli.llm.base import ChatModel
from swecli.llm.endpoints import Endpoint
from swecli.llm.errors import CUT_TRIES, silent
from swecli.models.errors import AnswerUsedUp, FeatureRefused, ProviderError, RateLimited, Unavailable
from swecli.models.message import ModelChunk, ModelRequest

LONGEST_WAIT, ALL_WAITS = 60.0, 120.0
_TRIES = 5
_FEATURES = 4
_FIRST_WAIT = 1.0
pause = asyncio.sleep  # between two tries
NO_BYTE, NO_WORD = "sent no byte", "sent no word of an answer"


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and is sent again after `wait` seconds; `attempt` counts the failures from 1. With `restart` set
    the pieces that came already must be thrown away. A `notice` is no failure: the request goes out once more without
    what the model does not take."""

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
) -> AsyncGenerator[ModelChunk | Retry]:
    """The model's stream, begun again on failures that may pass, at most `attempts` times in all, with a `Retry` before
    each wait. Each kind of failure has its own number of tries; all waits together are at most ALL_WAITS. A stream that
    ends without a `stop` was cut off. Raises the last ProviderError, or the first that cannot pass or asks for a wait
    above LONGEST_WAIT."""
    failed: Counter[int] = Counter()
    waited, features, doubled = 0.0, 0, False
    for attempt in range(1, attempts + 1):
        came = False
        try:
            async with aclosing(_complete(model, request)) as source:
                async for chunk in source:
                    came = came or bool(chunk.text or chunk.reasoning or chunk.call)
                    yield chunk
            return
        except FeatureRefused as refused:
            features += 1
            if attempt == attempts or features > _FEATURES:
                raise
            again = Retry(attempt, 0.0, refused.message, came, notice=True)
        except AnswerUsedUp as used_up:
            asked, most = request.max_tokens or 0, model.profile.max_output
            if attempt == attempts or doubled or not asked or (most is not None and asked >= most):
                raise
            doubled, request = True, replace(request, max_tokens=2 * asked)
            again = Retry(attempt, 0.0, f"{used_up.message} Once more with twice the length.", came, notice=True)
        except ProviderError as failure:
            tries = getattr(failure, "tries", 1)
            failed[tries] += 1
            wait = _wait(failure, failed[tries], jitter())
            if attempt == attempts or failed[tries] >= tries or wait is None or waited + wait > ALL_WAITS:
                raise
            waited += wait
            again = Retry(attempt, wait, failure.message, came)
        yield again
        if not again.notice:
            await pause(again.wait)


def _wait(failure: ProviderError, attempt: int, chance: float) -> float | None:
    """Seconds until the next try; None when there must be none."""
    if not failure.retryable:
        return None
    asked = failure.retry_after if isinstance(failure, RateLimited) else None
    if asked is not None:
        return max(0.0, asked) if asked <= LONGEST_WAIT else None
    full = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
    return full * (0.5 + chance / 2)


async def _complete(model: ChatModel, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
    """The model's chunks. Raises Unavailable when none of them carried a stop."""
    stopped, source = False, model.stream(request)
    try:
        async for chunk in source:
            stopped = stopped or chunk.stop is not None
            yield chunk
    finally:  # a generator left to the collector keeps its connection
        if (close := getattr(source, "aclose", None)) is not None:
            await close()
    if not stopped:
        raise Unavailable(f"The answer of {model.name} was cut off.", "Try again.", tries=CUT_TRIES)


async def watched(chunks: AsyncGenerator[ModelChunk], at: Endpoint) -> AsyncGenerator[ModelChunk]:
    """The same chunks; the stream is closed when nothing comes for too long. The first chunk marks that the request was
    sent: the clocks of `at` begin with it. Keep-alives (`alive` chunks) are signs of life, not tokens. Raises
    Unavailable on a stall; it is not tried again, the answer may have been paid."""
    clock = asyncio.get_running_loop().time
    limit, what = None, ""  # the transport watches how long sending takes
    sent, began = 0.0, False
    async with aclosing(chunks):
        while True:
            try:
                async with asyncio.timeout(limit):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise silent(at.address, at.first_token if what == NO_WORD else limit, what) from None
            if chunk is None:
                return
            sent = sent or clock()
            began = began or bool(chunk.text or chunk.reasoning or chunk.call)
            yield chunk
            limit, what = (at.quiet, "stopped in its answer and sent no byte") if began else (at.first_byte, NO_BYTE)
            left = None if began or at.first_token is None else sent + at.first_token - clock()
            if left is not None and (limit is None or left < limit):
                limit, what = left, NO_WORD
