"""The tour: a stand-in for a model, so that swecli can be tried without a key. Offline, by rules, without state."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.profile import Profile
from swecli.models.message import CallDelta, ModelChunk, ModelRequest, StopReason, Usage
from swecli.tour.answers import ABOUT, NO_LESSONS, NO_REVIEW, answer, condense
from swecli.tour.requests import Call, read_turn
from swecli.tour.steps import plan

_PIECE = re.compile(r"\S*\s*\S*\s*")
_ENOUGH_CALLS = 30  # of one turn, however many lines were typed


class Tour:
    """A `ChatModel` that follows the lines of the newest message, one call a request.

    Its usage is an estimate of four characters a token; it costs nothing.
    """

    name = "demo"
    profile = Profile(32_000, 4_096, offline=True, estimates=True)
    review_notice = NO_REVIEW

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece. Raises nothing."""
        text, call = reply(request)
        for chunk in _chunks(request, text, call):
            await asyncio.sleep(0)
            yield chunk


@provider("demo", default_model="demo")
def tour(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The tour, whatever stands behind `demo/`."""
    return Tour()


def reply(request: ModelRequest) -> tuple[str, Call | None]:
    """The reply to a request of any purpose: a text, and the call it makes."""
    if request.purpose == "reflect":
        return NO_LESSONS, None
    if request.purpose == "condense":
        return condense(request.messages[:-1]), None
    if request.purpose == "review":
        return NO_REVIEW, None
    turn = read_turn(request)
    steps = plan(turn)
    if steps is None:
        return ABOUT, None
    calling = [step for step in steps if step.call]
    if len(turn.made) < min(len(calling), _ENOUGH_CALLS):
        step = calling[len(turn.made)]
        return step.text, step.call
    return answer(steps, turn.made), None


def _chunks(request: ModelRequest, text: str, call: Call | None) -> Iterator[ModelChunk]:
    most = 4 * min(request.max_tokens or 4_096, 4_096)
    shown = text[:most]
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call else ""
    yield from (ModelChunk(text=piece) for piece in _PIECE.findall(shown) if piece)
    if call:
        yield ModelChunk(call=CallDelta(0, f"call_{secrets.token_hex(6)}", call.name, arguments))
    size = sum(len(json.dumps(message, default=str, ensure_ascii=False)) for message in request.messages)
    usage = Usage(input=-(-size // 4), output=-(-len(shown + arguments) // 4))
    stop: StopReason = "length" if len(shown) < len(text) else "tool_calls" if call else "stop"
    yield ModelChunk(usage=usage, cost=0.0, stop=stop)
