"""The script of a typed session: one JSON object a line, in the order in which things happened."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

_POLL = 0.2  # seconds between two looks at a script that is still written
_PATIENCE = 1_800.0  # seconds for the next line of such a script


class Part(StrEnum):
    """What a line of the script is, by its only key."""

    START = "start"
    """Starts the program: in which folder, with which arguments."""
    TYPED = "typed"
    """A line that the user types, and Enter."""
    KEYS = "keys"
    """Keys without Enter: an answer to a question."""
    SHELL = "shell"
    """A command that the user runs beside the program, in the folder of the lab."""
    KILL = "kill"
    """A line that the user types, and what the screen shows when SIGKILL ends the program."""
    ANSWER = "answer"
    """What the model answers to its next request."""
    REFLECTION = "reflection"
    """What the model answers when it is next asked to reflect."""


_ANSWERS = (Part.ANSWER, Part.REFLECTION)


class ScriptEnded(Exception):
    """The script has no further line of the kind that is needed."""


@dataclass
class SessionScript:
    """Reads the lines of a script. With `grows` it waits for lines that are still to be written."""

    file: Path
    grows: bool = False
    _given: dict[Part, int] = field(default_factory=dict)

    def lines(self) -> list[tuple[Part, Any]]:
        text = self.file.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        rows = [json.loads(line) for line in whole.splitlines() if line.strip()]
        return [(Part(name), value) for row in rows for name, value in row.items()]

    def answer(self, part: Part) -> tuple[int, Any]:
        """Return the next answer of that part, and its number from 1. Raises ScriptEnded if there is none."""
        number = self._given.get(part, 0)
        self._given[part] = number + 1
        deadline = time.monotonic() + _PATIENCE
        while True:
            values = [value for kind, value in self.lines() if kind is part]
            if len(values) > number:
                return number + 1, values[number]
            if not self.grows or time.monotonic() > deadline:
                raise ScriptEnded(part)
            time.sleep(_POLL)

    def events(self) -> Iterator[tuple[Part, Any]]:
        """Yield what the user does, in order."""
        number = 0
        deadline = time.monotonic() + _PATIENCE
        while True:
            events = [row for row in self.lines() if row[0] not in _ANSWERS]
            if len(events) > number:
                yield events[number]
                number += 1
                deadline = time.monotonic() + _PATIENCE
            elif not self.grows or time.monotonic() > deadline:
                return
            else:
                time.sleep(_POLL)
