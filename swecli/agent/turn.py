"""One turn: what it starts with, and what has come together while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from swecli.agent.step import ModelStep
from swecli.context.prepare import PreparedRequest
from swecli.models.context import keyed
from swecli.models.events import FinishReason
from swecli.models.message import ApiMessage, ChatMessage, ToolCall, Usage
from swecli.playbook.selection.select import Selection


@dataclass(frozen=True, slots=True)
class Turn:
    """All that a turn starts with: the query as typed, the request made of it, and what was thought of each strategy.

    `files` were read into it: the model has seen them; `notices` are lines for the user; `found` are the earlier
    interactions that it quotes.
    """

    query: str
    request: PreparedRequest
    selection: Selection
    notices: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    found: tuple[int, ...] = ()

    @property
    def messages(self) -> list[ApiMessage]:
        """The whole request, as it is sent."""
        return self.request.messages


@dataclass(slots=True)
class TurnState:
    """The running turn, written by the loop alone: its request, and its counters.

    `messages` are keyed, `place` is the next one's place in its interaction; `step` is the request that is being
    answered. `cost` in US dollars, None once a part of it is unknown.
    """

    query: str
    interaction: int
    messages: list[ApiMessage]
    started: float = 0.0
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
        fresh = keyed(message.to_api(), self.interaction, self.place)
        self.messages, self.place = [*self.messages, *fresh], self.place + len(fresh)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add one request's bill; unknown stays unknown."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of one turn: `max_turns` requests, `max_budget_usd` dollars (None: no limit)."""

    max_turns: int = 50
    max_budget_usd: float | None = None

    def check(self, steps: int, cost: float | None) -> FinishReason | None:
        """The reason to stop before the next request, or None. An unknown cost cannot stop anything."""
        if steps >= self.max_turns:
            return "max_turns"
        if self.max_budget_usd is not None and cost is not None and cost >= self.max_budget_usd:
            return "max_budget"
        return None
