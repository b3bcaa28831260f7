"""What goes to a model and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from swecli.models.message import ApiMessage, ToolCall
from swecli.models.tool import ToolSpec

Purpose = Literal["turn", "reflect", "condense", "review"]
StopReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request in five disjoint buckets. `output` leaves out `reasoning`."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def prompt(self) -> int:
        """All the tokens that were sent, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Everything sent and received."""
        return self.prompt + self.output + self.reasoning

    def to_json(self) -> dict[str, int]:
        """The buckets by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `messages` are in the OpenAI chat shape, the system message first.

    `purpose` is "turn" for the user's work, "review" for the loops of a review, "reflect" and
    "condense" for the product's own requests.
    """

    model: str
    messages: list[ApiMessage]
    tools: list[ToolSpec] = field(default_factory=list)
    max_tokens: int | None = None
    purpose: Purpose = "turn"


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. Pieces with one `index` are one call; `arguments` is appended JSON text."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """One piece of a streamed reply; any of the fields may be set."""

    text: str = ""
    reasoning: str = ""
    call: CallDelta | None = None
    usage: Usage | None = None
    cost: float | None = None
    stop: StopReason | None = None


@dataclass(slots=True)
class ModelReply:
    """A whole reply. `malformed` maps a call's id to what is wrong with its arguments. `cost` in US dollars,
    None where the price is unknown."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    malformed: dict[str, str] = field(default_factory=dict)
    usage: Usage | None = None
    cost: float | None = None
    stop: StopReason = "stop"


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What one request to a model was and cost, as it is stored."""

    model: str
    purpose: Purpose
    interaction: int
    step: int
    usage: Usage
    cost: float | None
    duration_ms: int
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which model was chosen and why, in words for the first line on the screen."""

    name: str
    why: str
