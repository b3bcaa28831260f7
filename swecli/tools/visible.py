"""Foreign text on one line or many, with every control and invisible letter written out."""

from __future__ import annotations

import re
import unicodedata

# Letters that take no room, or look like a space, yet are not in the categories below.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")


def hidden(letter: str) -> bool:
    """Whether a letter cannot be seen, or passes for a space: controls, bidi marks, zero-width and tag letters."""
    if " " <= letter <= "~":
        return False
    category = unicodedata.category(letter)
    return (
        category in _HIDDEN_CATEGORIES
        or category == "Zs"
        or letter in _BLANK
        or "\ufe00" <= letter <= "\ufe0e"
        or "\U000e0100" <= letter <= "\U000e01ef"
    )


def visible(text: str, keep: str = "\n\t") -> str:
    """`text` with hidden letters as escapes (`\\x1b`, `\\u202e`), but those in `keep`, which stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in keep or not hidden(letter) else _escape(letter) for letter in text)


def one_line(text: str, limit: int = 160) -> str:
    """`text` on one line of at most `limit` letters: line ends become ⏎, hidden letters are written out."""
    flat = visible(" ⏎ ".join(line.strip() for line in text.strip().split("\n")), keep="")
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def readable(output: str) -> str:
    """Terminal output as plain lines: colours taken out, and of a line that was drawn over its last state kept."""
    plain = _ESCAPES.sub("", output).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(next((s for s in reversed(line.split("\r")) if s), "") for line in plain.split("\n"))


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
