"""Convert the bytes that a program wrote to a terminal into a screen with colours: rows of spans."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, takewhile

import pyte
from pyte.screens import Char

DIM, BRIGHT_COLOURS, RGB, PALETTE = 2, (38, 48), 2, 5


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a cell. Colours are pyte's names, six hexadecimal digits, or `default`, `fore` and `back`."""

    fg: str = "default"
    bg: str = "default"
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Adjacent cells of one style, from `column` on; `text` has one character per cell."""

    column: int
    text: str
    style: Style


@dataclass(frozen=True, slots=True)
class Shot:
    """The contents of a screen at a moment: rows of spans, and the cursor's (column, row)."""

    rows: list[list[Span]]
    cursor: tuple[int, int]

    def texts(self) -> list[str]:
        """Return the rows as plain text, without trailing spaces."""
        return ["".join(span.text for span in row).rstrip() for row in self.rows]


class _Screen(pyte.Screen):
    """A pyte screen with dim cells, which pyte does not support: they are stored as blinking ones, which nothing
    else uses."""

    def select_graphic_rendition(self, *attrs: int) -> None:
        super().select_graphic_rendition(*_dim_as_blink(attrs))


def _dim_as_blink(attrs: tuple[int, ...]) -> list[int]:
    codes: list[int] = []
    rest = iter(attrs)
    for code in rest:
        if code in BRIGHT_COLOURS:  # The numbers of a colour have no other meaning.
            kind = next(rest, 0)
            codes += [
                code,
                kind,
                *(next(rest, 0) for _ in range(3 if kind == RGB else 1 if kind == PALETTE else 0)),
            ]
        elif code == DIM:
            codes.append(5)
        else:
            codes += [22, 25] if code == 22 else [code]
    return codes


def replay(raw: bytes, columns: int, rows: int) -> Shot:
    """Return the screen of a terminal of that size after those bytes, without the unused rows at its end."""
    screen = _Screen(columns, rows)
    pyte.ByteStream(screen).feed(raw)
    used = max(
        (y for y in range(rows) if any(char.data.strip() for char in screen.buffer[y].values())),
        default=-1,
    )
    cells = [[screen.buffer[y][x] for x in range(columns)] for y in range(used + 1)]
    return Shot([_spans(row) for row in cells], (screen.cursor.x, screen.cursor.y))


def _spans(row: list[Char]) -> list[Span]:
    spans = []
    for style, cells in groupby(enumerate(row), key=lambda cell: _style(cell[1])):
        placed = list(cells)
        spans.append(Span(placed[0][0], "".join(char.data or " " for _, char in placed), style))
    return spans


def _style(char: Char) -> Style:
    fg, bg = char.fg, char.bg
    if char.reverse:
        fg, bg = ("back" if bg == "default" else bg), ("fore" if fg == "default" else fg)
    return Style(fg, bg, char.bold, char.blink, char.italics, char.underscore, char.strikethrough)


def unfolded(earlier: Shot, later: Shot) -> Shot:
    """Merge both shots: where they differ, the earlier rows are placed above those that replaced them, so that an
    answered dialog stays in the picture."""
    before, after = earlier.texts(), later.texts()
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    extra = len(earlier.rows) - same
    return Shot(
        later.rows[:same] + earlier.rows[same:] + later.rows[same:],
        (later.cursor[0], later.cursor[1] + extra),
    )


def squeezed(shot: Shot) -> Shot:
    """Collapse consecutive empty rows into one; a high screen has many above its last line."""
    texts = shot.texts()
    kept = [
        n for n, text in enumerate(texts) if text or n == shot.cursor[1] or (n and texts[n - 1])
    ]
    return Shot([shot.rows[n] for n in kept], (shot.cursor[0], kept.index(shot.cursor[1])))
