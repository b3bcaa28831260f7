"""Everything that can happen while the assistant works: one union, consumed by every face.

Events are named in the past tense (deltas apart) and carry plain data. `type` is the name in the JSON stream.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from swecli.models.coverage import Coverage
from swecli.models.finding import Finding
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ToolCall, ToolResult, Usage
from swecli.models.review_events import (
    FindingsAccumulated,
    FindingsJudged,
    LoopWindowApplied,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)

FinishReason = Literal["done", "max_turns", "max_budget", "loop", "length", "refusal", "content_filter", "cancelled"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The user's message is stored; work begins."""

    type: ClassVar[str] = "turn_started"
    session_id: str
    interaction: int
    query: str
    model: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The last event of a turn that ended well. `cost` in US dollars, None where unknown; `usage` of the turn."""

    type: ClassVar[str] = "turn_finished"
    reason: FinishReason
    text: str
    usage: Usage
    cost: float | None
    steps: int
    duration_ms: int
    denied: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The last event of a turn that could not be finished. What was streamed so far is stored."""

    type: ClassVar[str] = "turn_failed"
    error: str
    hint: str
    exit_code: int
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A request to the model goes out; `n` counts from 1 within the turn."""

    type: ClassVar[str] = "step_started"
    n: int


@dataclass(frozen=True, slots=True)
class StepRetried:
    """A request failed in a way that may pass; it is sent again after `wait` seconds.

    With `restart` set, the text that came in this step must be thrown away: the answer begins again.
    """

    type: ClassVar[str] = "step_retried"
    attempt: int
    wait: float
    reason: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What one request took. `estimated` where the provider did not say."""

    type: ClassVar[str] = "usage_reported"
    usage: Usage
    cost: float | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    type: ClassVar[str] = "reasoning_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call was permitted and runs. `summary` is one line, as in the approval."""

    type: ClassVar[str] = "tool_started"
    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Output of a call that is still running."""

    type: ClassVar[str] = "tool_progress"
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result, which is stored. A refused call has this event without a `ToolStarted`."""

    type: ClassVar[str] = "tool_finished"
    call: ToolCall
    summary: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ContextMeasured:
    """Size of the next request against what is allowed, in tokens; `limit` None where the window is unknown."""

    type: ClassVar[str] = "context_measured"
    tokens: int
    limit: int | None
    estimated: bool = True


@dataclass(frozen=True, slots=True)
class WindowApplied:
    """Completed interactions left the window. Counts are interactions."""

    type: ClassVar[str] = "window_applied"
    removed: int
    kept: int


@dataclass(frozen=True, slots=True)
class ContextReduced:
    """The request was too long and was made smaller. `how` names the rung, `detail` what it did."""

    type: ClassVar[str] = "context_reduced"
    how: str
    before: int
    after: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line the user should see; the turn has not failed."""

    type: ClassVar[str] = "notice"
    text: str
    level: Literal["info", "warning"] = "info"


Event = (
    TurnStarted
    | TurnFinished
    | TurnFailed
    | StepStarted
    | StepRetried
    | UsageReported
    | TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ContextMeasured
    | WindowApplied
    | ContextReduced
    | PlaybookUpdated
    | ReflectionFailed
    | Notice
    | ReviewStarted
    | ReviewProgressed
    | FindingsAccumulated
    | FindingsJudged
    | ReviewPlanned
    | LoopWindowApplied
    | ReviewFinished
)


def to_json(value: Any) -> Any:
    """An event, or anything inside one, as plain JSON values; an event's dict opens with its `type`."""
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if not hasattr(value, "__dataclass_fields__"):
        return value
    if isinstance(value, (Coverage, Finding)):
        return value.to_json()
    head = {"type": value.type} if hasattr(type(value), "type") else {}
    flat = head | {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    return flat | value.seed() if hasattr(value, "seed") else flat
