"""What is known of a running turn."""

from __future__ import annotations

from dataclasses import field

from swecli.agent.sender import Sending
from swecli.models.message import ChatMessage, ToolCall, Usage
from swecli.values import dataclass


@dataclass(slots=True)
class TurnState:
    """The running turn, written only by the loop."""

    query: str
    interaction: int
    steps: int = 0  # requests so far, those of an earlier run that it continues included
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0  # in US dollars; None once a part of it is unknown
    text: str = ""  # the assistant's last words
    open_calls: list[ToolCall] = field(default_factory=list)
    sending: Sending | None = None  # the request that is being answered

    @property
    def partial(self) -> str:
        """The text of an answer that is not stored yet."""
        return self.sending.partial if self.sending else ""

    def take_reply(self, message: ChatMessage) -> None:
        """Note that the reply is stored; its calls are open from now on."""
        self.sending = None
        self.text = message.content or self.text
        self.open_calls = message.tool_calls

    def add(self, usage: Usage, cost: float | None) -> None:
        """Add usage, and its cost in US dollars (None: unknown)."""
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
