"""Counts, and shares, as text for people."""

from __future__ import annotations

from swecli.models.errors import UsageError


def format_tokens(count: int) -> str:
    """Format a token count in at most five characters: 940, 1.2k, 48k, 1.3M."""
    if count < 1000:
        return str(count)
    if count >= 999_500:
        return f"{count / 1_000_000:.1f}M"
    digits = 1 if count < 9950 else 0
    return f"{count / 1000:.{digits}f}k"


def parse_count(text: str, default: int) -> int:
    """Parse a count from 1, with at most nine digits; "" is the default. Raises UsageError."""
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise UsageError(f"{text!r} is not a whole number above 0.", "For example: 7")
    return int(text)


def percent(part: int, whole: int | None) -> int | None:
    """Return `part` as a percentage of `whole`, rounded up; None if `whole` is 0 or unknown."""
    return -(-100 * part // whole) if whole else None


def pluralize(count: int, noun: str) -> str:
    """Format a count with its noun: `1 turn`, `2,000 turns`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
