"""Unified diffs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTEXT = 3
_MAX_COMPARED = (
    6000  # lines; a minimal diff of more takes too long, so the whole range is shown as replaced
)


@dataclass(frozen=True, slots=True)
class _Diff:
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


def unified_diff(path: str, old: str | None, new: str) -> _Diff:
    """Return the diff from `old` (None for a new file) to `new`, with three lines of context."""
    before, after = _lines(old or ""), _lines(new)
    groups = _groups(before, after)
    out = ["--- /dev/null\n" if old is None else f"--- a/{path}\n", f"+++ b/{path}\n"]
    for group in groups:
        out.extend(_hunk(group, before, after))
    real = [code for group in groups for code in group if code[0] != "equal"]
    return _Diff(
        text="".join(out) if real else "",
        added=sum(j2 - j1 for _, _, _, j1, j2 in real),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in real),
        changed=tuple((j1 + 1, max(j2, j1 + 1)) for _, _, _, j1, j2 in real),
    )


_Code = tuple[str, int, int, int, int]


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _groups(before: list[str], after: list[str]) -> list[list[_Code]]:
    """Return difflib's grouped opcodes. Equal lines at both ends are cut off first, which makes large files cheap."""
    if before == after:
        return []
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    large = max(len(before), len(after)) - head - tail > _MAX_COMPARED
    start, rest = max(0, head - _CONTEXT), tail if large else max(0, tail - _CONTEXT)
    left, right = before[start : len(before) - rest], after[start : len(after) - rest]
    # if all lines are junk, difflib only finds the common start
    matcher = difflib.SequenceMatcher(
        (lambda _: True) if large else None, left, right, autojunk=len(left) > 1000
    )
    groups = matcher.get_grouped_opcodes(_CONTEXT)
    return [
        [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in g]
        for g in groups
    ]


def _hunk(group: list[_Code], before: list[str], after: list[str]) -> Iterator[str]:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    yield f"@@ -{_range(*old)} +{_range(*new)} @@\n"
    for tag, i1, i2, j1, j2 in group:
        yield from (_line(" " if tag == "equal" else "-", line) for line in before[i1:i2])
        yield from (_line("+", line) for line in after[j1:j2] if tag != "equal")


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
