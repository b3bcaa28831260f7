"""Error lines. Standard library only: errors at start need it too."""

from __future__ import annotations

from swecli.text import one_line

LONGEST_LINE = 2000  # of an error, in characters


def complaint(message: str, hint: str) -> str:
    """Format an error as one line: what is wrong and what to do."""
    return f"swecli: {one_line(message, LONGEST_LINE)}  {one_line(hint, LONGEST_LINE)}".rstrip()
