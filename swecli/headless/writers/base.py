"""The base of all output formats: notes on stderr, and the summary of a turn."""

from __future__ import annotations

import importlib
import time
from contextlib import suppress
from dataclasses import asdict, field
from typing import Any, TextIO

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
    to_json,
)
from swecli.models.goal_events import GoalEnded
from swecli.models.json_value import dumps
from swecli.models.message import ToolCall, Usage
from swecli.text import LONGEST_ERROR, complaint, one_line, sanitize
from swecli.values import dataclass

_INTERRUPTED = (129, 130, 143)  # exit codes
_COST_DIGITS = 8  # of dollars: a token costs more, and a sum of floats ends in noise
_STOP_MESSAGES = {  # what happened and what to do, by the reason of the end
    "max_turns": (
        "The turn reached its limit of requests.",
        "Raise --max-turns, or continue with -p -c.",
    ),
    "max_budget": (
        "The turn reached its budget.",
        "Raise --max-budget-usd, or continue with -p -c.",
    ),
    "loop": ("The model repeated the same calls.", "Rephrase the request, or add what is missing."),
    "length": (
        "The answer was cut off at its maximum length.",
        "Raise max_tokens, or continue with -p -c.",
    ),
    "refusal": (
        "The model refused to answer.",
        "Rephrase the request, or choose another model with -m.",
    ),
    "content_filter": ("The service withheld the rest of the answer.", "Rephrase the request."),
    "hook": ("A hook ended the turn.", "See swecli hooks list."),
}


@dataclass(frozen=True, slots=True)
class StructuredAnswer:
    """An answer as a value that follows the user's schema."""

    value: Any


