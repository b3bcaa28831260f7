"""Ids: session ids sort by time (UUIDv7), short ids are for people."""

from __future__ import annotations

import re
import secrets
import time

from swecli.models.errors import BadInput

NUMBER = r"[0-9]{1,18}"
"""The number of a short id as a pattern: as long as a database can give one."""
_PREFIXED = re.compile(rf"([A-Za-z])-?({NUMBER})")


def uuid7(now_ms: int | None = None, random_bits: int | None = None) -> str:
    """A UUID version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits."""
    ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    rand = secrets.randbits(74) if random_bits is None else random_bits
    value = (ms & (1 << 48) - 1) << 80 | 0x7 << 76 | (rand >> 62 & 0xFFF) << 64 | 0b10 << 62 | rand & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def short_id(letter: str, text: str) -> str | None:
    """`P-7` out of `p7`, `P-7` or `p-7`; None when the text is not such an id."""
    match = _PREFIXED.fullmatch(text.strip())
    if match is None or match[1].upper() != letter:
        return None
    return f"{letter}-{int(match[2])}"


def turn_number(text: str) -> int:
    """The number in `T7`, `t7` or `7`. Raises BadInput for anything else."""
    plain = text.strip().isdecimal()
    found = short_id("T", f"T{text.strip()}" if plain else text)
    if found is None or found == "T-0":
        raise BadInput(f"{text!r} is not a turn.", "Turns are written T1, T2, …")
    return int(found.removeprefix("T-"))


def turn_within(text: str, last: int) -> int:
    """The turn that is named of a session whose newest is `last`; that one for "". Raises BadInput: no such turn."""
    number = turn_number(text) if text else last
    if not last:
        raise BadInput("There is no turn yet.", "Ask something first.")
    if not 1 <= number <= last:
        raise BadInput(f"There is no turn T{number} in this session.", f"Its newest is T{last}.")
    return number
