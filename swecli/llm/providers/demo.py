"""The demo model: the rule-based assistant behind the same door as every other model. Offline, no key, no state."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from swecli.llm.demo.condense import condense
from swecli.llm.demo.plan import next_step
from swecli.llm.demo.reflect import reflect
from swecli.llm.demo.reviewing import review_step
from swecli.llm.demo.steps import Step
from swecli.llm.demo.view import read_request, text_of
from swecli.models.message import ApiMessage
from swecli.models.model_io import CallDelta, ModelChunk, ModelRequest, Usage

_PIECE = re.compile(r"\S*\s*\S*\s*", re.DOTALL)
_ARGUMENTS = 64


def _new_id() -> str:
    return f"call_{secrets.token_hex(6)}"


class DemoModel:
    """A `ChatModel` that answers by rules. It uses no network, reads no files and remembers nothing between requests.

    `pause` is the time between two pieces of an answer, in seconds; `new_id` makes the ids of calls. Its usage is
    an estimate of four characters a token (`estimates_usage`); it costs nothing.
    """

    name = "demo/rules"
    context_window: int | None = 32_000
    max_output: int | None = 4_096
    offline = True
    encoding = "o200k_base"
    estimates_usage = True

    def __init__(self, pause: float = 0.0, new_id: Callable[[], str] = _new_id) -> None:
        self._pause, self._new_id = pause, new_id

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece. Raises nothing."""
        for chunk in self._chunks(request):
            await asyncio.sleep(self._pause)
            yield chunk

    def _chunks(self, request: ModelRequest) -> Iterator[ModelChunk]:
        step = decide(request)
        room = 4 * min(request.max_tokens or self.max_output or 4_096, self.max_output or 4_096)
        text = step.text[:room]
        arguments = [json.dumps(call.parameters, ensure_ascii=False) for call in step.calls]
        yield from (ModelChunk(text=piece) for piece in _PIECE.findall(text) if piece)
        for index, (call, argument) in enumerate(zip(step.calls, arguments, strict=True)):
            yield ModelChunk(call=CallDelta(index, id=self._new_id(), name=call.name))
            yield from (ModelChunk(call=CallDelta(index, arguments=piece)) for piece in _pieces(argument))
        output = len(text) + sum(
            len(call.name) + len(argument) for call, argument in zip(step.calls, arguments, strict=True)
        )
        yield ModelChunk(usage=Usage(input=_tokens(_size(request.messages)), output=_tokens(output)), cost=0.0)
        cut = len(text) < len(step.text)
        yield ModelChunk(stop="length" if cut else "tool_calls" if step.calls else "stop")


def decide(request: ModelRequest) -> Step:
    """The reply to a request of any purpose. Pure."""
    if request.purpose == "reflect":
        users = [message for message in request.messages if message.get("role") == "user"]
        return Step(reflect(text_of(users[-1].get("content")) if users else ""))
    if request.purpose == "condense":
        return Step(condense(request.messages))
    if request.purpose == "review":
        return review_step(request)
    return next_step(read_request(request))


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _ARGUMENTS] for start in range(0, len(text), _ARGUMENTS))


def _size(messages: Sequence[ApiMessage]) -> int:
    return sum(
        len(text_of(m.get("content"))) + len(json.dumps(m.get("tool_calls") or "", default=str)) for m in messages
    )


def _tokens(characters: int) -> int:
    return (characters + 3) // 4
