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
