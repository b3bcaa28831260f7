"""A running turn: what has come together, and its requests to the model."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass, field

from swecli.context.fit import Measured
from swecli.llm.base import ChatModel
from swecli.llm.reply import ReplyBuilder, Retry, stream_with_retry
from swecli.models.context import Reduction, add_keys
from swecli.models.errors import ContextFull
from swecli.models.events import Event, Notice, ReasoningDelta, StepRetried, TextDelta
from swecli.models.message import (
    ApiMessage,
    ChatMessage,
    ModelReply,
    ModelRequest,
    RequestRecord,
    ToolCall,
    Usage,
)


@dataclass(slots=True)
class ModelStep:
    """One request, retried where that may help, and its reply. `partial` is what came so far; `reply` is set when `run`
    has ended; `duration_ms` is wall time. No new call gets one of the ids in `taken`, nor one that stands in the
    request."""

    model: ChatModel
    request: ModelRequest
    taken: Collection[str] = frozenset()
    attempts: int = 5
    partial: str = ""
    reply: ModelReply = field(default_factory=ModelReply)
    duration_ms: int = 0

    async def run(self) -> AsyncGenerator[Event, None]:
        """Stream the reply. Raises ProviderError when it failed for good."""
        started = time.monotonic()
        held = (call["id"] for message in self.request.messages for call in message.get("tool_calls") or ())
        builder = ReplyBuilder(taken={*held, *self.taken})
        chunks = stream_with_retry(self.model, self.request, attempts=self.attempts)
        async with aclosing(chunks):
            async for item in chunks:
                if isinstance(item, Retry):
                    builder.reset()
                    self.partial = ""
                    if not item.notice:
                        yield StepRetried(item.attempt, item.wait, item.reason, item.restart)
                    elif item.reason:
                        yield Notice(item.reason, "warning")
                    continue
                builder.add(item)
                if item.reasoning:
                    yield ReasoningDelta(item.reasoning)
                if shown := item.text + item.refusal:
                    self.partial += shown
                    yield TextDelta(shown)
        self.reply = builder.build()
        self.duration_ms = round((time.monotonic() - started) * 1000)

    async def finish(self) -> ModelReply:
        """The reply, with nothing shown of how it comes. Raises ProviderError."""
        async for _ in self.run():
            pass
        return self.reply


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a request is made: a step of an interaction (0: between turns), which is about `query`. `refused`: the
    request before it was too long after all; it is reduced by rules alone: a summary would be asked for in vain.
    """

    interaction: int
    step: int
    query: str
    refused: bool = False


Happened = Reduction | RequestRecord | Notice


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits. A turn goes on from `keyed`: what was taken out stays out, so that later requests only add.
    `happened` holds, in their order, the reductions to store before it is sent, the bills of summaries, and lines for
    the user. With `failure` there is no such request. `counted` is the whole by our own count, tools included."""

    request: ModelRequest
    keyed: list[ApiMessage]
    measured: Measured
    counted: int
    happened: tuple[Happened, ...] = ()
    failure: ContextFull | None = None


@dataclass(slots=True)
class TurnState:
    """The running turn, written by the loop alone. `messages` are keyed, `place` is the next one's place in its
    interaction; `step` is the request that is being answered. `cost` in US dollars, None once a part of it is unknown.
    """

    query: str
    interaction: int
    messages: list[ApiMessage]
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    text: str = ""
    open_calls: list[ToolCall] = field(default_factory=list)
    denied: list[ToolCall] = field(default_factory=list)
    place: int = 1
    pauses: int = 0
    step: ModelStep | None = None

    @property
    def partial(self) -> str:
        """What came of an answer that is not stored yet."""
        return self.step.partial if self.step else ""

    def add(self, message: ChatMessage) -> None:
        """Put a stored message, with the results of its calls, behind the request."""
        fresh = add_keys(message.to_api(), self.interaction, self.place)
        self.messages, self.place = [*self.messages, *fresh], self.place + len(fresh)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add one request's bill; unknown stays unknown."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
