"""Unified diffs."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_CONTEXT = 3
_MAX_COMPARED = 6000  # lines; difflib takes too long for more


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff. `added` and `removed` count lines; `changed` has (first, last) new lines of each change."""

    text: str
    added: int
    removed: int
    changed: tuple[tuple[int, int], ...]

    @property
    def counts(self) -> str:
        """A text like "+3 −1", without zeros."""
        both = [f"+{self.added}" if self.added else "", f"−{self.removed}" if self.removed else ""]
        return " ".join(part for part in both if part) or "±0"


def unified_diff(path: str, old: str | None, new: str) -> Diff:
    """Return the diff from `old` (None for a new file) to `new`, with three lines of context."""
    before, after = _lines(old or ""), _lines(new)
    changes = list(_changes(before, after))
    out = ["--- /dev/null\n" if old is None else f"--- a/{path}\n", f"+++ b/{path}\n"]
    for group in _group(changes):
        out.extend(_hunk(group, before, after))
    return Diff(
        text="".join(out) if changes else "",
        added=sum(change.j2 - change.j1 for change in changes),
        removed=sum(change.i2 - change.i1 for change in changes),
        changed=tuple((change.j1 + 1, max(change.j2, change.j1 + 1)) for change in changes),
    )


class _Range(NamedTuple):
    """Lines `i1` to `i2` of the old text and `j1` to `j2` of the new one, ends excluded."""

    i1: int
    i2: int
    j1: int
    j2: int


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _changes(before: list[str], after: list[str]) -> Iterator[_Range]:
    """Generate the ranges between the equal lines."""
    i = j = 0
    for same in _equal_ranges(before, after, _Range(0, len(before), 0, len(after))):
        if (i, j) != (same.i1, same.j1):
            yield _Range(i, same.i1, j, same.j1)
        i, j = same.i2, same.j2
    if (i, j) != (len(before), len(after)):
        yield _Range(i, len(before), j, len(after))


def _equal_ranges(before: list[str], after: list[str], whole: _Range) -> Iterator[_Range]:
    """Generate the equal ranges in order. What is too large for difflib is split at the lines that occur only once."""
    head, tail = _common_ends(before, after, whole)
    if head:
        yield _Range(whole.i1, whole.i1 + head, whole.j1, whole.j1 + head)
    part = _Range(whole.i1 + head, whole.i2 - tail, whole.j1 + head, whole.j2 - tail)
    old_count = part.i2 - part.i1
    new_count = part.j2 - part.j1
    if not old_count or not new_count:
        pass
    elif max(old_count, new_count) <= _MAX_COMPARED:
        yield from _minimal_ranges(before, after, part)
    elif anchors := _unique_pairs(before, after, part):
        i, j = part.i1, part.j1
        for next_i, next_j in anchors:
            yield from _equal_ranges(before, after, _Range(i, next_i, j, next_j))
            yield _Range(next_i, next_i + 1, next_j, next_j + 1)
            i, j = next_i + 1, next_j + 1
        yield from _equal_ranges(before, after, _Range(i, part.i2, j, part.j2))
    elif old_count == new_count:  # a replacement in many lines that are alike
        for i, j in zip(range(part.i1, part.i2), range(part.j1, part.j2), strict=True):
            if before[i] == after[j]:
                yield _Range(i, i + 1, j, j + 1)
    if tail:
        yield _Range(whole.i2 - tail, whole.i2, whole.j2 - tail, whole.j2)


def _common_ends(before: list[str], after: list[str], part: _Range) -> tuple[int, int]:
    """Return the numbers of equal lines at the start and at the end."""
    most = min(part.i2 - part.i1, part.j2 - part.j1)
    head = 0
    while head < most and before[part.i1 + head] == after[part.j1 + head]:
        head += 1
    tail = 0
    while tail < most - head and before[part.i2 - 1 - tail] == after[part.j2 - 1 - tail]:
        tail += 1
    return head, tail


def _minimal_ranges(before: list[str], after: list[str], part: _Range) -> Iterator[_Range]:
    left, right = before[part.i1 : part.i2], after[part.j1 : part.j2]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > 1000)
    for i, j, size in matcher.get_matching_blocks():
        if size:
            yield _Range(part.i1 + i, part.i1 + i + size, part.j1 + j, part.j1 + j + size)


def _unique_pairs(before: list[str], after: list[str], part: _Range) -> list[tuple[int, int]]:
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
    found: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = previous[index]
    return found[::-1]


def _places_of_unique_lines(lines: list[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {lines[place]: place for place in range(start, end) if counts[lines[place]] == 1}


def _group(changes: list[_Range]) -> Iterator[list[_Range]]:
    """Group the changes whose lines of context touch."""
    group: list[_Range] = []
    for change in changes:
        if group and change.i1 - group[-1].i2 > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[_Range], before: list[str], after: list[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.i1, first.j1)
    trail = min(_CONTEXT, len(before) - last.i2)
    old = _format_range(first.i1 - lead, last.i2 + trail)
    new = _format_range(first.j1 - lead, last.j2 + trail)
    yield f"@@ -{old} +{new} @@\n"
    at = first.i1 - lead
    for change in group:
        yield from (_line(" ", line) for line in before[at : change.i1])
        yield from (_line("-", line) for line in before[change.i1 : change.i2])
        yield from (_line("+", line) for line in after[change.j1 : change.j2])
        at = change.i2
    yield from (_line(" ", line) for line in before[at : at + trail])


def _format_range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
