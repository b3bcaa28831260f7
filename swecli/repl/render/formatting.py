"""Format durations and paths for people, and write out characters that nobody can see."""

from __future__ import annotations

import re

from swecli.text import unclear_character


def format_duration(milliseconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 05 s`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


ESCAPED = re.compile(r"<U\+[0-9A-F]{4,6}>")  # a character as `escape_invisible` writes it


def escape_invisible(text: str) -> str:
    """Escape every control, invisible or unusual space character, except tabs and newlines, as `<U+202E>`."""
    lines = text.replace("\r\n", "\n")
    return unclear_character().sub(lambda match: f"<U+{ord(match[0]):04X}>", lines)