@dataclass(slots=True)
class TurnSummary:
    """What a turn's events have reported so far."""

    started: float = field(default_factory=time.monotonic)
    session_id: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0  # in dollars; None if that of a request is unknown
    denied: list[ToolCall] = field(default_factory=list)
    text: str = ""  # of the current step
    structured: StructuredAnswer | None = (
        None  # the answer, if a schema was named and it follows it
    )
    failed: TurnFailed | None = None
    finished: TurnFinished | None = None
    goal: GoalEnded | None = None  # of the turns that were written as this one; None: it is one

    @property
    def answer(self) -> str:
        """The last answer as the model wrote it, "" if the turn has none."""
        return self.finished.text if self.finished else ""

    def add(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self.session_id = event.session_id
            case StepStarted():
                self.steps += 1
                self.text = ""
            case StepRetried():
                self.text = ""
            case TextDelta():
                self.text += event.text
            case UsageReported():
                self.usage += event.usage
                self.cost = (
                    None if self.cost is None or event.cost is None else self.cost + event.cost
                )
            case ToolFinished() if event.result.denied:
                self.denied.append(event.call)
            case TurnFinished():
                self.finished = event
            case TurnFailed():
                self.failed = event
            case GoalEnded():
                self.goal = event
            case _:
                pass

    def result(self, exit_code: int) -> dict[str, Any]:
        """Return the result object: the answer, its usage and cost, denied calls."""
        subtype: str = "interrupted" if exit_code in _INTERRUPTED else "error"
        text = "Interrupted."
        if self.finished:
            subtype = "success" if self.finished.reason == "done" else self.finished.reason
            text = self.finished.text
        elif self.failed:
            text = f"{self.failed.error} {self.failed.hint}".strip()
        goal = {}
        if self.goal:
            subtype = "success" if self.goal.is_met else f"goal_{self.goal.outcome}"
            goal = {"goal": to_json(self.goal)}
        structured = {"structured_output": self.structured.value} if self.structured else {}
        return {
            "type": "result",
            "subtype": subtype,
            "is_error": exit_code != 0,
            "duration_ms": round((time.monotonic() - self.started) * 1000),
            "num_turns": self.steps,
            "result": text,
            **structured,
            **goal,
            "session_id": self.session_id,
            "total_cost_usd": None if self.cost is None else round(self.cost, _COST_DIGITS),
            "usage": asdict(self.usage),
            "permission_denials": [
                {"tool": call.name, "input": call.parameters, "reason": call.reason}
                for call in self.denied
            ],
        }


def make_writer(name: str, out: TextIO, err: TextIO) -> Writer:
    """Return a writer of an output format, one of the modules beside this one."""
    module = importlib.import_module(f"{__package__}.{name.replace('-', '_')}")
    return module.FORMAT(out, err)  # type: ignore[no-any-return]  # a Writer, by the rule of this folder


class Writer:
    """Writes turns: the answer to `out`, in a format, and notes to `err`, the same in every format. For each turn call
    `begin`, then `write` for each event, then `close`. A format overrides `answer`, and `begin` and `write` if it needs
    to, in its own module, where `FORMAT` names the class; `put` writes to stdout. `answers_last`: what is learned from
    the turn is written before its answer; otherwise nobody waits for that."""

    answers_last = False

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._is_broken = False  # writing failed once
        self.turn = TurnSummary()

    def begin(self) -> None:
        """Begin a turn."""
        self.turn = TurnSummary()

    def write(self, event: Event) -> None:
        """Write one event of the turn."""
        if isinstance(event, (StepStarted, ToolStarted, ToolFinished)) and self.turn.text:
            self.note(self.turn.text)  # text before a call is not the answer: that comes last
            self.turn.text = ""
        if line := _describe(event):
            self.note(line)
        self.turn.add(event)

    def close(self, exit_code: int) -> None:
        """End the turn: write the answer, and a note unless it ended well."""
        if answer := self.answer(exit_code):
            self.put(answer)
        finished, failed = self.turn.finished, self.turn.failed
        if failed:
            self._write_error(failed.error, failed.hint)
        elif self.turn.goal and exit_code not in _INTERRUPTED:
            return  # its last event has said how it ended
        elif finished and finished.reason != "done":
            unknown = (f"Stopped: {finished.reason}.", "")
            self._write_error(*_STOP_MESSAGES.get(finished.reason, unknown))
        elif exit_code in _INTERRUPTED:
            self._write_error("Interrupted.", "Everything so far is stored; continue with -p -c.")

    def answer(self, exit_code: int) -> str:
        """Return what stdout gets at the end of a turn: the last answer as text, safe for a terminal, or ""."""
        if self.turn.structured:
            return dumps(self.turn.structured.value)
        text = self.turn.answer
        return sanitize(text).rstrip("\n") if text.strip() else ""

    def refuse(self, error: SwecliError) -> None:
        """Close a turn that could not begin or was interrupted by an error."""
        self.turn.failed = TurnFailed(error.message, error.hint, error.exit_code)
        self.close(error.exit_code)

    def reject(self, error: SwecliError) -> None:
        """Close a turn whose answer cannot be used: it is not written."""
        self.turn.finished = None
        self.refuse(error)

    def ask_again(self, fault: str) -> None:
        """Begin the second try of an answer that cannot be used: it is not written."""
        self.turn.text = ""
        self.note(f"the answer does not follow the schema ({fault}): it is asked for once more")

    def put(self, text: str) -> None:
        """Write lines to stdout and flush. Raises SwecliError the first time that this fails, then writes nothing."""
        if self._is_broken:
            return
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._is_broken = True  # what is buffered would fail again; one report is enough
            # by its id: `-c` at a terminal continues the session before it
            session_id = self.turn.session_id
            hint = f"It is stored: swecli -r {session_id}" if session_id else ""
            raise SwecliError(f"The answer cannot be written: {error.strerror}.", hint) from error

    def note(self, text: str) -> None:
        """Write one line to stderr. That it cannot be written, as on a full disk, does not cost the answer."""
        with suppress(OSError):
            self._err.write(one_line(text, LONGEST_ERROR) + "\n")

    def _write_error(self, message: str, hint: str) -> None:
        with suppress(OSError):
            self._err.write(complaint(message, hint) + "\n")


def _describe(event: Event) -> str:
    """Return a note on an event, or ""."""
    match event:
        case ToolFinished() if event.result.denied:
            return f"denied: {event.summary}: {event.call.reason or event.result.for_model}"
        case ToolFinished():
            return f"{'ok' if event.result.ok else 'failed'}: {event.summary}"
    return event.describe()
