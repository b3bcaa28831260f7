"""The text of an emulated screen. pyte's own `display` looks at each cell, also of the many rows that are empty, and
takes longer than what is tested."""

from __future__ import annotations

from collections.abc import Mapping

import pyte
from pyte.screens import Char


def screen_lines(screen: pyte.Screen) -> list[str]:
    """Return the rows of the screen, without trailing spaces."""
    lines = [""] * screen.lines
    columns = screen.columns
    for number, row in screen.buffer.items():
        if row and number < len(lines):
            lines[number] = row_text(row, columns)
    return lines


def row_text(row: Mapping[int, Char], columns: int) -> str:
    """Return the text of a row without trailing spaces. Cells that were never written are not in it; the second cell of
    a wide character is an empty text."""
    end = min(columns, max(row, default=-1) + 1)
    return "".join(row[x].data for x in range(end)).rstrip()
