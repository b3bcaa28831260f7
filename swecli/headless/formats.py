"""The three ways an answer is written without a screen: text, one JSON object, or one JSON event a line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

from swecli.models.errors import SwecliError
from swecli.models.events import (
    Event,
    Notice,
    PlaybookUpdated,
    ReflectionFailed,
    StepRetried,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnFinished,
    to_json,
)

Format = Literal["text", "json", "stream-json"]
FORMATS: tuple[Format, ...] = ("text", "json", "stream-json")


def dumps(value: Any) -> str:
    """One line of JSON that any reader takes: lone surrogates are replaced."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")


@dataclass(slots=True)
class Writer:
    """Writes events to `out` (only the answer, in the chosen format) and what is for people to `err`."""

    style: Format
    out: TextIO
    err: TextIO
    session_id: str = ""
    failed: TurnFailed | None = None
    finished: TurnFinished | None = None
    _last: str = field(default="")

    def write(self, event: Event) -> None:
        """Take one event of the turn."""
        if isinstance(event, TurnFinished):
            self.finished = event
        if isinstance(event, TurnFailed):
            self.failed = event
        if self.style == "stream-json":
            self._line(dumps(to_json(event)))
        elif self.style == "text":
            self._text(event)
        self._aside(event)

    def _text(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.out.write(event.text)
            self.out.flush()
            self._last = event.text or self._last
        if isinstance(event, ToolFinished) and self._last and not self._last.endswith("\n"):
            self._last = "\n"
            self.out.write("\n")

    def _aside(self, event: Event) -> None:
        """What a person would want to know, on stderr."""
        match event:
            case ToolFinished() if event.result.denied:
                self._say(f"denied: {event.summary}: {event.call.reason or event.call.decision}")
            case ToolFinished():
                self._say(f"{'ok' if event.result.ok else 'failed'}: {event.summary}")
            case StepRetried():
                self._say(f"retry {event.attempt} in {event.wait:.0f} s: {event.reason}")
            case Notice():
                self._say(event.text)
            case ReflectionFailed():
                self._say(f"reflection failed: {event.reason}")
            case PlaybookUpdated() if event.lines:
                self._say("learned: " + "; ".join(event.lines))
            case _:
                pass

    def _say(self, text: str) -> None:
        if self.style == "text":
            self.err.write("".join(c if c.isprintable() else "�" for c in text) + "\n")

    def _line(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()

    def close(self, exit_code: int) -> None:
        """The end: the newline text needs, or the result object of the JSON formats."""
        if self.style == "text":
            if self._last and not self._last.endswith("\n"):
                self.out.write("\n")
            if self.failed:
                self.err.write(f"swecli: {self.failed.error}  {self.failed.hint}".rstrip() + "\n")
            elif self.finished and self.finished.reason != "done":
                self.err.write(f"swecli: stopped: {self.finished.reason}\n")
        else:
            self._line(dumps(self.result(exit_code)))
        self.out.flush()

    def refuse(self, error: SwecliError) -> None:
        """A run that could not begin: the result object says why."""
        self.failed = TurnFailed(error.message, error.hint, error.exit_code)
        self.close(error.exit_code)

    def result(self, exit_code: int) -> dict[str, Any]:
        """The result object: what was answered, what it took, what was denied."""
        done, failed = self.finished, self.failed
        subtype = done.reason if done else "error"
        denials = [{"tool": c.name, "input": c.parameters, "reason": c.reason} for c in (done.denied if done else ())]
        return {
            "type": "result",
            "subtype": "success" if subtype == "done" else subtype,
            "is_error": exit_code != 0,
            "duration_ms": done.duration_ms if done else 0,
            "num_turns": done.steps if done else 0,
            "result": done.text if done else (f"{failed.error} {failed.hint}".strip() if failed else "interrupted"),
            "session_id": self.session_id,
            "total_cost_usd": done.cost if done else None,
            "usage": done.usage.to_json() if done else {},
            "permission_denials": denials,
        }
