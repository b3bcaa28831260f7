"""Typed lines: what each one is, the long pastes in it, and the queue of those that were sent and not begun."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_LineKind = Literal["empty", "command", "shell", "leave", "text"]

_LEAVING = frozenset({"exit", "quit", ":q"})
# a first word that opens with a slash and has no second one: `/usr/bin` and `/* note */` are plain text
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, read. `name` is a command's name without its slash; `text` its arguments, the shell line, or the words.

    `shared` is set for a shell line whose output the model will see.
    """

    kind: _LineKind
    text: str = ""
    name: str = ""
    shared: bool = False


def read_line(typed: str) -> Line:
    """Say what a typed line is. A lone `/` asks for help. Words keep their inner line breaks and spaces."""
    text = typed.strip()
    if not text:
        return Line("empty")
    if text in _LEAVING:
        return Line("leave")
    if text.startswith("!!"):
        return Line("shell", text[2:].strip())
    if text.startswith("!"):
        return Line("shell", text[1:].strip(), shared=True)
    if match := _COMMAND.fullmatch(text):
        return Line("command", (match["args"] or "").strip(), name=match["name"] or "help")
    return Line("text", text)


_MAX_CHARS = 1000
_MAX_LINES = 15

_PLACEHOLDER = re.compile(r"\[Pasted text #(\d+)\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or colour the screen
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Pastes:
    """The long texts pasted in this run, by number from 1."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def take(self, pasted: str) -> str:
        """What to put into the line for a paste: the text itself, or its placeholder when it is long."""
        text = _plain(pasted)
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        return f"[Pasted text #{number}]"

    def expand(self, line: str) -> str:
        """The line with every known placeholder replaced by its text, once; unknown ones stay as typed."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(int(match[1]), match[0]), line)


def _plain(pasted: str) -> str:
    """Pasted text with one kind of line break and no control characters."""
    return _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))


class LineQueue:
    """First in, first out. `held`: what was queued before an interrupt stays until `release`; new lines go first."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = deque(lines)
        self._fresh: deque[str] = deque()  # sent since the others are held
        self._changed = asyncio.Event()
        self.idle = asyncio.Event()
        """Set while somebody waits for a line and there is none."""
        self.held = False

    def __len__(self) -> int:
        return len(self._fresh) + len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return (*self._fresh, *self._lines)

    def put(self, line: str) -> None:
        """Append a line."""
        (self._fresh if self.held else self._lines).append(line)
        self.idle.clear()
        self._changed.set()

    def take_back(self) -> str | None:
        """Remove the newest line, to be edited; None when there is none."""
        line = self._lines.pop() if self._lines else None
        self.held = self.held and bool(self._lines)
        return line

    def clear(self) -> None:
        """Remove all."""
        self._lines.clear()
        self._fresh.clear()
        self.held = False

    def hold(self) -> None:
        """Keep what waits until `release`; does nothing when nothing waits."""
        self._lines.extendleft(reversed(self._fresh))
        self._fresh.clear()
        self.held = bool(self._lines)

    def release(self) -> None:
        """Go on."""
        self.held = False
        self._changed.set()

    async def next(self) -> str:
        """The oldest line, as soon as there is one that is not held."""
        while not self._fresh and (self.held or not self._lines):
            self._changed.clear()
            self.idle.set()
            await self._changed.wait()
        self.idle.clear()
        return (self._fresh or self._lines).popleft()
