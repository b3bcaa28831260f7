"""A unified diff taken apart: which files, which lines of the new side, and what cannot be reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(?P<start>\d+)(?:,(?P<count>\d+))? @@")
_HEADER = re.compile(r'diff --git "?a/(?P<old>.*?)"? "?b/(?P<new>.*?)"?$')


@dataclass(slots=True)
class FileDiff:
    """One file of a diff. `lines` are those of the new side that stand in a hunk (added or context), from 1;
    `added` the changed ones among them."""

    path: str
    text: str = ""
    lines: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    binary: bool = False
    deleted: bool = False


def parse_diff(text: str) -> list[FileDiff]:
    """The files of `git diff` output, in order."""
    return [_file(part) for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE) if part.strip()]


def _file(part: str) -> FileDiff:
    head = part.split("\n@@", 1)[0].split("\n")
    match = _HEADER.match(head[0])
    named = next((line[6:] for line in head if line.startswith("+++ b/")), "")
    file = FileDiff(named.rstrip("\t") or (match["new"] if match else head[0]), part)
    file.deleted = any(line.startswith("deleted file mode") for line in head)
    file.binary = any(line.startswith(("Binary files", "GIT binary patch")) for line in head)
    read_hunks(part, file)
    return file


def read_hunks(patch: str, file: FileDiff) -> None:
    """Note the new side's lines of a patch (the shape GitHub gives for one file, too)."""
    for number, sign in _numbered(patch):
        file.lines.add(number)
        if sign == "+":
            file.added.add(number)


def _numbered(patch: str) -> Iterator[tuple[int, str]]:
    number = left = 0
    for line in patch.split("\n"):
        if match := _HUNK.match(line):
            number, left = int(match["start"]), int(match["count"] or 1)
        elif left and line[:1] in (" ", "+", ""):
            yield number, line[:1]
            number, left = number + 1, left - 1
