"""The line ends of a changed text: each line keeps its own, and a new one takes that of the line before."""

from __future__ import annotations

import difflib

_MAX_COMPARED = 4000  # lines; difflib takes seconds for more that are not alike


def keep_line_ends(old: str, new: str, newline: str) -> str:
    """Return `new`, whose lines end with "\\n", with the line ends of the lines of `old` that it replaces. `newline` is
    for lines before the first of these."""
    pairs = old.count("\r\n")
    if not pairs or pairs == old.count("\n"):
        return new.replace("\n", ("\r\n" if pairs else "\n") if "\n" in old else newline)
    before = old.split("\n")
    after = new.split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in before[:-1]]
    plain = [line.removesuffix("\r") for line in before]
    kept_ends: list[str] = []
    end = newline
    for i1, i2, j1, j2 in _matching(plain, after):
        for step in range(j2 - j1):
            line = min(i1 + step, i2 - 1)
            if line >= i1 and line < len(ends):
                end = ends[line]
            kept_ends.append(end)
    return "".join(line + end for line, end in zip(after[:-1], kept_ends, strict=False)) + after[-1]


def _matching(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Return which lines of the new text stand for which of the old one."""
    if len(old) + len(new) > _MAX_COMPARED:
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        return [(0, start, 0, start), (start, len(old), start, len(new))]
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i1, i2, j1, j2) for _, i1, i2, j1, j2 in codes]
