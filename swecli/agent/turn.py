"""One turn: what it starts with, and what has come together while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from swecli.context.prepare import Prepared
from swecli.models.message import ApiMessage, ToolCall
from swecli.models.model_io import Usage


@dataclass(slots=True)
class Turn:
    """A query made ready to be sent. `sent` is the user message as the model gets it; `messages` the whole request.

    `files` were read into it: the model has seen them.
    """

    query: str
    sent: str
    messages: list[ApiMessage]
    shown: list[str]
    prepared: Prepared
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


@dataclass(slots=True)
class TurnState:
    """Counters of the running turn. `cost` in US dollars, None once a part of it is unknown."""

    messages: list[ApiMessage]
    started: float
    interaction: int = 0
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    text: str = ""
    partial: str = ""
    open_calls: list[ToolCall] = field(default_factory=list)
    denied: list[ToolCall] = field(default_factory=list)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add one request's bill; unknown stays unknown."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
