"""Show the lines of a long text in parts, each numbered, with a hint how to read on."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.tools.base import ToolError
from swecli.tools.limits import fit_rows
from swecli.values import dataclass

_LINE_LIMIT = 2_000  # characters; stated in read_result.md


# Descriptions of the parameters for the wanted lines.
FIRST_LINE = "First line, counting from 1."
LAST_LINE = "Last line (inclusive). Default: as many as fit."


@dataclass(frozen=True, slots=True)
class LineSpan:
    """The lines that are asked for. Raises ToolError for a range that ends before it begins."""

    first: int  # from 1
    last: int | None  # inclusive; None: as many as fit

    def __post_init__(self) -> None:
        if self.last is not None and self.last < self.first:
            raise ToolError(f"end_line {self.last} is before start_line {self.first}.")


@dataclass(frozen=True, slots=True)
class TextPage:
    """The lines that fit."""

    rows: list[str]  # each with its number
    span: str  # `lines 3-9 of 40`
    read_on: str  # how to get the rest, "" if this is all that was asked for


def make_page(lines: Sequence[str], span: LineSpan, name: str, limit: int) -> TextPage:
    """Return the wanted lines in at most `limit` characters. Raises ToolError if there are none."""
    first = span.first
    if first > len(lines):
        raise ToolError(f"{name} has {len(lines)} lines: line {first} is past its end.")
    numbered = enumerate(lines[first - 1 : span.last], first)
    rows = fit_rows((f"{number:>6}\t{_truncate(line)}" for number, line in numbered), limit)
    last = first + len(rows) - 1
    end = min(span.last or len(lines), len(lines))
    read_on = f"; continue with start_line={last + 1}" if last < end else ""
    return TextPage(rows, f"lines {first}-{last} of {len(lines)}", read_on)


def _truncate(line: str) -> str:
    if len(line) <= _LINE_LIMIT:
        return line
    return f"{line[:_LINE_LIMIT]} [… line cut: {len(line):,} characters in all]"


def wrap_lines(text: str) -> list[str]:
    """Split a text into lines that are short enough to be shown whole; nothing is dropped."""
    wrapped: list[str] = []
    for line in text.split("\n"):
        starts = range(0, len(line) or 1, _LINE_LIMIT)
        wrapped += [line[start : start + _LINE_LIMIT] for start in starts]
    return wrapped
