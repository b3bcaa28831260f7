"""Ids: those that people type, such as P-7 for a strategy and T7 for a turn, and those that a program makes."""

from __future__ import annotations

import re
import secrets
import time

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
    is_number = text.strip().isdecimal()
    turn_id = parse_short_id("T", f"T{text.strip()}" if is_number else text)
    if turn_id is None or turn_id == "T-0":
        raise BadInput(f"{text!r} is not a turn.", "Turns are written T1, T2, …")
    return int(turn_id.removeprefix("T-"))


def uuid7(now_ms: int | None = None, random_bits: int | None = None) -> str:
    """Return a UUID version 7 (RFC 9562, section 5.7), which sorts by time: 48 bits of Unix milliseconds, random
    bits."""
    milliseconds = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    random_part = secrets.randbits(74) if random_bits is None else random_bits
    value = (
        (milliseconds & (1 << 48) - 1) << 80
        | 0x7 << 76
        | (random_part >> 62 & 0xFFF) << 64
        | 0b10 << 62
        | random_part & (1 << 62) - 1
    )
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
