"""Functions for scripts that print the tables of a page."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def row(*cells: object) -> str:
    """Print a line of a table immediately and return it."""
    line = f"| {' | '.join(map(str, cells))} |"
    print(line, flush=True)
    return line


def write(page: Path, lines: list[str]) -> None:
    """Replace the table in a page that has the same first cell."""
    text = page.read_text(encoding="utf-8")
    start = text.index(lines[0][: lines[0].index("|", 2)])
    page.write_text(
        text[:start] + "\n".join(lines) + text[text.index("\n\n", start) :], encoding="utf-8"
    )
