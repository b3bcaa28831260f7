"""Unified diffs."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from swecli.values import dataclass

_CONTEXT = 3
_MAX_COMPARED = 6000  # lines; difflib takes seconds for more that are not alike


class LineRange(NamedTuple):
    """Lines `i1` to `i2` of the old text and `j1` to `j2` of the new one, from 0, ends excluded."""

    i1: int
    i2: int
    j1: int
    j2: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changes whose lines of context touch."""

    head: str  # `@@ -1,3 +1,4 @@`
    lines: tuple[str, ...]  # each with its sign in front, and its line end
    changes: tuple[LineRange, ...]

    @property
    def text(self) -> str:
        return f"{self.head}\n{''.join(self.lines)}"


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff."""

    head: str  # the two lines with the file's names; "" if nothing changed
    hunks: tuple[Hunk, ...]
    added: int  # lines
    removed: int
    changed: tuple[tuple[int, int], ...]  # the first and last new line of each change, from 1

    @property
    def text(self) -> str:
        return self.head + "".join(hunk.text for hunk in self.hunks)

    @property
    def counts(self) -> str:
        return format_counts(self.added, self.removed)


def format_counts(added: int, removed: int) -> str:
    """Return numbers of lines as a text like "+3 −1", without zeros."""
    parts: list[str] = []
    if added:
        parts.append(f"+{added}")
    if removed:
        parts.append(f"−{removed}")
    return " ".join(parts) or "±0"


def unified_diff(
    path: str, old: str | None, new: str, ranges: Sequence[LineRange] | None = None
) -> Diff:
    """Return the diff from `old` (None for a new file) to `new`, with three lines of context. `ranges` are the lines
    that may differ, in order, if they are known: then only these are compared."""
    before = split_into_lines(old or "")
    after = split_into_lines(new)
    if ranges is None:
        ranges = [LineRange(0, len(before), 0, len(after))]
    changes = [change for part in ranges for change in _changes(before, after, part)]
    if not changes:
        return Diff("", (), 0, 0, ())
    name = "/dev/null" if old is None else f"a/{path}"
    return Diff(
        head=f"--- {name}\n+++ b/{path}\n",
        hunks=tuple(_hunk(group, before, after) for group in _group(changes)),
        added=sum(change.j2 - change.j1 for change in changes),
        removed=sum(change.i2 - change.i1 for change in changes),
        changed=tuple((change.j1 + 1, max(change.j2, change.j1 + 1)) for change in changes),
    )


def split_into_lines(text: str) -> list[str]:
    """Return the lines of a text, as a diff counts them: each with its end."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def changed_ranges(before: list[str], after: list[str]) -> list[LineRange]:
    """Return the ranges of lines that differ, in order."""
    return list(_changes(before, after, LineRange(0, len(before), 0, len(after))))


def _changes(before: list[str], after: list[str], part: LineRange) -> Iterator[LineRange]:
    """Generate the ranges between the equal lines of a part."""
    i = part.i1
    j = part.j1
    for same in _equal_ranges(before, after, part):
        if (i, j) != (same.i1, same.j1):
            yield LineRange(i, same.i1, j, same.j1)
        i = same.i2
        j = same.j2
    if (i, j) != (part.i2, part.j2):
        yield LineRange(i, part.i2, j, part.j2)


def _equal_ranges(before: list[str], after: list[str], whole: LineRange) -> Iterator[LineRange]:
    """Generate the equal ranges in order. What is too large for difflib is split at the lines that occur only once."""
    head, tail = _common_ends(before, after, whole)
    if head:
        yield LineRange(whole.i1, whole.i1 + head, whole.j1, whole.j1 + head)
    part = LineRange(whole.i1 + head, whole.i2 - tail, whole.j1 + head, whole.j2 - tail)
    old_count = part.i2 - part.i1
    new_count = part.j2 - part.j1
    if old_count and new_count:
        yield from _inner_ranges(before, after, part)
    if tail:
        yield LineRange(whole.i2 - tail, whole.i2, whole.j2 - tail, whole.j2)


