"""A terminal in memory: what a program writes, and what is to be seen of it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TextIO

import pyte


class Emulated(io.StringIO):
    """A text file that is a terminal of a fixed size; newlines return the carriage as a tty's do.

    `raw` holds everything written, `writes` counts how often.
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
        """Columns and rows."""
        return self.screen.columns, self.screen.lines

    def show_live(self, lines: Sequence[str]) -> None:
        """Nothing is shown for a while: see `Bottom`."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.raw.append(text)
        self.writes += 1
        self._stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return len(text)

    def resize(self, columns: int, rows: int) -> None:
        """The window gets another size."""
        self.screen.resize(rows, columns)

    def lines(self) -> list[str]:
        """The rows of the screen, without the spaces at their ends."""
        return [line.rstrip() for line in self.screen.display]

    def everything(self) -> list[str]:
        """What has scrolled away, then the screen."""
        columns = self.screen.columns
        gone = ["".join(row[x].data for x in range(columns)).rstrip() for row in self.screen.history.top]
        return [*gone, *self.lines()]


class Paper:
    """A surface of a fixed width that keeps what is printed in `file`."""

    def __init__(self, file: TextIO, columns: int) -> None:
        self._file, self.size = file, (columns, 24)

    def write(self, text: str) -> None:
        self._file.write(text)

    def show_live(self, lines: Sequence[str]) -> None:
        """Nothing is shown for a while."""


class Bottom:
    """The bottom of an emulated terminal: what is live stands under what is printed, and goes without a trace."""

    def __init__(self, terminal: Emulated) -> None:
        self._terminal = terminal
        self._lines: list[str] = []

    @property
    def size(self) -> tuple[int, int]:
        return self._terminal.size

    def write(self, text: str) -> None:
        lines = self._lines
        self._terminal.write(self._gone() + text + self._drawn(lines))

    def show_live(self, lines: Sequence[str]) -> None:
        self._terminal.write(self._gone() + self._drawn(list(lines)))

    def _gone(self) -> str:
        up = f"\x1b[{len(self._lines)}A" if self._lines else ""
        return f"\r{up}\x1b[J"

    def _drawn(self, lines: list[str]) -> str:
        self._lines = lines
        return "".join(f"{line}\n" for line in lines)
