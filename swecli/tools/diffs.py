"""Unified diffs of two texts, for the eye and for `patch`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

_CONTEXT = 3
# Beyond this many differing lines a minimal diff takes too long: the whole stretch is shown as replaced.
_MAX_COMPARED = 6000


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff, with the number of lines added and removed, and (first, last) new lines of each hunk's change."""

    text: str
    added: int
    removed: int
    changed: tuple[tuple[int, int], ...]

    @property
    def counts(self) -> str:
        """ "+3 −1", with only what is there."""
        both = [f"+{self.added}" if self.added else "", f"−{self.removed}" if self.removed else ""]
        return " ".join(part for part in both if part) or "±0"


def unified(path: str, old: str | None, new: str) -> Diff:
    """The diff from `old` (None: there was no file) to `new`, with three lines of context."""
    before, after = _lines(old or ""), _lines(new)
    groups = _groups(before, after)
    out = ["--- /dev/null\n" if old is None else f"--- a/{path}\n", f"+++ b/{path}\n"]
    for group in groups:
        out.extend(_hunk(group, before, after))
    real = [code for group in groups for code in group if code[0] != "equal"]
    return Diff(
        text="".join(out) if real else "",
        added=sum(j2 - j1 for _, _, _, j1, j2 in real),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in real),
        changed=tuple((j1 + 1, max(j2, j1 + 1)) for _, _, _, j1, j2 in real),
    )


_Code = tuple[str, int, int, int, int]


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _groups(before: list[str], after: list[str]) -> list[list[_Code]]:
    """Opcodes in groups with their context, as difflib gives them; what is equal at both ends is left off before,
    which makes large files cheap."""
    if before == after:
        return []
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    start, rest = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    left, right = before[start : len(before) - rest], after[start : len(after) - rest]
    groups: list[list[_Code]]
    if max(len(left), len(right)) > _MAX_COMPARED:
        lead, end = head - start, tail - rest
        i, j = len(left) - end, len(right) - end
        whole: list[_Code] = [
            ("equal", 0, lead, 0, lead),
            ("replace", lead, i, lead, j),
            ("equal", i, i + end, j, j + end),
        ]
        groups = [[code for code in whole if code[1] < code[2] or code[3] < code[4]]]
    else:
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > 1000)
        groups = [list(group) for group in matcher.get_grouped_opcodes(_CONTEXT)]
    return [[(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in g] for g in groups]


def _hunk(group: list[_Code], before: list[str], after: list[str]) -> Iterator[str]:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    yield f"@@ -{_range(*old)} +{_range(*new)} @@\n"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (_line(" ", line) for line in before[i1:i2])
            continue
        yield from (_line("-", line) for line in before[i1:i2])
        yield from (_line("+", line) for line in after[j1:j2])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
