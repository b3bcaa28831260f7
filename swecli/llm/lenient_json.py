"""JSON out of what a model wrote: in prose, in a code block, with the usual mistakes, or cut off in the middle.

A strict decoder reads what is valid. What is not is measured by one scan (where it ends, how deep it is, whether its
end is missing) and handed to json-repair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_VALUES = 200  # values looked for in one text
MOST_TRIES = 2_000
DEEPEST = 60
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_OPENS = re.compile(r"[\[{]")
_MARKS = re.compile(r"//[^\n]*|/\*.*?\*/|[\[\]{},]|[\"'`]", re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Found:
    """A value found in a text, from `start` to `end`. `repaired`: it was no valid JSON; `cut`: its end is missing."""

    value: Any
    repaired: bool = False
    cut: bool = False
    start: int = 0
    end: int = 0


def values_in(text: str) -> list[Found]:
    """Every object and array that stands in a text, in order; what lies inside another is not found twice. Total."""
    found: list[Found] = []
    at = 0
    for _ in range(MOST_TRIES):
        opens = _OPENS.search(text, at)
        if opens is None or len(found) >= MOST_VALUES:
            break
        value = _strict(text, opens.start()) or _repaired(text, opens.start())
        if value is not None:
            found.append(value)
        at = value.end if value is not None else opens.end()
    return found


def _strict(text: str, at: int) -> Found | None:
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return Found(value, start=at, end=end)


def _repaired(text: str, at: int) -> Found | None:
    """The value that begins there, mended; an unfinished one as far as its last whole part."""
    # late: 0.1 s, and most answers need no repair
    import json_repair  # noqa: PLC0415

    steps = list(_scan(text, at))
    end, whole, open_ones = steps[-1]
    if len(open_ones) > DEEPEST:
        return None
    source = text[at:end] if not open_ones else text[at:whole] + "".join(_CLOSES[mark] for mark in reversed(open_ones))
    try:
        value = json_repair.loads(source, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, (dict, list)):
        return None
    return Found(value, True, bool(open_ones), at, max(end, at + 1))


def _scan(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """After each mark: how far it is, where the last whole part ended, and the brackets that are open there."""
    open_ones = whole_open = ""
    whole = at
    while match := _MARKS.search(text, at):
        fence = _FENCE.search(text, at, match.end() + 2)
        if fence is not None and fence.start() <= match.start():
            yield fence.end(), whole, whole_open  # the block around it ends first
            return
        mark, at = match[0], match.end()
        if mark in _CLOSES:
            open_ones += mark
        elif mark in "]}" and open_ones:
            open_ones = open_ones[:-1]
        elif mark in "\"'":
            at = _string_end(text, at, mark)
            if at > len(text):
                break
            continue
        elif mark != ",":
            continue
        whole, whole_open = (match.start() if mark == "," else at), open_ones
        if len(open_ones) > DEEPEST:
            break
        yield at, whole, whole_open
        if not open_ones:
            return
    yield len(text), whole, whole_open


def _string_end(text: str, at: int, quote: str) -> int:
    """Behind the text that began there; past the end where it does not end.

    A quote ends it only where something may follow a text, since models forget to escape those inside. A code
    block's end ends all, unless the block began within the text.
    """
    opened = False
    while at < len(text):
        letter = text[at]
        if letter == "\n" and (fence := _FENCE.match(text, at + 1)):
            if not opened and not text[fence.end() : fence.end() + 1].isalpha():
                return at
            opened = not opened
        at += 1
        if letter == "\\":
            at += 1
        elif letter == quote:
            rest = text[at : at + 200].lstrip()
            if not rest or rest[0] in ",:}]=/#":
                return at
    return len(text) + 1
