"""Render unified diffs: with line numbers, and the words marked that differ in a changed line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.formatting import ESCAPED
from swecli.repl.render.prefix import Sign, add_prefix, hidden_note
from swecli.text import sanitize
from swecli.values import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SKIPPED_HEADERS = (
    "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ",
)  # fmt: skip
_TAB_SIZE = 4
_WORD = re.compile(r"\w+|\s+|.")
# Lines that share less than half of their characters are a replacement, in which each word would be marked.
_LEAST_ALIKE = 0.5
_MAX_COMPARED = 400  # characters of a line; comparing takes time that is quadratic in its words
_SIGNS = {"added": "+", "removed": "-"}
# The least share of a folded diff that a run of removed or of added lines gets: both sides of a hunk fit, and what is
# around them.
_LEAST_SHARE = 4
_LEAST_RUN = 2  # rows of a folded run: a line, and the number of the others

DiffStyle = Literal["", "added", "removed", "gap", "head", "quiet"]
Span = tuple[int, int]  # the characters from the first to the second, excluded


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of a diff.

    `style` is one of the theme, "" for a line that stays, or "gap" above a hunk, with its label as text. `number` is
    that of the line in the new file, for a removed line in the old one. `marked_spans` are the words that differ from
    the other side. A row with `hidden_count` stands for so many lines of its style that are not shown.
    """

    style: DiffStyle
    text: str
    number: int | None = None
    marked_spans: tuple[Span, ...] = ()
    hidden_count: int = 0

    @property
    def lines(self) -> int:
        """The lines of the diff that the row stands for."""
        return self.hidden_count or 1


def render_diff(
    diff: str, max_chars: int = 2000, max_rows: int = 0, hint: str = ""
) -> RenderableType:
    """Render a unified diff with line numbers; text without hunks is rendered as it is.

    At most `max_rows` rows and `max_chars` characters a line; 0 is unlimited. Of long runs of removed or added lines
    only the first ones are shown, and then the end of the diff is left out. What is hidden is counted; `hint` says
    how to see it, "" if nothing does.
    """
    return Group(*render_diff_lines(diff, max_chars, max_rows, hint))


def render_diff_lines(
    diff: str,
    max_chars: int = 2000,
    max_rows: int = 0,
    hint: str = "",
    labels: Sequence[str] = (),
) -> Iterator[RenderableType]:
    """Yield the lines of `render_diff` one by one: those of a long diff need not be rendered at once. The `labels`
    stand above its hunks."""
    lines = sanitize(diff).removesuffix("\n").split("\n") if diff else []
    rows = list(_parse_diff(lines, labels))
    files = [row for row in rows if row.style == "head"]
    if len(files) == 1:
        rows.remove(files[0])  # the caller has named the only file
    if max_rows and len(rows) > max_rows:
        rows = _fold(rows, max_rows)
    width = max((len(str(row.number)) for row in rows if row.number is not None), default=1)
    last_fold = max((index for index, row in enumerate(rows) if row.hidden_count), default=None)
    for index, row in enumerate(_mark_words(rows)):
        if row.hidden_count:
            yield _render_fold(row, width, hint if index == last_fold else "")
        else:
            yield _render_row(row, width, max_chars)


def render_line(text: str, max_chars: int, style: str, tab_size: int = 8) -> Text:
    """Render sanitized text, truncated to `max_chars` characters (0: never), with escaped characters highlighted."""
    excess = len(text) - max_chars if max_chars else 0
    line = Text(text[:max_chars] if excess > 0 else text, style=style, tab_size=tab_size)
    line.highlight_regex(ESCAPED, "escaped")
    if excess > 0:
        line.append(f" … {excess:,} more characters", "quiet")
    return line


def _parse_diff(lines: list[str], labels: Sequence[str] = ()) -> Iterator[DiffRow]:
    """Yield the rows of a diff. The head of a hunk says how many lines it has: a removed line `-- x` before an added
    `++ y` looks like the head of a file, and is none."""
    old = new = 0  # the numbers of the next lines
    old_end = new_end = 0  # those behind the hunk
    has_hunk = False  # of the present file
    labels_left = iter(labels)
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        is_inside = old < old_end or new < new_end
        is_head = line.startswith("--- ") and following.startswith("+++ ")
        if not is_inside and (is_head or line.startswith("diff --git ")):
            has_hunk = False
        elif hunk := _HUNK.match(line):
            label = next(labels_left, "")
            if has_hunk or label:
                yield DiffRow("gap", label)
            has_hunk = True
            old = int(hunk[1])
            new = int(hunk[3])
            old_end = old + int(hunk[2] or 1)
            new_end = new + int(hunk[4] or 1)
        elif line.startswith("\\"):
            yield DiffRow("quiet", line[2:])
        elif not has_hunk and line.startswith("+++ "):
            yield DiffRow("head", re.sub(r"^(?:[ab]/)?", "", line[4:].split("\t")[0]))
        elif not has_hunk:
            if not line.startswith(_SKIPPED_HEADERS):
                yield DiffRow("quiet", line)
        elif line.startswith("+"):
            yield DiffRow("added", line[1:], new)
            new += 1
        elif line.startswith("-"):
            yield DiffRow("removed", line[1:], old)
            old += 1
        else:
            yield DiffRow("", line[1:], new)
            old += 1
            new += 1