def _inner_ranges(before: list[str], after: list[str], part: LineRange) -> Iterator[LineRange]:
    """Generate the equal ranges of a part whose first and last lines differ."""
    old_count = part.i2 - part.i1
    new_count = part.j2 - part.j1
    if max(old_count, new_count) <= _MAX_COMPARED:
        yield from _minimal_ranges(before, after, part)
        return
    anchors = _unique_pairs(before, after, part)
    if anchors:
        i = part.i1
        j = part.j1
        for next_i, next_j in anchors:
            yield from _equal_ranges(before, after, LineRange(i, next_i, j, next_j))
            yield LineRange(next_i, next_i + 1, next_j, next_j + 1)
            i = next_i + 1
            j = next_j + 1
        yield from _equal_ranges(before, after, LineRange(i, part.i2, j, part.j2))
    elif old_count == new_count:  # a replacement in many lines that are alike
        for i, j in zip(range(part.i1, part.i2), range(part.j1, part.j2), strict=True):
            if before[i] == after[j]:
                yield LineRange(i, i + 1, j, j + 1)


def _common_ends(before: list[str], after: list[str], part: LineRange) -> tuple[int, int]:
    """Return the numbers of equal lines at the start and at the end."""
    most = min(part.i2 - part.i1, part.j2 - part.j1)
    head = 0
    while head < most and before[part.i1 + head] == after[part.j1 + head]:
        head += 1
    tail = 0
    while tail < most - head and before[part.i2 - 1 - tail] == after[part.j2 - 1 - tail]:
        tail += 1
    return head, tail


def _minimal_ranges(before: list[str], after: list[str], part: LineRange) -> Iterator[LineRange]:
    old_lines = before[part.i1 : part.i2]
    right = after[part.j1 : part.j2]
    matcher = difflib.SequenceMatcher(None, old_lines, right, autojunk=len(old_lines) > 1000)
    for i, j, size in matcher.get_matching_blocks():
        if size:
            yield LineRange(part.i1 + i, part.i1 + i + size, part.j1 + j, part.j1 + j + size)


def _unique_pairs(before: list[str], after: list[str], part: LineRange) -> list[tuple[int, int]]:
    """Return the longest sequence, in the order of both texts, of lines that occur once in each (patience diff)."""
    old = _places_of_unique_lines(before, part.i1, part.i2)
    new = _places_of_unique_lines(after, part.j1, part.j2)
    pairs = [(i, new[line]) for line, i in old.items() if line in new]
    ends: list[int] = []  # the smallest place in `after` at which a sequence of each length ends
    last: list[int] = []  # the index of that pair
    previous: list[int] = []  # for each pair, the index of the one before it; -1 for none
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [index]
    longest: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        longest.append(pairs[index])
        index = previous[index]
    return longest[::-1]


def _places_of_unique_lines(lines: list[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {lines[place]: place for place in range(start, end) if counts[lines[place]] == 1}


def _group(changes: list[LineRange]) -> Iterator[list[LineRange]]:
    """Group the changes whose lines of context touch."""
    group: list[LineRange] = []
    for change in changes:
        if group and change.i1 - group[-1].i2 > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[LineRange], before: list[str], after: list[str]) -> Hunk:
    first = group[0]
    last = group[-1]
    lead = min(_CONTEXT, first.i1, first.j1)
    trail = min(_CONTEXT, len(before) - last.i2)
    old = _format_range(first.i1 - lead, last.i2 + trail)
    new = _format_range(first.j1 - lead, last.j2 + trail)
    lines: list[str] = []
    position = first.i1 - lead
    for change in group:
        lines += [_line(" ", line) for line in before[position : change.i1]]
        lines += [_line("-", line) for line in before[change.i1 : change.i2]]
        lines += [_line("+", line) for line in after[change.j1 : change.j2]]
        position = change.i2
    lines += [_line(" ", line) for line in before[position : position + trail]]
    return Hunk(f"@@ -{old} +{new} @@", tuple(lines), tuple(group))


def _format_range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
