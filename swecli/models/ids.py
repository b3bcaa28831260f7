"""Ids that people type: short ids such as P-7, and turn numbers such as T7."""

from __future__ import annotations

import re

from swecli.models.errors import BadInput

NUMBER = r"[0-9]{1,18}"
"""The number of a short id as a pattern: as long as a database can give one."""
_PREFIXED = re.compile(rf"([A-Za-z])-?({NUMBER})")


def parse_short_id(letter: str, text: str) -> str | None:
    """`P-7` out of `p7`, `P-7` or `p-7`; None when the text is not such an id."""
    match = _PREFIXED.fullmatch(text.strip())
    if match is None or match[1].upper() != letter:
        return None
    return f"{letter}-{int(match[2])}"


def parse_turn(text: str) -> int:
    """The number in `T7`, `t7` or `7`. Raises BadInput for anything else."""
    plain = text.strip().isdecimal()
    found = parse_short_id("T", f"T{text.strip()}" if plain else text)
    if found is None or found == "T-0":
        raise BadInput(f"{text!r} is not a turn.", "Turns are written T1, T2, …")
    return int(found.removeprefix("T-"))


def resolve_turn(text: str, last: int) -> int:
    """The turn that is named of a session whose newest is `last`; that one for "". Raises BadInput: no such turn."""
    number = parse_turn(text) if text else last
    if not last:
        raise BadInput("There is no turn yet.", "Ask something first.")
    if not 1 <= number <= last:
        raise BadInput(f"There is no turn T{number} in this session.", f"Its newest is T{last}.")
    return number
