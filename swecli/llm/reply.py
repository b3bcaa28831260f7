"""From a model's stream to one reply: tried again where a failure may pass, ended where it is silent for too long, its
pieces joined."""

from __future__ import annotations

import asyncio
import json
import random
import re
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.llm.base import ChatModel
from swecli.llm.endpoints import Endpoint
from swecli.llm.errors import CUT_TRIES, stalled
from swecli.models.errors import AnswerUsedUp, FeatureRefused, Unavailable
from swecli.models.message import CallDelta, ModelChunk, ModelReply, ModelRequest, ToolCall

LONGEST_WAIT, ALL_WAITS = 60.0, 120.0
_TRIES = 5
_FEATURES = 4
_FIRST_WAIT = 1.0
pause = asyncio.sleep  # between two tries
_NO_TEXT = "sent no text of an answer"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXCERPT = 80


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and is sent again after `wait` seconds; `attempt` counts the failures from 1. With `restart` set
    the pieces that came already must be thrown away. A `notice` is not a failure: the request goes out once more
    without what the model does not take."""

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
        received = stopped = False
        try:
            async with aclosing(model.stream(request)) as source:
                async for chunk in source:
                    received = received or bool(chunk.text or chunk.reasoning or chunk.call)
                    stopped = stopped or chunk.stop is not None
                    yield chunk
            if stopped:
                return
            raise Unavailable(f"The answer of {model.name} was cut off.", "Try again.", tries=CUT_TRIES)
        except FeatureRefused as refused:
            features += 1
            if attempt == attempts or features > _FEATURES:
                raise
            again = Retry(attempt, 0.0, refused.message, received, notice=True)
        except AnswerUsedUp as used_up:
            asked, most = request.max_tokens or 0, model.profile.max_output
            if attempt == attempts or doubled or not asked or (most is not None and asked >= most):
                raise
            doubled, request = True, replace(request, max_tokens=2 * asked)
            again = Retry(attempt, 0.0, f"{used_up.message} Once more with twice the length.", received, notice=True)
        except Unavailable as failure:
            failed[failure.tries] += 1
            wait = _backoff(failure, failed[failure.tries], jitter())
            given_up = attempt == attempts or failed[failure.tries] >= failure.tries
            if given_up or wait is None or waited + wait > ALL_WAITS:
                raise
            waited += wait
            again = Retry(attempt, wait, failure.message, received)
        yield again
        if not again.notice:
            await pause(again.wait)


def _backoff(failure: Unavailable, attempt: int, chance: float) -> float | None:
    """Seconds until the next try; None when there must be none."""
    if (asked := failure.retry_after) is not None:
        return asked if asked <= LONGEST_WAIT else None
    full = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
    return full * (0.5 + chance / 2)


async def with_timeouts(chunks: AsyncGenerator[ModelChunk], at: Endpoint) -> AsyncGenerator[ModelChunk]:
    """The same chunks; the stream is closed when nothing comes for too long. The first chunk marks that the request was
    sent: the clocks of `at` begin with it. Keep-alives (empty chunks) are signs of life, not tokens. Raises
    Unavailable on a stall; it is not tried again, the answer may have been paid."""
    clock = asyncio.get_running_loop().time
    limit: float | None = None  # the transport watches how long sending takes
    sent, began, what = 0.0, False, ""
    async with aclosing(chunks):
        while True:
            try:
                async with asyncio.timeout(limit):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise stalled(at.address, at.first_token if what == _NO_TEXT else limit or 0.0, what) from None
            if chunk is None:
                return
            sent = sent or clock()
            began = began or bool(chunk.text or chunk.reasoning or chunk.call)
            yield chunk
            if began:
                limit, what = at.quiet, "stopped in its answer and sent no data"
            else:
                limit, what = min((at.first_byte, "sent no data"), (sent + at.first_token - clock(), _NO_TEXT))


@dataclass(slots=True)
class _CallSlot:
    """A call in the making."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def accepts(self, delta: CallDelta) -> bool:
        """Whether a piece under its index is part of it: some servers give every parallel call the index 0."""
        if delta.id and self.id and delta.id != self.id:
            return False
        return (
            not (delta.name and self.arguments)
            or delta.id == self.id != ""
            or not _is_complete_json("".join(self.arguments))
        )


class ReplyBuilder:
    """Collects chunks; `build` may be called at any time, also for what there is of a stream that was cut. A call that
    comes with an id in `taken`, with one used in this reply already, or with none, gets a new one."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self.reset()

    def reset(self) -> None:
        """Forget everything that came: the answer begins again."""
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._last: dict[str, Any] = {}
        self._slots: list[_CallSlot] = []

    def add(self, chunk: ModelChunk) -> None:
        """Take one more piece."""
        for name, pieces in self._texts.items():
            pieces.append(getattr(chunk, name))
        for name in ("usage", "cost", "stop", "blocks", "note"):
            if (value := getattr(chunk, name)) not in (None, ""):
                self._last[name] = value
        if chunk.call is not None:
            self._add_call(chunk.call)

    def build(self) -> ModelReply:
        """The reply so far. Nothing in a call is repaired: what cannot be read stands in `malformed`."""
        texts: dict[str, Any] = {name: _join_surrogates("".join(pieces)) for name, pieces in self._texts.items()}
        reply = ModelReply(**texts, **self._last)
        used = set(self._taken)
        for slot in self._slots:
            free = slot.id and slot.id.isprintable() and slot.id not in used
            call_id = slot.id if free else f"call_{secrets.token_hex(8)}"
            used.add(call_id)
            arguments = "".join(slot.arguments)
            parameters, problem = parse_arguments(arguments)
            name = slot.name
            if not _NAME.fullmatch(name):  # no provider would take it back
                problem = f"{name!r} is not a tool name"
                name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
            reply.calls.append(ToolCall(id=call_id, name=name, parameters=parameters))
            if problem:
                reply.malformed[call_id], reply.broken[call_id] = problem, arguments
        return reply

    def _add_call(self, delta: CallDelta) -> None:
        slot = next((s for s in reversed(self._slots) if s.index == delta.index), None)
        if slot is None or not slot.accepts(delta):
            slot = _CallSlot(delta.index)
            self._slots.append(slot)
        slot.id = slot.id or delta.id
        if delta.name != slot.name and not slot.arguments:  # a name may come in two pieces, or whole in each
            slot.name += delta.name
        if delta.arguments:
            slot.arguments.append(delta.arguments)


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them ("" for nothing). No text at all means no arguments."""
    excerpt = text if len(text) <= _EXCERPT else f"{text[: _EXCERPT // 2]} … {text[-_EXCERPT // 2 :]}"
    try:
        value = json.loads(text, parse_constant=_reject_constant) if text.strip() not in ("", "null") else {}
        if isinstance(value, str):  # some servers quote the object once more
            value = json.loads(value, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON ({error}): {excerpt}"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {excerpt}"
    try:
        return _clean_value(value), ""
    except ValueError as error:
        return {}, str(error)


def _is_complete_json(arguments: str) -> bool:
    return arguments.rstrip().endswith("}") and not parse_arguments(arguments)[1]


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _clean_value(value: Any) -> Any:
    """The same JSON value with whole characters only. Raises ValueError for a NUL: the store would replace it, and
    another thing would be done."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("they hold a NUL character, which no path, command or text file can hold")
        return _join_surrogates(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {_clean_value(key): _clean_value(item) for key, item in value.items()}
    return value


def _join_surrogates(text: str) -> str:
    """Surrogate pairs that came in two pieces joined, lone halves replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
