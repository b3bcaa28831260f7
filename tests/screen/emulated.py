"""Emulated terminals that record a program's output."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TextIO

import pyte


class EmulatedTerminal(io.StringIO):
    """A text file that is a terminal of a fixed size and, like a tty, returns the carriage at newlines.

    `raw` is everything written, `writes` the number of writes.
    """

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)
        self.raw: list[str] = []
        self.writes = 0

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def size(self) -> tuple[int, int]:
        """Return the columns and rows."""
        return self.screen.columns, self.screen.lines

    def show_live(self, lines: Sequence[str]) -> None:
        """Ignore live lines; see `Bottom`."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.raw.append(text)
        self.writes += 1
        self._stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return len(text)

    def resize(self, columns: int, rows: int) -> None:
        """Resize the window."""
        self.screen.resize(rows, columns)

    def lines(self) -> list[str]:
        """Return the rows of the screen, without trailing spaces."""
        return [line.rstrip() for line in self.screen.display]

    def everything(self) -> list[str]:
        """Return the scrollback followed by the screen."""
        columns = self.screen.columns
        gone = [
            "".join(row[x].data for x in range(columns)).rstrip() for row in self.screen.history.top
        ]
        return [*gone, *self.lines()]


class TextSurface:
    """A surface of a fixed width that writes to `file`."""

    def __init__(self, file: TextIO, columns: int) -> None:
        self._file, self.size = file, (columns, 24)

    def write(self, text: str) -> None:
        self._file.write(text)

    def show_live(self, lines: Sequence[str]) -> None:
        """Ignore live lines."""


class LiveTerminal:
    """An emulated terminal that shows live lines below the output and erases them without a trace."""

    def __init__(self, terminal: EmulatedTerminal) -> None:
        self._terminal = terminal
        self._lines: list[str] = []

    @property
    def size(self) -> tuple[int, int]:
        return self._terminal.size

    def write(self, text: str) -> None:
        lines = self._lines
        self._terminal.write(self._erase_live() + text + self._draw_live(lines))

    def show_live(self, lines: Sequence[str]) -> None:
        self._terminal.write(self._erase_live() + self._draw_live(list(lines)))

    def _erase_live(self) -> str:
        up = f"\x1b[{len(self._lines)}A" if self._lines else ""
        return f"\r{up}\x1b[J"

    def _draw_live(self, lines: list[str]) -> str:
        self._lines = lines
        return "".join(f"{line}\n" for line in lines)
