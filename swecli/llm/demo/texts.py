"""Small pieces of answers: fenced code of a bounded length, plurals, shortened lines."""

from __future__ import annotations

import re


def fenced(text: str, most: int, language: str = "") -> str:
    """Text as a code block of at most `most` lines; a line behind it says how many more there are."""
    lines = text.rstrip("\n").split("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    shown = "\n".join(shortened(line, 240, keep_blanks=True) for line in lines[:most])
    more = f"\n… {plural(len(lines) - most, 'more line')}" if len(lines) > most else ""
    return f"{fence}{language if language != 'text' else ''}\n{shown}\n{fence}{more}"


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`, `3 entries`."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("ch", "sh")) else "s")
    return f"{count} {noun if count == 1 else many}"


def shortened(text: str, limit: int, *, keep_blanks: bool = False) -> str:
    """One line of at most `limit` characters; runs of white space become one blank unless they are kept."""
    line = text if keep_blanks else " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def listed(names: list[str], most: int = 6) -> str:
    """Names in code marks: `a`, `b` and 3 more."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