def _fold(rows: Sequence[DiffRow], max_rows: int) -> list[DiffRow]:
    """Shorten runs of removed and of added lines, the longest first, until `max_rows` rows are left; if that would
    leave too little of them, leave out the end."""
    runs = [list(run) for _, run in groupby(rows, lambda row: row.style)]
    max_run = max(_LEAST_RUN, max_rows // _LEAST_SHARE)
    while sum(len(_fold_run(run, max_run + 1)) for run in runs) <= max_rows:
        max_run += 1
    folded = [row for run in runs for row in _fold_run(run, max_run)]
    if len(folded) <= max_rows:
        return folded
    kept_rows = folded[: max_rows - 1]
    left_out = sum(row.lines for row in folded[max_rows - 1 :])
    return [*kept_rows, DiffRow("quiet", "", hidden_count=left_out)]


def _fold_run(run: list[DiffRow], max_run: int) -> list[DiffRow]:
    """Return a run of rows of one style, in `max_run` rows if it is one of removed or added lines."""
    style = run[0].style
    if style not in _SIGNS or len(run) <= max_run:
        return run
    kept_rows = run[: max_run - 1]
    return [*kept_rows, DiffRow(style, "", hidden_count=len(run) - len(kept_rows))]


def _mark_words(rows: Sequence[DiffRow]) -> Iterator[DiffRow]:
    """Yield the rows; where as many lines were added as were removed just before, the words that differ are marked."""
    removed: list[DiffRow] = []
    added: list[DiffRow] = []
    for row in rows:
        if row.style == "removed" and not added:
            removed.append(row)
        elif row.style == "added":
            added.append(row)
        else:
            yield from _mark_pairs(removed, added)
            removed = [row] if row.style == "removed" else []
            added = []
            if row.style != "removed":
                yield row
    yield from _mark_pairs(removed, added)


def _mark_pairs(removed: list[DiffRow], added: list[DiffRow]) -> list[DiffRow]:
    if sum(row.lines for row in removed) != sum(row.lines for row in added):
        return [*removed, *added]
    before: list[DiffRow] = []
    after: list[DiffRow] = []
    for old, new in zip(removed, added, strict=True):
        removed_spans, added_spans = different_words(old.text, new.text)
        before.append(replace(old, marked_spans=removed_spans))
        after.append(replace(new, marked_spans=added_spans))
    return [*before, *after]


def different_words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return where two lines differ, by whole words; nothing if they have too little in common."""
    if max(len(old), len(new)) > _MAX_COMPARED:
        return (), ()
    old_words = _WORD.findall(old)
    new_words = _WORD.findall(new)
    changes = SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    equal_length = sum(
        len("".join(old_words[i:j])) for kind, i, j, *_ in changes if kind == "equal"
    )
    if equal_length < _LEAST_ALIKE * max(len(old.strip()), len(new.strip())):
        return (), ()
    removed_spans = [
        _span(old_words, i, j) for kind, i, j, _, _ in changes if kind != "equal" and i < j
    ]
    added_spans = [
        _span(new_words, i, j) for kind, _, _, i, j in changes if kind != "equal" and i < j
    ]
    return tuple(removed_spans), tuple(added_spans)


def _span(words: Sequence[str], first: int, end: int) -> Span:
    start = len("".join(words[:first]))
    return start, start + len("".join(words[first:end]))


def _render_row(row: DiffRow, width: int, max_chars: int) -> RenderableType:
    if row.style == "gap":
        gap = Text(" " * (width - 1) + "┆")
        if not row.text:
            return Sign(gap, "...")
        return Sign(gap.append(f" {row.text}", "quiet"), row.text)
    line = render_line(row.text, max_chars, row.style, _TAB_SIZE)
    for start, end in row.marked_spans:
        line.stylize("marked", start, min(end, max_chars or end))
    if row.number is None:
        return line
    return add_prefix(line, _gutter(row, f"{row.number:>{width}}"))


def _render_fold(row: DiffRow, width: int, hint: str) -> RenderableType:
    """Render the number of hidden lines: below the lines of their run, or at the end of the diff."""
    if row.style not in _SIGNS:
        return hidden_note(f"{row.hidden_count:,} more lines", hint)
    line = hidden_note(f"{row.hidden_count:,} more {row.style} lines", hint)
    return add_prefix(line, _gutter(row, " " * width))


def _gutter(row: DiffRow, number: str) -> Text:
    sign = _SIGNS.get(row.style, " ")
    return Text(end="").append(f"{number} ").append(f"{sign} ", row.style)
