"""What a linter or type checker prints, compared with what it printed before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_NUMBER = re.compile(r"\d+")


def count_lines(lines: Iterable[str]) -> Counter[str]:
    """Count lines without their numbers: an edit above a problem moves it to another line."""
    return Counter(map(_plain, lines))


def new_lines(lines: Iterable[str], earlier: Counter[str]) -> list[str]:
    """Return the lines that occur more often than `earlier`."""
    unmatched = earlier.copy()
    new: list[str] = []
    for line in lines:
        key = _plain(line)
        if unmatched[key]:
            unmatched[key] -= 1
        else:
            new.append(line)
    return new


def _plain(line: str) -> str:
    return _NUMBER.sub("#", line.strip())
