"""How things look: named styles, the signs with their plain fallbacks, and whether colour is wanted at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class _Glyphs:
    """The signs that are drawn. Each may be more than one cell wide; whoever draws measures."""

    bullet: str = "●"
    elbow: str = "└"
    more: str = "…"
    check: str = "✓"
    cross: str = "✗"
    pencil: str = "✎"
    thought: str = "✻"
    dot: str = "·"
    item: str = "•"
    quote: str = "▌"
    rule: str = "─"
    gap: str = "┆"
    arrow: str = "→"
    frames: tuple[str, ...] = ("◐", "◓", "◑", "◒")


_ASCII = _Glyphs("*", "|", "...", "+", "x", "*", "~", "-", "-", "|", "-", ":", "->", ("|", "/", "-", "\\"))


@dataclass(frozen=True, slots=True)
class Look:
    """What a drawing has to know of the place it is drawn on."""

    color: bool = True
    unicode: bool = True

    @property
    def glyphs(self) -> _Glyphs:
        """The signs this place can show."""
        return _Glyphs() if self.unicode else _ASCII


def theme(many_colors: bool = False) -> Theme:
    """The styles by name, for rich. With 256 colours "dim" is a middle grey, which every terminal shows alike."""
    grey = {name: style.replace("dim", "color(244)") for name, style in _STYLES.items()}
    return Theme(grey if many_colors else dict(_STYLES))


def has_many_colors(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says that it knows 256 colours."""
    return "256" in environ.get("TERM", "") or environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")


def can_show_signs(encoding: str | None) -> bool:
    """Whether every sign of ours can be written in this encoding."""
    glyphs = _Glyphs()
    try:
        "".join("".join(getattr(glyphs, name)) for name in glyphs.__slots__).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
