"""What all output formats share: lines for people on stderr, and what a turn came to."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from swecli.headless.plain import complaint, one_line
from swecli.models.errors import SwecliError
from swecli.models.events import (
    Event,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.learning_events import PlaybookUpdated, describe_event
from swecli.models.message import ToolCall, Usage

_INTERRUPTED = (129, 130, 143)
_STOPS = {
    "max_turns": ("The turn reached its limit of requests.", "Raise --max-turns, or continue with -c."),
    "max_budget": ("The turn reached its budget.", "Raise --max-budget-usd, or continue with -c."),
    "loop": ("The model repeated the same calls.", "Rephrase the request, or add what is missing."),
    "length": ("The answer was cut off at its maximum length.", "Raise max_tokens, or continue with -c."),
    "refusal": ("The model refused to answer.", "Rephrase the request, or choose another model with -m."),
    "content_filter": ("The service withheld the rest of the answer.", "Rephrase the request."),
}


@dataclass(slots=True)
class _TurnSummary:
    """What is known of one turn, however it ends. `text` is that of the running step."""

    started: float = field(default_factory=time.monotonic)
    session_id: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    denied: list[ToolCall] = field(default_factory=list)
    text: str = ""
    failed: TurnFailed | None = None
    finished: TurnFinished | None = None

    def add(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self.session_id = event.session_id
            case StepStarted():
                self.steps, self.text = event.n, ""
            case StepRetried():
                self.text = ""
            case TextDelta():
                self.text += event.text
            case UsageReported():
                self.usage += event.usage
                self.cost = None if self.cost is None or event.cost is None else self.cost + event.cost
            case ToolFinished() if event.result.denied:
                self.denied.append(event.call)
            case TurnFinished():
                self.finished = event
            case TurnFailed():
                self.failed = event
            case _:
                pass

    def result(self, exit_code: int) -> dict[str, Any]:
        """The result object: what was answered, what it took, what was denied."""
        done, failed = self.finished, self.failed
        text = f"{failed.error} {failed.hint}".strip() if failed else "Interrupted."
        subtype: str = "interrupted" if exit_code in _INTERRUPTED else "error"
        if done:
            subtype = "success" if done.reason == "done" else done.reason
        return {
            "type": "result",
            "subtype": subtype,
            "is_error": exit_code != 0,
            "duration_ms": round((time.monotonic() - self.started) * 1000),
            "num_turns": self.steps,
            "result": done.text if done else text,
            "session_id": self.session_id,
            "total_cost_usd": self.cost,
            "usage": asdict(self.usage),
            "permission_denials": [{"tool": c.name, "input": c.parameters, "reason": c.reason} for c in self.denied],
        }


class Writer:
    """Writes turns: to `out` only the answer, in a format; to `err` lines for people, the same in every format. For
    each turn `begin`, then `write` for its events, then `close`. A format extends these three in a file of its own,
    where `FORMAT` names it, and puts its lines on stdout with `put`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._full = False
        self.turn = _TurnSummary()

    def begin(self) -> None:
        """A turn begins."""
        self.turn = _TurnSummary()

    def write(self, event: Event) -> None:
        """Take one event of the turn."""
        if isinstance(event, (StepStarted, ToolStarted, ToolFinished)) and self.turn.text:
            self.note(self.turn.text)  # text before a call: the answer is what comes last
            self.turn.text = ""
        if line := _line_for_people(event):
            self.note(line)
        self.turn.add(event)

    def close(self, exit_code: int) -> None:
        """The turn is over; where it did not end well, a line for people."""
        done, failed = self.turn.finished, self.turn.failed
        if failed:
            self._complain(failed.error, failed.hint)
        elif done and done.reason != "done":
            self._complain(*_STOPS.get(done.reason, (f"Stopped: {done.reason}.", "")))
        elif exit_code in _INTERRUPTED:
            self._complain("Interrupted.", "Everything so far is stored; continue with -c.")

    def refuse(self, error: SwecliError) -> None:
        """A turn that could not begin, or broke off: close it with the reason."""
        self.turn.failed = TurnFailed(error.message, error.hint, error.exit_code)
        self.close(error.exit_code)

    def put(self, text: str) -> None:
        """Lines on stdout, at once. Raises SwecliError, the first time only, where they cannot be written."""
        if self._full:
            return
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._full = True  # what is held back would fail again, and that is reported once
            raise SwecliError(f"The answer cannot be written: {error.strerror}.", "It is stored: swecli -c") from error

    def note(self, text: str) -> None:
        """One line for people."""
        self._err.write(one_line(text) + "\n")

    def _complain(self, message: str, hint: str) -> None:
        self._err.write(complaint(message, hint) + "\n")


def _line_for_people(event: Event) -> str:
    """What a person would want to know of it, "" for nothing."""
    match event:
        case ToolFinished() if event.result.denied:
            return f"denied: {event.summary}: {event.call.reason or event.result.for_model}"
        case ToolFinished():
            return f"{'ok' if event.result.ok else 'failed'}: {event.summary}"
        case PlaybookUpdated() if event.lines:
            return "learned: " + "; ".join(event.lines)
    return describe_event(event)
