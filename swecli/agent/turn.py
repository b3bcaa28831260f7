"""One turn: what it starts with, and what has come together while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.context.keyed import keyed
from swecli.context.prepare import Prepared
from swecli.models.message import ApiMessage, ChatMessage, Role, ToolCall
from swecli.models.model_io import Usage
from swecli.playbook.ablation import Ablation


@dataclass(slots=True)
class Turn:
    """A query made ready to be sent. `sent` is the user message as the model gets it.

    `files` were read into it: the model has seen them; `ablation` is what it leaves out to measure it;
    `choice` tells how its strategies were chosen, to be kept.
    """

    query: str
    sent: str
    shown: list[str]
    prepared: Prepared
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    ablation: Ablation = field(default_factory=Ablation)
    choice: Callable[[], Mapping[str, Any]] = dict

    @property
    def messages(self) -> list[ApiMessage]:
        """The whole request, as it is sent."""
        return self.prepared.messages


@dataclass(slots=True)
class TurnState:
    """The running turn: its request, and its counters.

    `messages` are keyed, `place` is the next one's place in its interaction; `taken` are call ids that no new call
    may have; `said` is the newest reply as it was stored. `cost` in US dollars, None once a part of it is unknown.
    """

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
    place: int = 1
    taken: set[str] = field(default_factory=set)
    said: ChatMessage = field(default_factory=lambda: ChatMessage(Role.ASSISTANT))

    def go_on(self) -> None:
        """Put the newest reply, with the results of its calls, behind the request."""
        fresh = keyed([self.said], self.interaction, self.place)
        self.messages = [*self.messages, *fresh]
        self.place += len(fresh)
        self.taken.update(call.id for call in self.said.tool_calls)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add one request's bill; unknown stays unknown."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
