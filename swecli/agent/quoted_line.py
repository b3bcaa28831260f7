"""The line of a failing command's output that a person would quote."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

# a name as compilers and test runners print it, and a line number behind it: `src/a.rs:10:9`, `a.py`
_NAME = re.compile(r"""([^\s'"`()\[\]<>:,;|]+)(:\d+)?""")
_OF_FILES = frozenset("./")  # one of them is in a name that is no word
_INTRODUCES = ":"  # at the end of a line such as `stack backtrace:`, which says nothing itself


def find_quoted_line(printed: str, root: Path) -> str:
    """Return the last line at the left margin that names a file of the workspace, or under which a place in one is
    named (`a.go:8`), as under the name of a test; without one, the last line that is no sum or time; else the last line
    with a letter or digit, "" if there is none."""
    lines = [line for line in printed.splitlines() if any(map(str.isalnum, line))]
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if not line[0].isspace():
            if _has_words(line) and _names_file(line, root):
                return line
        elif _names_file(line, root, with_number=True):
            heading = _heading(lines, number)
            if _has_words(heading) and not heading.endswith(_INTRODUCES):
                return heading
    telling_lines = [line for line in lines if not _is_sum(line)]
    for found_lines in (telling_lines, lines):
        if found_lines:
            return found_lines[-1]
    return ""


def _heading(lines: Sequence[str], number: int) -> str:
    """Return the line at the margin that an indented line belongs to; itself if there is none."""
    for line in reversed(lines[: number + 1]):
        if not line[0].isspace():
            return line
    return lines[number]


def _has_words(line: str) -> bool:
    return len(_words(line)) > 1


def _is_sum(line: str) -> bool:
    """Return whether a line is a number, with a word at most: `# duration_ms 65`, `12`."""
    numbers = [word for word in line.split() if word not in _words(line) and word[-1].isdigit()]
    return numbers != [] and not _has_words(line)


def _words(line: str) -> list[str]:
    return [word for word in line.split() if any(map(str.isalpha, word))]


def _names_file(line: str, root: Path, *, with_number: bool = False) -> bool:
    """Return whether a line names a file of the workspace, or `with_number` a line in one."""
    for name, line_number in _NAME.findall(line):
        if (with_number and not line_number) or not set(name) & _OF_FILES:
            continue
        path = os.path.normpath(root / name)
        if path.startswith(f"{root}/") and os.path.isfile(path):  # noqa: PTH113  takes any text
            return True
    return False
