"""A model that plays a script, for tests and for reproducing a problem without a provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.config.settings import Settings
from swecli.llm.base import provider
from swecli.llm.profile import Profile
from swecli.models.errors import BadInput, ProviderError, Unavailable
from swecli.models.message import CallDelta, ModelChunk, ModelRequest, StopReason, Usage


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call. `arguments` is a dict, or raw text for malformed arguments."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, streamed in pieces of `piece` characters, `delay` seconds apart; an empty `stop` selects the correct
    reason.

    With a `purpose`, it answers the next request of that purpose, whatever is sent beside it. With `cut_after`, only
    that many pieces are sent, followed by `failure` (None: the stream ends without a stop reason).
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    reasoning: str = ""
    usage: Usage | None = field(default_factory=lambda: Usage(input=10, output=5))
    cost: float | None = 0.0
    stop: StopReason | None = None
    piece: int = 16
    delay: float = 0.0
    cut_after: int | None = None
    failure: Exception | None = None
    purpose: str = ""

    def chunks(self, number: int) -> Iterator[ModelChunk]:
        """Return the reply's chunks; `number` makes the ids of calls without one."""
        yield from (ModelChunk(reasoning=part) for part in _pieces(self.reasoning, self.piece))
        yield from (ModelChunk(text=part) for part in _pieces(self.text, self.piece))
        for index, call in enumerate(self.calls):
            yield ModelChunk(call=CallDelta(index, call.id or f"call_{number}_{index}", call.name))
            given = call.arguments
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            yield from (
                ModelChunk(call=CallDelta(index, arguments=part))
                for part in _pieces(text, self.piece)
            )
        stop = self.stop or ("tool_calls" if self.calls else "stop")
        yield ModelChunk(usage=self.usage, cost=self.cost, stop=stop)


Step = Reply | str | Exception
Replies = Iterable[Step | Callable[[ModelRequest], Step]] | Callable[[ModelRequest], Step]


class ScriptedModel:
    """Answers requests with the replies in order: a Reply, a text, an exception to raise, or a function that returns
    one of these. A function in place of the list answers every request. `requests` records all of them."""

    def __init__(
        self,
        replies: Replies = (),
        *,
        name: str = "scripted/test",
        context_window: int | None = 128_000,
        max_output: int | None = 16_000,
        offline: bool = True,
    ) -> None:
        self.name = name
        self.profile = Profile(context_window, max_output, images=True, offline=offline)
        self.requests: list[ModelRequest] = []
        self._replies = replies if callable(replies) else list(replies)

    @classmethod
    def from_file(cls, path: Path, name: str) -> ScriptedModel:
        """Load a model from a JSON file: a list of texts and of objects with the fields of Reply, or with `error`
        for a temporarily unavailable service. Raises BadInput for any other file."""
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            return cls([_step(row) for row in rows], name=name)
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(
                f"The script {path} cannot be used: {error}", "It is a JSON list of replies."
            ) from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the next reply. Raises the script's exceptions."""
        self.requests.append(request)
        step = self._replies if callable(self._replies) else self._next(self._replies, request)
        step = step(request) if callable(step) else step
        if isinstance(step, Exception):
            raise step
        reply = Reply(step) if isinstance(step, str) else step
        for number, chunk in enumerate(reply.chunks(len(self.requests))):
            if number == reply.cut_after:
                if reply.failure is not None:
                    raise reply.failure
                return
            await asyncio.sleep(reply.delay)
            yield chunk

    @staticmethod
    def _next(replies: list[Any], request: ModelRequest) -> Any:
        """Take the first reply for the request's purpose, else the first for any."""
        purposes = [getattr(reply, "purpose", "") for reply in replies]
        for purpose in (request.purpose, ""):
            if purpose in purposes:
                return replies.pop(purposes.index(purpose))
        return ProviderError("The script is over.")


@provider("scripted")
def scripted(name: str, settings: Settings, environ: Mapping[str, str]) -> ScriptedModel:
    """Return the model of `scripted/FILE`. Raises BadInput if the file cannot be used."""
    return ScriptedModel.from_file(Path(name.partition("/")[2]), name)


def _step(row: Any) -> Step:
    """Parse one reply of a script file. Raises TypeError for any other value."""
    if isinstance(row, str):
        return row
    if "error" in row:
        return Unavailable(str(row["error"]))
    usage = Usage(**row["usage"]) if row.get("usage") else Usage(input=10, output=5)
    calls = tuple(ScriptedCall(**call) for call in row.get("calls", ()))
    return Reply(**{**row, "calls": calls, "usage": usage})


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))
