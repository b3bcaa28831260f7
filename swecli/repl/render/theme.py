"""How things look: named styles, and how many colours there are."""

from __future__ import annotations

from collections.abc import Mapping

from rich.theme import Theme

# The sixteen colours of the terminal's own palette and no backgrounds: readable on dark and on light.
_STYLES: Mapping[str, str] = {
    "quiet": "dim",
    "warn": "yellow",
    "error": "red",
    "hint": "dim",
    "ok": "green",
    "failed": "red",
    "denied": "magenta",
    "running": "yellow",
    "asking": "yellow",
    "head": "bold",
    "output": "dim",
    "reasoning": "dim italic",
    "learned": "dim",
    "added": "green",
    "removed": "red",
    "number": "dim",
    "revealed": "bold red reverse",
    "spinner": "cyan",
    "md.h1": "bold underline",
    "md.h2": "bold",
    "md.h3": "bold italic",
    "md.strong": "bold",
    "md.em": "italic",
    "md.s": "strike",
    "md.code": "cyan",
    "md.link": "underline",
    "md.url": "dim",
    "md.bullet": "cyan",
    "md.quote": "dim",
    "md.rule": "dim",
    "md.table": "dim",
    "code.comment": "dim italic",
    "code.keyword": "magenta",
    "code.string": "green",
    "code.number": "cyan",
    "code.name": "bold",
    "code.builtin": "cyan",
    "code.added": "green",
    "code.removed": "red",
    "code.heading": "bold",
}


def theme(many_colors: bool = False) -> Theme:
    """The styles by name, for rich. With 256 colours "dim" is a middle grey, which every terminal shows alike."""
    grey = {name: style.replace("dim", "color(244)") for name, style in _STYLES.items()}
    return Theme(grey if many_colors else dict(_STYLES))


def has_many_colors(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says that it knows 256 colours."""
    return "256" in environ.get("TERM", "") or environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
