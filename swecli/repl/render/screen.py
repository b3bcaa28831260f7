"""Print to the terminal: all text is sanitized and never parsed as rich markup."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.text import Text
from rich.theme import Theme

from swecli.repl.key_map import KeyMap
from swecli.repl.render.excerpt import (
    EXPAND_ALL,
    PRINTED,
    Excerpt,
    Fold,
    end_of,
    lines_of,
)
from swecli.repl.render.prefix import add_prefix, hidden_note
from swecli.repl.render.stream import MarkdownStream
from swecli.repl.render.table import make_table
from swecli.text import sanitize

_MIN_WIDTH = 20
_HEIGHT = 24  # no renderable asks for it, and without one rich looks for it at each print
_COLUMN_GAP = 3
_PORTION = 200  # pieces, mostly lines, that are rendered between two looks at the keys: 15 ms
_PAUSE = 0.03  # seconds; what is printed within them is one write to the terminal
# Only the terminal's own sixteen colors and no backgrounds: readable on dark and on light.
_STYLES: Mapping[str, str] = {
    "quiet": "dim",
    "warn": "yellow",
    "error": "red",
    "ok": "green",
    "failed": "red",
    "denied": "magenta",
    "asking": "yellow",
    "head": "bold",
    "output": "dim",
    "reasoning": "dim italic",
    "added": "green",
    "removed": "red",
    "marked": "reverse",  # the words that differ in a changed line
    "escaped": "bold red reverse",
    "spinner": "cyan",
    "md.h1": "bold underline",
    "md.h2": "bold",
    "md.h3": "bold italic",
    "md.strong": "bold",
    "md.em": "italic",
    "md.s": "strike",
    "md.code": "cyan",
    "md.link": "underline",
    "md.bullet": "cyan",
}


class _Surface(Protocol):
    """A terminal with a live region at its bottom, above which text is printed."""

    @property
    def size(self) -> tuple[int, int]:
        """Return columns and rows."""

    def write(self, text: str) -> object:
        """Print whole lines."""

    def show_live(self, lines: Sequence[str], /) -> None:
        """Replace the lines of the live region; [] removes them."""


class _AsciiBuffer(io.StringIO):
    """Tells rich, which asks for the encoding, to draw in ASCII; what is written may hold any characters."""

    encoding = "ascii"


class Screen:
    """Prints above `surface`. `color` allows escape codes. Changed files are links to paths below `link_root`; None: no
    links. `keys` are named in hints. `plain`: without signs and columns, for a screen reader. `on_fold` is called with
    what `line` has printed in part."""

    def __init__(
        self,
        surface: _Surface,
        color: bool,
        link_root: Path | None = None,
        keys: KeyMap | None = None,
        plain: bool = False,
    ) -> None:
        self._plain = plain
        self.keys = keys or KeyMap()
        self.color = color
        self.link_root = link_root
        self._surface = surface
        self._buffer = _AsciiBuffer() if plain else io.StringIO()
        self._console = Console(
            file=self._buffer,
            theme=Theme(_STYLES),
            force_terminal=color,
            color_system="standard" if color else None,
            height=_HEIGHT,
            no_color=not color,
            force_jupyter=False,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self.print_count = 0  # of writes, by which others see that something was printed
        self.on_fold: Callable[[Fold], None] = lambda fold: None

    @property
    def width(self) -> int:
        """Return the columns to render for."""
        return max(_MIN_WIDTH, self._surface.size[0])

    @property
    def height(self) -> int:
        return self._surface.size[1]

    def line(self, text: str = "", style: str = "", lost_lines: int = 0) -> None:
        """Print wrapped text; `style` is a name of the theme or a rich style. Of a long text, as commands print it,
        only the end is printed, and how much is above: `lost_lines` more than the text has."""
        excerpt = end_of(text, PRINTED)
        if not excerpt.hidden_above:
            self.print(Text(excerpt.text, style=style))
            return
        hint = self.keys.hint("expand", "to expand")
        self.print(_render_end(excerpt, style, hint, lost_lines))
        self.on_fold(
            Fold(
                lambda limit: _render_end(end_of(text, limit), style, EXPAND_ALL, lost_lines),
                lambda: (Text(line, style=style) for line in lines_of(text)),
            )
        )

    def indented(self, text: str) -> None:
        """Print a line whose wrapped rows keep its indentation."""
        content = text.lstrip(" ")
        indentation = text[: len(text) - len(content)]
        if indentation:
            self.print(add_prefix(Text(sanitize(content)), indentation))
        else:
            self.line(text)

    def note(self, text: str) -> None:
        """Print a dim line."""
        self.line(text, "quiet")

    def detail(self, text: str) -> None:
        """Print an indented dim line that explains the one above it."""
        self.print(add_prefix(Text(sanitize(text), style="quiet"), "  "))

    def warn(self, text: str) -> None:
        self.print(add_prefix(Text(sanitize(text), style="warn"), "! ", "warn"))

    def error(self, message: str, hint: str = "") -> None:
        """Print an error and a hint what to do next, on a line of its own unless both fit on one."""
        prefix = "error: " if self._plain else "✗ "
        text = Text().append(sanitize(message).strip(), "error")
        if hint:
            advice = Text(sanitize(hint).strip(), "quiet")
            on_one_line = Text(" · ", "quiet").join([text, advice])
            is_short = len(prefix) + on_one_line.cell_len <= self.width
            text = on_one_line if self._plain or is_short else Text("\n").join([text, advice])
        self.print(add_prefix(text, prefix, "error"))

    def markdown(self, text: str) -> None:
        stream = MarkdownStream(self.color)
        self.print_all([*stream.feed(text, self.width), *stream.finish()])

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows of plain text under headers."""
        cells = [[Text(sanitize(cell)) for cell in row] for row in (headers, *rows)]
        self.print(make_table(cells))

    def columns(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print names and wrapped values in two columns; on a narrow screen, values below their names."""
        name_width = max(len(name) for name, _ in rows) + _COLUMN_GAP
        for name, value in rows:
            if name_width > self.width // 2:
                self.line(name)
                self.print(add_prefix(Text(sanitize(value)), " " * _COLUMN_GAP))
            else:
                self.print(add_prefix(Text(sanitize(value)), name.ljust(name_width)))

    def print(self, renderable: RenderableType) -> None:
        """Print a renderable; a string is sanitized."""
        self.write(self.render(renderable))

    def print_all(self, pieces: Sequence[RenderableType], width: int | None = None) -> None:
        """Print renderables one below the other, in half the time of one `print` each."""
        if pieces:
            self.write(self.render(Group(*pieces), width))

    async def print_in_portions(self, pieces: Iterable[RenderableType]) -> None:
        """Print any number of renderables one below the other; keys are read meanwhile, and cancelling stops it."""
        remaining = iter(pieces)
        while portion := list(islice(remaining, _PORTION)):
            self.print_all(portion)
            await asyncio.sleep(_PAUSE)

    def write(self, text: str) -> None:
        """Write whole lines without sanitizing them."""
        self.print_count += 1
        self._surface.write(text)

    def render(self, renderable: RenderableType, width: int | None = None) -> str:
        """Render to lines of text, each with a newline."""
        if isinstance(renderable, str):
            renderable = Text(sanitize(renderable))
        self._console.width = width or self.width
        self._console.print(renderable)
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        if self.color:
            return text
        return "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])

    def show_live(self, renderable: RenderableType | None, rows: int = 0) -> None:
        """Show the last `rows` lines in the live region; None clears it. A plain screen has none."""
        if self._plain:
            return
        lines: list[str] = []
        if renderable is not None:
            lines = self.render(renderable, self.width - 1).split("\n")[:-1]
        self._surface.show_live(lines[-rows:])


def _render_end(excerpt: Excerpt, style: str, hint: str, lost_lines: int) -> RenderableType:
    """Render the end of a long text. What is above is said there, and below it, where a screen shows it."""
    end = Text(excerpt.text, style=style)
    if not excerpt.hidden_above:
        return end
    excerpt = excerpt._replace(hidden_lines=excerpt.hidden_lines + lost_lines)
    above = excerpt.hidden_above
    return Group(hidden_note(above, ""), end, hidden_note(above, hint))
