"""Turn a model's stream into one reply: retries and merging of chunks."""

from __future__ import annotations

import asyncio
import random
import re
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import field, replace
from typing import Any

from swecli.llm.base import ChatModel
from swecli.llm.call_arguments import parse_arguments
from swecli.llm.errors import TRIES_IF_BROKEN_OFF, TRIES_IF_EMPTY
from swecli.models.errors import CallLost, OutputLimitReached, Unavailable, UnsupportedFeature
from swecli.models.message import CallDelta, ModelChunk, ModelReply, ModelRequest, ToolCall
from swecli.text import join_surrogates
from swecli.values import dataclass

LONGEST_WAIT = 60.0  # seconds
ALL_WAITS = 120.0  # seconds
_TRIES = 5
_MAX_LEFT_OUT = 4  # features that one answer may be asked for without
_FIRST_WAIT = 1.0
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


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
    failures: Counter[int] = Counter()  # by the tries that their kind allows
    total_wait = 0.0
    left_out = 0
    is_doubled = False
    for attempt in range(1, attempts + 1):
        is_last = attempt == attempts
        has_content = has_stopped = announces_call = has_call = False
        text = ""
        try:
            async with aclosing(model.stream(request)) as source:
                async for chunk in source:
                    has_content = has_content or bool(chunk.text or chunk.reasoning or chunk.call)
                    has_stopped = has_stopped or chunk.stop is not None
                    has_call = has_call or chunk.call is not None
                    text += chunk.text
                    announces_call = chunk.stop == "tool_calls"
                    yield chunk
            if not has_stopped:
                words = f"The answer of {model.name} was cut off."
                raise Unavailable(words, "Try again.", tries=TRIES_IF_BROKEN_OFF)
            if announces_call and request.tools and not has_call:
                _check_for_lost_call(model, text, request)
            return
        except UnsupportedFeature as error:
            left_out += 1
            if is_last or left_out > _MAX_LEFT_OUT:
                raise
            retry = Retry(attempt, 0.0, error.message, has_content, notice=True)
        except OutputLimitReached as error:
            doubled = _with_twice_the_length(request, model)
            if is_last or is_doubled or doubled is None:
                raise
            is_doubled = True
            request = doubled
            reason = f"{error.message} Retrying with twice the length."
            retry = Retry(attempt, 0.0, reason, has_content, notice=True)
        except Unavailable as error:
            failures[error.tries] += 1
            wait = _backoff(error, failures[error.tries], jitter())
            is_given_up = is_last or failures[error.tries] >= error.tries
            if is_given_up or wait is None or total_wait + wait > ALL_WAITS:
                raise
            total_wait += wait
            retry = Retry(attempt, wait, error.message, has_content)
        yield retry
        if not retry.notice:
            await pause(retry.wait)


def _with_twice_the_length(request: ModelRequest, model: ChatModel) -> ModelRequest | None:
    """Return the request for an answer of twice its length, None if it names no length or the model allows no more."""
    length = request.max_tokens
    limit = model.profile.max_output
    if not length or (limit is not None and length >= limit):
        return None
    return replace(request, max_tokens=2 * length)


def _check_for_lost_call(model: ChatModel, text: str, request: ModelRequest) -> None:
    """Raise CallLost if an answer that was announced as a call has none, not in its text either."""
    if model.profile.reads_written_calls:
        # late: few servers leave calls in the text
        from swecli.llm.written_calls import find_written_call

        if find_written_call(text, request.tools) is not None:
            return
    raise CallLost(
        f"{model.name} announced a tool call and sent none.",
        "Try again, or choose another model: its server may not read the model's calls.",
        tries=TRIES_IF_EMPTY,
    )


def _backoff(failure: Unavailable, attempt: int, chance: float) -> float | None:
    """Return the seconds until the next attempt, None if the service asks for too long a wait. `chance` is 0 to 1."""
    requested = failure.retry_after
    if requested is not None:
        return requested if requested <= LONGEST_WAIT else None
    wait = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
    return wait * (0.5 + chance / 2)


@dataclass(slots=True)
class _CallSlot:
    """A tool call under construction."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def accepts(self, delta: CallDelta) -> bool:
        """Return True if a delta of this index continues this call; some servers send every call as index 0, others
        another id with every delta of one call."""
        if not (delta.name and self.name):
            return True
        if delta.id and self.id:
            return delta.id == self.id
        arguments = "".join(self.arguments)
        if not arguments.rstrip().endswith("}"):
            return True
        _, problem = parse_arguments(arguments)
        return bool(problem)


class ReplyBuilder:
    """Accumulates chunks; `build` may be called at any time, also after a stream was cut off. A call without an id, or
    with one in `used_ids` or used before in this reply, gets a new one."""

    def __init__(self, used_ids: Collection[str] = ()) -> None:
        self._used_ids = set(used_ids)
        self.reset()

    def reset(self) -> None:
        """Discard all chunks: the answer starts again."""
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._last: dict[str, Any] = {}
        self._slots: list[_CallSlot] = []

    def add(self, chunk: ModelChunk) -> None:
        """Append one chunk."""
        for name, pieces in self._texts.items():
            pieces.append(getattr(chunk, name))
        for name in ("usage", "cost", "stop", "blocks", "note"):
            value = getattr(chunk, name)
            if value not in (None, ""):
                self._last[name] = value
        if chunk.call is not None:
            self._add_call(chunk.call)

    def build(self) -> ModelReply:
        """Return the reply so far. Calls are not repaired: `malformed` has the problem of unreadable ones."""
        texts: dict[str, Any] = {
            name: join_surrogates("".join(pieces)) for name, pieces in self._texts.items()
        }
        # the chat templates of many local models open the thoughts: only their end is in the answer
        thoughts, closing_tag, answer = texts["text"].partition("</think>\n\n")
        if closing_tag and not texts["reasoning"] and "<think>" not in thoughts:
            texts |= {"reasoning": thoughts, "text": answer}
        reply = ModelReply(**texts, **self._last)
        used_ids = set(self._used_ids)
        for slot in self._slots:
            is_usable = slot.id and slot.id.isprintable() and slot.id not in used_ids
            call_id = slot.id if is_usable else f"call_{secrets.token_hex(8)}"
            used_ids.add(call_id)
            arguments = "".join(slot.arguments)
            parameters, problem = parse_arguments(arguments)
            name = slot.name.partition("<|")[0]  # gpt-oss: read_file<|channel|>commentary
            if not _NAME.fullmatch(name):  # every provider would refuse it in the next request
                problem = f"{name!r} is not a tool name"
                name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
            reply.calls.append(ToolCall(id=call_id, name=name, parameters=parameters))
            if problem:
                reply.malformed[call_id] = problem
        return reply

    def _add_call(self, delta: CallDelta) -> None:
        slot = next((slot for slot in reversed(self._slots) if slot.index == delta.index), None)
        if slot is None and self._slots and not (delta.id or delta.name):  # some count the pieces
            slot = self._slots[-1]
        if slot is None or not slot.accepts(delta):
            slot = _CallSlot(delta.index)
            self._slots.append(slot)
        slot.id = slot.id or delta.id
        # the name may be split over two deltas, repeated in each, or come behind the arguments
        if delta.name != slot.name and not (slot.name and slot.arguments):
            slot.name += delta.name
        if delta.arguments:
            slot.arguments.append(delta.arguments)
