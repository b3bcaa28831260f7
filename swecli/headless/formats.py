"""The three ways an answer is written without a screen: text, one JSON object, or one JSON event a line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

from swecli.headless.plain import complaint, dumps, one_line, plain
from swecli.models.errors import SwecliError
from swecli.models.events import (
    ContextReduced,
    Event,
    Notice,
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
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ToolCall, Usage

Format = Literal["text", "json", "stream-json"]
FORMATS: tuple[Format, ...] = ("text", "json", "stream-json")
INTERRUPTED = (130, 143)


@dataclass(slots=True)
class Tally:
    """What is known of one turn, however it ends. `spoken` is the text of the running step."""

    started: float
    session_id: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    denied: list[ToolCall] = field(default_factory=list)
    spoken: str = ""
    failed: TurnFailed | None = None
    finished: TurnFinished | None = None

    def take(self, event: Event) -> None:
        """Count one event."""
        match event:
            case TurnStarted():
                self.session_id = event.session_id
            case StepStarted():
                self.steps, self.spoken = event.n, ""
            case StepRetried():
                self.spoken = ""
            case TextDelta():
                self.spoken += event.text
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


class Writer:
    """Writes turns: to `out` only the answer, in the chosen format; to `err` lines for people, in every format.

    For each turn `begin`, then `write` for its events, then `close`.
    """

    def __init__(self, style: Format, out: TextIO, err: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.style, self._out, self._err, self._clock = style, out, err, clock
        self._full = False
        self.tally = Tally(clock())

    def begin(self) -> None:
        """A turn begins."""
        self.tally = Tally(self._clock())

    def write(self, event: Event) -> None:
        """Take one event of the turn."""
        if self.style == "stream-json":
            self._line(dumps(to_json(event)))
        self._aside(event)
        self.tally.take(event)

    def _aside(self, event: Event) -> None:
        """What a person would want to know."""
        if isinstance(event, (StepStarted, ToolStarted, ToolFinished)) and self.tally.spoken:
            self.say(self.tally.spoken)  # said on the way: the answer is what comes last
            self.tally.spoken = ""
        match event:
            case ToolFinished() if event.result.denied:
                self.say(f"denied: {event.summary}: {event.call.reason or event.result.for_model}")
            case ToolFinished():
                self.say(f"{'ok' if event.result.ok else 'failed'}: {event.summary}")
            case StepRetried():
                self.say(f"retry {event.attempt} in {event.wait:.0f} s: {event.reason}")
            case ContextReduced():
                self.say(f"context: {event.how}, {event.before} to {event.after} tokens {event.detail}")
            case Notice():
                self.say(event.text)
            case ReflectionFailed():
                self.say(f"reflection failed: {event.reason}")
            case PlaybookUpdated() if event.lines:
                self.say("learned: " + "; ".join(event.lines))
            case _:
                pass

    def say(self, text: str) -> None:
        """One line for people."""
        self._err.write(one_line(text) + "\n")

    def _line(self, text: str) -> None:
        if self._full:
            return
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._full = True  # what is held back would fail again, and that is said once
            raise SwecliError(f"The answer cannot be written: {error.strerror}.", "It is stored: swecli -c") from error

    def close(self, exit_code: int) -> None:
        """The turn is over: the answer, or the result object of the JSON formats, and what went wrong."""
        done, failed = self.tally.finished, self.tally.failed
        if self.style != "text":
            duration = round((self._clock() - self.tally.started) * 1000)
            self._line(dumps(result(self.tally, exit_code, duration)))
        elif done and done.text.strip():
            self._line(plain(done.text).rstrip("\n"))
        if failed:
            self._complain(failed.error, failed.hint)
        elif done and done.reason != "done":
            self._complain(*STOPS.get(done.reason, (f"Stopped: {done.reason}.", "")))
        elif exit_code in INTERRUPTED:
            self._complain("Interrupted.", "What was said and done is stored; go on with -c.")

    def _complain(self, message: str, hint: str) -> None:
        self._err.write(complaint(message, hint) + "\n")

    def refuse(self, error: SwecliError) -> None:
        """A turn that could not begin, or broke off: say why."""
        self.tally.failed = TurnFailed(error.message, error.hint, error.exit_code)
        self.close(error.exit_code)


def failure(error: SwecliError) -> dict[str, Any]:
    """The result object of a run that could not begin."""
    failed = TurnFailed(error.message, error.hint, error.exit_code)
    return result(Tally(0.0, failed=failed), error.exit_code, 0)


def result(tally: Tally, exit_code: int, duration_ms: int) -> dict[str, Any]:
    """The result object: what was answered, what it took, what was denied."""
    done, failed = tally.finished, tally.failed
    complaint = f"{failed.error} {failed.hint}".strip() if failed else "Interrupted."
    subtype: str = "interrupted" if exit_code in INTERRUPTED else "error"
    if done:
        subtype = "success" if done.reason == "done" else done.reason
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": exit_code != 0,
        "duration_ms": duration_ms,
        "num_turns": tally.steps,
        "result": done.text if done else complaint,
        "session_id": tally.session_id,
        "total_cost_usd": tally.cost,
        "usage": tally.usage.to_json(),
        "permission_denials": [{"tool": c.name, "input": c.parameters, "reason": c.reason} for c in tally.denied],
    }


STOPS = {
    "max_turns": ("The limit of requests was reached.", "Raise --max-turns, or go on with -c."),
    "max_budget": ("The turn has cost what it may.", "Raise --max-budget-usd, or go on with -c."),
    "loop": ("The same calls came again and again.", "Say it differently, or give it what it lacks."),
    "length": ("The answer was cut at its longest.", "Raise max_tokens, or go on with -c."),
}
