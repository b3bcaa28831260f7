"""Render a screen as SVG: a window with a title and monospaced text in the terminal's colours."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from scripts.pictures.screen import Shot, Span, Style

CELL, LINE, SIZE = 8.4, 18, 14  # pixels: width of a cell, height of a row, height of the letters
PAD, BAR = 22, 38  # margin around the text, and height of the title bar
FONTS = "'DejaVu Sans Mono', Menlo, 'SF Mono', Consolas, 'Liberation Mono', monospace"
BACK, FRAME, TITLE = "#15181e", "#323843", "#8b93a1"
BUTTONS = ("#ec6a5e", "#f4bf4f", "#61c554")
COLOURS = {
    "default": "#d5dae3",
    "fore": "#d5dae3",
    "back": BACK,
    "black": "#5b6373",
    "red": "#f2777a",
    "green": "#8fca7f",
    "brown": "#f0c674",
    "blue": "#7cafee",
    "magenta": "#c99af0",
    "cyan": "#6cc7d1",
    "white": "#d5dae3",
    "brightblack": "#7d8696",
    "brightred": "#ff9a9c",
    "brightgreen": "#b0e3a3",
    "brightbrown": "#ffdf9b",
    "brightblue": "#a5caff",
    "brightmagenta": "#dfbdff",
    "brightcyan": "#96e3ec",
    "brightwhite": "#ffffff",
}
DIMMED = 0.6


def draw(shot: Shot, columns: int, title: str) -> str:
    """Return the SVG document. Each span has a fixed position and width, so that columns align in any font."""
    width = round(columns * CELL + 2 * PAD)
    height = round(len(shot.rows) * LINE + BAR + 2 * PAD - 8)
    return "\n".join(
        [*_window(width, height, title), *_cursor(shot), *_text(shot), "</g>", "</svg>", ""]
    )


def _window(width: int, height: int, title: str) -> Iterator[str]:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>'
    yield f"<title>{escape(title)}</title>"
    frame = f'width="{width - 1}" height="{height - 1}" rx="10"'
    yield f'<rect x="0.5" y="0.5" {frame} fill="{BACK}" stroke="{FRAME}"/>'
    for number, colour in enumerate(BUTTONS):
        yield f'<circle cx="{22 + number * 20}" cy="20" r="6" fill="{colour}"/>'
    yield f'<g font-family="{FONTS}" font-size="{SIZE}" fill="{COLOURS["default"]}">'
    yield f'<text x="{width / 2:g}" y="25" text-anchor="middle" font-size="13" fill="{TITLE}">{escape(title)}</text>'


def _text(shot: Shot) -> Iterator[str]:
    for number, row in enumerate(shot.rows):
        base = BAR + PAD + number * LINE
        for span in row:
            if span.style.bg != "default":
                yield _box(span.column, len(span.text), base, _colour(span.style.bg))
            if span.text.strip():
                yield _span(span, base)


def _span(span: Span, base: float) -> str:
    text = span.text.strip(" ")
    column = span.column + len(span.text) - len(span.text.lstrip(" "))
    place = f'x="{PAD + column * CELL:.1f}" y="{base:g}" textLength="{len(text) * CELL:.1f}"'
    shape = f'{place} lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
    return f"<text {shape}{_look(span.style)}>{escape(text)}</text>"


def _look(style: Style) -> str:
    lines = " ".join(
        name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on
    )
    looks = {
        "fill": "" if style.fg == "default" else _colour(style.fg),
        "fill-opacity": f"{DIMMED:g}" if style.dim else "",
        "font-weight": "bold" if style.bold else "",
        "font-style": "italic" if style.italic else "",
        "text-decoration": lines,
    }
    return "".join(f' {name}="{value}"' for name, value in looks.items() if value)


def _colour(name: str) -> str:
    """Return a colour in SVG notation."""
    return COLOURS.get(name.replace("bfight", "bright"), f"#{name}")  # pyte misspells one of them.


def _box(column: int, width: int, base: float, colour: str) -> str:
    place = f'x="{PAD + column * CELL:.1f}" y="{base - SIZE:g}"'
    return f'<rect {place} width="{width * CELL:.1f}" height="{LINE}" fill="{colour}"/>'


def _cursor(shot: Shot) -> Iterator[str]:
    column, row = shot.cursor
    yield _box(column, 1, BAR + PAD + row * LINE, COLOURS["brightblack"])
