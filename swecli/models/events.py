"""The events of a turn, rendered by the terminal and the output formats. Reviews and learning add their own.

Except for the deltas, names are in the past tense. Fields are plain data.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import ClassVar, Literal

from swecli.models.changed_files import ChangedFile, describe_changes
from swecli.models.json_value import Json
from swecli.models.message import ToolCall, ToolResult, Usage
from swecli.values import dataclass

FinishReason = Literal[
    "done",
    "max_turns",
    "max_budget",
    "loop",
    "length",
    "refusal",
    "content_filter",
    "cancelled",
    "hook",
]


class Event:
    """Base class of events. `type` is the name in the JSON stream, by default the class name in snake case."""

    __slots__ = ()
    type: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "type" not in vars(cls):
            cls.type = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def describe(self) -> str:
        """Describe the event in one line; "" if it has no such line or is rendered elsewhere."""
        return ""


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The user's message is stored and the turn begins."""

    session_id: str
    interaction: int
    query: str
    model: str


@dataclass(frozen=True, slots=True)
class TurnFinished(Event):
    """The last event of a successful turn. `usage` and `cost` are the turn's; `cost` in US dollars, None if unknown.
    `duration_ms` does not include waiting for the user's answers."""

    reason: FinishReason
    text: str
    usage: Usage
    cost: float | None
    steps: int
    duration_ms: int
    denied: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnFailed(Event):
    """The last event of a failed turn. The text streamed so far is stored."""

    error: str
    hint: str
    exit_code: int
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class TurnContinued(Event):
    """The model has answered, and a hook does not let the turn end: it is told the reason, and goes on."""

    reason: str

    def describe(self) -> str:
        return f"a hook sends the model on: {' '.join(self.reason.split())}"


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A request is sent to the model; `n` counts from 1 within the turn."""

    n: int


@dataclass(frozen=True, slots=True)
class StepRetried(Event):
    """A request failed and is sent again after `wait` seconds.

    With `restart`, discard the text streamed in this step: the answer begins again.
    """

    attempt: int
    wait: float
    reason: str
    restart: bool = False

    def describe(self) -> str:
        wait = f"in {self.wait:.0f} s" if self.wait >= 0.5 else "now"
        return f"{self.reason} · retrying {wait} (attempt {self.attempt})"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A model of the setting `fallback` that could not go on, and why."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class ModelChanged(Event):
    """The model that the turn asked is overloaded, or cannot be reached, and the step is sent to `model`, with which
    the turn goes on. It is "" if none of the setting `fallback` can go on; then the turn fails. Each in
    `passed_over` has its `model`, and the `reason` why it could not. The next turn asks the first model again."""

    failed: str
    model: str
    reason: str
    passed_over: tuple[PassedOver, ...] = ()

    def describe(self) -> str:
        outcome = (
            f"this turn goes on with {self.model}" if self.model else "no other model can go on"
        )
        line = f"{outcome}: {self.reason.rstrip('.')}"
        skipped_models = [
            f"{skipped_model.model} ({skipped_model.reason.rstrip('.')})"
            for skipped_model in self.passed_over
        ]
        return f"{line} · passed over: {', '.join(skipped_models)}" if skipped_models else line


@dataclass(frozen=True, slots=True)
class UsageReported(Event):
    """Tokens and cost of one request. `estimated` if the provider did not report them."""

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
    """A permitted call begins. `summary` is one line, as in the approval."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolProgress(Event):
    """Output of a call that is still running."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """A call ended and its result is stored. A refused call has this event but no `ToolStarted`."""

    call: ToolCall
    summary: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class FilesChanged(Event):
    """The files that differ since the turn began, once, at its end: those that tools, commands and background commands
    created, changed or removed. Not sent if there are none."""

    files: tuple[ChangedFile, ...]

    def describe(self) -> str:
        return describe_changes(self.files)


@dataclass(frozen=True, slots=True)
class ContextMeasured(Event):
    """The size of the next request and its limit, in tokens; `limit` is None if the window is unknown."""

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
    """A request that was too long was reduced. `how` is the rung, `detail` describes the change."""

    how: str
    before: int
    after: int
    detail: str = ""

    def describe(self) -> str:
        """Return one line, "" if the request is as large as before: what changed it has said so."""
        if self.after == self.before:
            return ""
        size = "smaller" if self.after < self.before else "larger"
        why = self.detail or self.how
        return f"the request is {size} now: {self.before:,} → {self.after:,} tokens ({why})"


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A message for the user; the turn goes on."""

    text: str
    level: Literal["info", "warning"] = "info"

    def describe(self) -> str:
        return self.text


def to_json(value: Json) -> Json:
    """Convert an event or a value in it to plain JSON values; the first key of an event is its `type`."""
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if hasattr(value, "to_json"):
        return value.to_json()
    if not hasattr(value, "__dataclass_fields__"):
        return value
    type_field = {"type": value.type} if isinstance(value, Event) else {}
    flat = type_field | {
        declared.name: to_json(getattr(value, declared.name)) for declared in fields(value)
    }
    if seed_names := getattr(value, "seed", None):
        flat |= {
            "taskId": value.review,
            "data": {seed_name: flat[name] for seed_name, name in seed_names.items()},
        }
    return flat
