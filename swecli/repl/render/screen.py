"""The one way onto the terminal: foreign text is cleaned, enters as plain `Text`, and is never read as markup."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from swecli.repl.render.formatting import wants_color
from swecli.repl.render.layout import prefixed
from swecli.repl.render.markdown import draw_markdown, grid
from swecli.repl.render.sanitise import clean
from swecli.repl.render.theme import has_many_colors, theme

_NARROWEST = 20
_GAP = 3  # columns between a name and its value
# What we write beyond ASCII, each as one column, for places that cannot show it.
_PLAIN = str.maketrans("−–—…·•→⏎‘’“”─│█●└✓✗✎✻▌┆◐◓◑◒", "---.-->/''\"\"-|#*|+x*~|:|/-\\")


class _Surface(Protocol):
    """The bottom of a terminal, above which is printed."""

    def write(self, text: str) -> None:
        """Print whole lines."""

    def live(self, lines: Sequence[str]) -> None:
        """Show lines for as long as they are true; [] takes them away."""


class Screen:
    """Prints into the normal buffer: above `surface` where there is one, else into `file`.

    `color` allows escape codes, `many_colors` 256 of them instead of 16; `width` fixes the columns, else the
    terminal is asked each time; `file` defaults to whatever `sys.stdout` is when something is written; `size`
    replaces asking the terminal.
    """

    def __init__(
        self,
        color: bool,
        width: int | None = None,
        file: TextIO | None = None,
        many_colors: bool = False,
        size: Callable[[], os.terminal_size] | None = None,
        surface: _Surface | None = None,
    ) -> None:
        self._file, self._width = file, width
        self._size = size or self._ask_size
        self.color = color
        self._paper = io.StringIO()
        self._console = Console(
            file=self._paper,
            width=width or 80,
            theme=theme(many_colors),
            force_terminal=color,
            color_system=None if not color else "256" if many_colors else "standard",
            no_color=not color,
            force_jupyter=False,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self._surface = surface
        self._held: list[str] | None = None
        self.printed = 0  # how often something was printed

    @classmethod
    def above(cls, surface: _Surface, environ: Mapping[str, str], color: bool = True) -> Screen:
        """The screen above a surface that fits the environment, the setting and what stdout is."""
        colored = wants_color(environ, sys.stdout.isatty(), color)
        return cls(colored, many_colors=has_many_colors(environ), surface=surface)

    @property
    def file(self) -> TextIO:
        """Where it all goes."""
        return self._file or sys.stdout

    @property
    def moves(self) -> bool:
        """Whether something can be shown for a while and taken away again."""
        return self._surface is not None

    @property
    def width(self) -> int:
        """Columns, now."""
        return self._width or max(_NARROWEST, self._size().columns)

    @property
    def height(self) -> int:
        """Rows, now."""
        return self._size().lines

    def _ask_size(self) -> os.terminal_size:
        try:
            size = os.get_terminal_size(self.file.fileno())
        except (OSError, ValueError):  # not a terminal, or a file without a descriptor
            size = shutil.get_terminal_size()
        return size if size.columns > 0 and size.lines > 0 else os.terminal_size((80, 24))

    # What callers say

    def line(self, text: str = "", style: str = "") -> None:
        """Foreign or own text, wrapped; `style` is one of the theme's names or a rich style."""
        self.print(Text(clean(text), style=style))

    def note(self, text: str) -> None:
        """A quiet line."""
        self.line(text, "quiet")

    def detail(self, text: str) -> None:
        """A quiet line that explains the one above it, indented."""
        self.print(prefixed(Text(clean(text), style="quiet"), "  "))

    def warn(self, text: str) -> None:
        """A line that asks for attention."""
        self.print(prefixed(Text(clean(text), style="warn"), "! ", "warn"))

    def error(self, message: str, hint: str = "") -> None:
        """What went wrong, and what to do next."""
        text = Text().append(clean(message).strip(), "error")
        if hint:
            text.append(f" · {clean(hint).strip()}", "hint")
        self.print(prefixed(text, "✗ ", "error"))

    def markdown(self, text: str) -> None:
        """A whole Markdown text."""
        self.print(draw_markdown(text, self.color))

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of plain text under headers."""
        cells = [[Text(clean(str(cell))) for cell in row] for row in rows]
        self.print(grid([Text(clean(header)) for header in headers], cells))

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names with their values, long ones folded under themselves; on a narrow screen, under their name."""
        left = max(len(name) for name, _ in pairs) + _GAP
        for name, value in pairs:
            if left > self.width // 2:
                self.line(name)
                self.print(prefixed(Text(clean(value)), " " * _GAP))
            else:
                self.print(prefixed(Text(clean(value)), name.ljust(left)))

    def print(self, renderable: RenderableType) -> None:
        """Anything; a bare string is foreign text."""
        self.printed += 1
        self._write(self.drawn(renderable))

    # What the other drawing modules use

    def drawn(self, renderable: RenderableType, width: int | None = None) -> str:
        """The lines a renderable becomes, each with its newline."""
        if isinstance(renderable, str):
            renderable = Text(clean(renderable))
        self._console.width = width or self.width
        self._console.print(renderable)
        text = self._paper.getvalue()
        self._paper.seek(0)
        self._paper.truncate()
        return text if self.color else "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])

    def show_live(self, renderable: RenderableType | None, rows: int = 0) -> None:
        """Show the last `rows` lines of this at the bottom for as long as it is true; None takes it away."""
        if self._surface is not None:
            lines = [] if renderable is None else self.drawn(renderable, self.width - 1).split("\n")[:-1]
            self._surface.live([self._encodable(line) for line in lines[-rows:]])

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything printed inside goes out in one write, so that nothing flickers."""
        if self._held is not None:
            yield
            return
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            self._write("".join(held))

    def _write(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
        elif text and self._surface is not None:
            self._surface.write(self._encodable(text))
        elif text:
            self.file.write(self._encodable(text))
            self.file.flush()

    def _encodable(self, text: str) -> str:
        encoding = getattr(self.file, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
        return text
