"""What can happen while the assistant works, read by every face; what a review and learning add stands beside it.

Events are named in the past tense (deltas apart) and carry plain data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from swecli.models.message import ToolCall, ToolResult, Usage

FinishReason = Literal["done", "max_turns", "max_budget", "loop", "length", "refusal", "content_filter", "cancelled"]


class Event:
    """Base of them all. `type` is the name in the JSON stream: that of the class, unless it gives another."""

    __slots__ = ()
    type: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "type" not in vars(cls):
            cls.type = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The user's message is stored; work begins."""

    session_id: str
    interaction: int
    query: str
    model: str


@dataclass(frozen=True, slots=True)
class TurnFinished(Event):
    """The last event of a turn that ended well. `cost` in US dollars, None where unknown; `usage` of the turn."""

    reason: FinishReason
    text: str
    usage: Usage
    cost: float | None
    steps: int
    duration_ms: int
    denied: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnFailed(Event):
    """The last event of a turn that could not be finished. What was streamed so far is stored."""

    error: str
    hint: str
    exit_code: int
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A request to the model goes out; `n` counts from 1 within the turn."""

    n: int


@dataclass(frozen=True, slots=True)
class StepRetried(Event):
    """A request failed in a way that may pass; it is sent again after `wait` seconds.

    With `restart` set, the text that came in this step must be thrown away: the answer begins again.
    """

    attempt: int
    wait: float
    reason: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class UsageReported(Event):
    """What one request took. `estimated` where the provider did not say."""

    usage: Usage
    cost: float | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Event):
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """A call was permitted and runs. `summary` is one line, as in the approval."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolProgress(Event):
    """Output of a call that is still running."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """A call has its result, which is stored. A refused call has this event without a `ToolStarted`."""

    call: ToolCall
    summary: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ContextMeasured(Event):
    """Size of the next request against what is allowed, in tokens; `limit` None where the window is unknown."""

    tokens: int
    limit: int | None
    estimated: bool = True


@dataclass(frozen=True, slots=True)
class WindowApplied(Event):
    """Completed interactions left the window. Counts are interactions."""

    removed: int
    kept: int


@dataclass(frozen=True, slots=True)
class ContextReduced(Event):
    """The request was too long and was made smaller. `how` names the rung, `detail` what it did."""

    how: str
    before: int
    after: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A line the user should see; the turn has not failed."""

    text: str
    level: Literal["info", "warning"] = "info"


def to_json(value: Any) -> Any:
    """An event, or anything inside one, as plain JSON values; an event's dict opens with its `type`."""
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if hasattr(value, "to_json"):
        return value.to_json()
    if not hasattr(value, "__dataclass_fields__"):
        return value
    head = {"type": value.type} if isinstance(value, Event) else {}
    flat = head | {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if names := getattr(value, "seed", None):
        flat |= {"taskId": value.review, "data": {theirs: flat[ours] for theirs, ours in names.items()}}
    return flat
