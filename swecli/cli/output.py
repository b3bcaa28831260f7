"""What subcommands write: lines, tables and JSON on stdout. Control codes in stored text never reach the terminal."""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from swecli.headless.plain import dumps, plain
from swecli.models.errors import SwecliError

if TYPE_CHECKING:
    from swecli.playbook.action import ActionResult


def print_line(text: str) -> None:
    """A line on stdout."""
    _write(plain(text))


def _print_exactly(text: str) -> None:
    """A text on stdout as it is, for another program: no letter of it is left out or put differently."""
    sys.stdout.flush()
    _guarded(lambda: sys.stdout.buffer.write(text.encode("utf-8", "replace")))


def print_json(value: Any) -> None:
    """Indented JSON on stdout."""
    _write(dumps(value, indent=2))


def _write(text: str) -> None:
    _guarded(lambda: sys.stdout.write(text + "\n"))


def _guarded(write: Callable[[], object]) -> None:
    try:
        write()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SwecliError(f"The output cannot be written: {error.strerror}.") from error


def report(args: argparse.Namespace, value: Any, text: str) -> int:
    """What was done: as JSON where that is wanted, else in words. Returns 0."""
    print_json(value) if args.json else print_line(text)
    return 0


def print_result(result: ActionResult, json: bool) -> int:
    """Print an answer, for programs or for people. Returns its exit code."""
    if json:
        print_json(result.value)
        return result.code
    if result.exact is not None and not sys.stdout.isatty():
        _print_exactly(result.exact)
        return result.code
    if result.rows:
        print_table(result.rows, result.head)
    for line in (*result.lines, *([result.note] if result.note else [])):
        print_line(line)
    return result.code


def print_table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Aligned columns; the last one is as long as it is."""
    texts = [[" ".join(plain(str(cell)).split()) for cell in row] for row in (head, *rows)]
    widths = [max(_width(row[i]) for row in texts) for i in range(len(head) - 1)]
    for row in texts:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)]
        print_line("  ".join([*cells, row[-1]]).rstrip())


def _width(text: str) -> int:
    """Columns on a terminal."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
