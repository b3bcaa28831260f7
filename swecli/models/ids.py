"""Ids that people type: short ids such as P-7, and turn numbers such as T7."""

from __future__ import annotations

import re

from swecli.models.errors import BadInput

NUMBER = r"[0-9]{1,18}"  # the number of a short id, as long as a database can assign
_PREFIXED = re.compile(rf"([A-Za-z])-?({NUMBER})")


def parse_short_id(letter: str, text: str) -> str | None:
    """Normalize `p7` or `p-7` to `P-7`; return None if the text is not an id with this letter."""
    match = _PREFIXED.fullmatch(text.strip())
    if match is None or match[1].upper() != letter:
        return None
    return f"{letter}-{int(match[2])}"


def parse_turn(text: str) -> int:
    """Parse the number of a turn: `T7`, `t7` or `7`. Raises BadInput."""
    plain = text.strip().isdecimal()
    found = parse_short_id("T", f"T{text.strip()}" if plain else text)
    if found is None or found == "T-0":
        raise BadInput(f"{text!r} is not a turn.", "Turns are written T1, T2, …")
    return int(found.removeprefix("T-"))


def resolve_turn(text: str, last: int) -> int:
    """Parse a turn of a session with `last` turns; "" is the last one. Raises BadInput if it does not exist."""
    number = parse_turn(text) if text else last
    if not last:
        raise BadInput("There is no turn yet.", "Ask something first.")
    if not 1 <= number <= last:
        raise BadInput(f"There is no turn T{number} in this session.", f"Its newest is T{last}.")
    return number
