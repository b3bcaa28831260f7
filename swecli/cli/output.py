"""What subcommands write: lines, tables and JSON on stdout. Control codes in stored text never reach the terminal."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from swecli.headless.plain import dumps, plain
from swecli.models.errors import SwecliError

if TYPE_CHECKING:
    from swecli.playbook.action import ActionResult


def print_line(text: str) -> None:
    """A line on stdout. Raises SwecliError where it cannot be written."""
    _write([plain(text)])


def print_result(result: ActionResult, json: bool) -> int:
    """Print an answer, for programs or for people. Returns its exit code."""
    if json:
        _write([dumps(result.value, indent=2)])
    elif result.exact is not None and not sys.stdout.isatty():
        _write([], result.exact)
    else:
        note = [result.note] if result.note else []
        _write([*table_lines(result.head, result.rows), *map(plain, (*result.lines, *note))])
    return result.code


def _write(lines: Iterable[str], exact: str = "") -> None:
    """Lines, then a text for another program: no letter of it is left out or put differently."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        if exact:
            sys.stdout.flush()
            sys.stdout.buffer.write(exact.encode("utf-8", "replace"))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SwecliError(f"The output cannot be written: {error.strerror}.") from error


def table_lines(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Aligned columns under their head, nothing without rows; the last one is as long as it is."""
    if not rows:
        return []
    texts = [["" if cell is None else " ".join(plain(str(cell)).split()) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)][:-1]
    return [
        "  ".join(
            [*(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in texts
    ]


def _width(text: str) -> int:
    """Columns on a terminal."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
