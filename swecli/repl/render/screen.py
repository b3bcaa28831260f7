"""The one way onto the terminal: foreign text is cleaned, enters as plain `Text`, and is never read as markup."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from markdown_it.token import Token
from rich.console import Console, Group, RenderableType
from rich.text import Text
from rich.theme import Theme

from swecli.repl.render.formatting import sanitize
from swecli.repl.render.markdown import draw, draw_all, draw_markdown, grid, groups, make_parser, prefixed

_NARROWEST = 20
_GAP = 3  # columns between a name and its value
# The sixteen colours of the terminal's own palette and no backgrounds: readable on dark and on light.
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
    "md.bullet": "cyan",
}


class _Surface(Protocol):
    """The bottom of a terminal, above which is printed. What is written in a moment goes out at once."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows, now."""

    def write(self, text: str) -> object:
        """Print whole lines."""

    def show_live(self, lines: Sequence[str]) -> None:
        """Show lines for as long as they are true; [] takes them away."""


class Screen:
    """Prints above `surface`, into the normal buffer; `color` allows escape codes. Paths of files that were changed
    become links, relative to `linked`, unless that is None."""

    def __init__(self, surface: _Surface, color: bool, link_root: Path | None = None) -> None:
        self.color, self.link_root = color, link_root
        self._surface, self._paper = surface, io.StringIO()
        self._console = Console(
            file=self._paper,
            theme=Theme(_STYLES),
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            force_jupyter=False,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self.printed = 0  # how often something was printed

    @property
    def width(self) -> int:
        """Columns, now."""
        return max(_NARROWEST, self._surface.size[0])

    @property
    def height(self) -> int:
        """Rows, now."""
        return self._surface.size[1]

    def line(self, text: str = "", style: str = "") -> None:
        """Foreign or own text, wrapped; `style` is one of the theme's names or a rich style."""
        self.print(Text(sanitize(text), style=style))

    def note(self, text: str) -> None:
        """A quiet line."""
        self.line(text, "quiet")

    def detail(self, text: str) -> None:
        """A quiet line that explains the one above it, indented."""
        self.print(prefixed(Text(sanitize(text), style="quiet"), "  "))

    def warn(self, text: str) -> None:
        """A line that asks for attention."""
        self.print(prefixed(Text(sanitize(text), style="warn"), "! ", "warn"))

    def error(self, message: str, hint: str = "") -> None:
        """What went wrong, and what to do next."""
        text = Text().append(sanitize(message).strip(), "error")
        if hint:
            text.append(f" · {sanitize(hint).strip()}", "quiet")
        self.print(prefixed(text, "✗ ", "error"))

    def markdown(self, text: str) -> None:
        """A whole Markdown text."""
        self.print(draw_markdown(text, self.color))

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of plain text under headers."""
        self.print(grid([[Text(sanitize(str(cell))) for cell in row] for row in (headers, *rows)]))

    def columns(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names with their values, long ones folded under themselves; on a narrow screen, under their name."""
        left = max(len(name) for name, _ in pairs) + _GAP
        for name, value in pairs:
            if left > self.width // 2:
                self.line(name)
                self.print(prefixed(Text(sanitize(value)), " " * _GAP))
            else:
                self.print(prefixed(Text(sanitize(value)), name.ljust(left)))

    def print(self, renderable: RenderableType) -> None:
        """Anything; a bare string is foreign text."""
        self.printed += 1
        self.write(self.drawn(renderable))

    def write(self, text: str) -> None:
        """Whole lines as they are: of our own making, or harmless."""
        self._surface.write(text)

    def drawn(self, renderable: RenderableType, width: int | None = None) -> str:
        """The lines a renderable becomes, each with its newline."""
        if isinstance(renderable, str):
            renderable = Text(sanitize(renderable))
        self._console.width = width or self.width
        self._console.print(renderable)
        text = self._paper.getvalue()
        self._paper.seek(0)
        self._paper.truncate()
        return text if self.color else "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])

    def show_live(self, renderable: RenderableType | None, rows: int = 0) -> None:
        """Show the last `rows` lines of this at the bottom for as long as it is true; None takes it away."""
        lines = [] if renderable is None else self.drawn(renderable, self.width - 1).split("\n")[:-1]
        self._surface.show_live(lines[-rows:])


_DRAWN = 4_096  # characters of a tail that are worth parsing just to show it
_SMALL = 2_048  # a tail below this is parsed at every new line, a longer one only when it has grown by a quarter
_GROWTH = 1.25
_OPEN = ("bullet_list_open", "ordered_list_open", "code_block")  # an empty line does not end these
_FENCES = ("```", "~~~")


class MarkdownStream:
    """Feed it pieces of any size; `finish` prints what is left. The work is linear in the length of the text."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self._parser = screen, make_parser()
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        self._rest = ""  # not printed yet, from the beginning of a line
        self._tried = 0  # length of the rest when it was last parsed
        self._first = True

    def feed(self, text: str) -> None:
        """Take a piece; print what it finishes."""
        text = sanitize(self._newlines.decode(text))
        self._rest += text
        if "\n" in text and (len(self._rest) <= _SMALL or len(self._rest) >= _GROWTH * self._tried or self._fenced()):
            self._print_blocks()

    def finish(self) -> None:
        """The text has ended: print the rest."""
        self._rest += sanitize(self._newlines.decode("", final=True))
        if self._rest.strip():
            self._print(draw_all(self._parser.parse(self._rest), self._screen.color))
        self._rest = ""

    def tail(self, rows: int) -> RenderableType | None:
        """The unfinished end, as a drawing of about `rows` lines at most; None where there is nothing to show."""
        if not self._rest.strip():
            return None
        drawing: RenderableType = Text("\n".join(self._rest[-rows * self._screen.width :].split("\n")[-rows:]))
        if len(self._rest) <= _DRAWN:
            drawing = draw_all(self._parser.parse(self._rest), self._screen.color)
        return drawing if self._first else Group(Text(""), drawing)

    def _fenced(self) -> bool:
        """Whether the last whole line begins or ends a block of code, which is shown as soon as it is whole."""
        last = self._rest.rpartition("\n")[0]
        return last[last.rfind("\n") + 1 :].lstrip().startswith(_FENCES)

    def _print_blocks(self) -> None:
        *lines, unfinished = self._rest.split("\n")
        blocks = list(groups(self._parser.parse("".join(f"{line}\n" for line in lines))))
        start = 0
        for block in blocks:
            first, (_, end) = block[0], block[0].map or (0, 0)
            if block is blocks[-1] and not _ended(first, lines[end : end + 1]):
                break
            if first.type != "fence" or first.content:
                self._print(draw(block, self._screen.color))
            start = end
        self._rest = "\n".join([*lines[start:], unfinished])
        self._tried = len(self._rest)

    def _print(self, drawing: RenderableType) -> None:
        if not self._first:
            self._screen.line()
        self._screen.print(drawing)
        self._first = False


def _ended(first: Token, following: list[str]) -> bool:
    """Whether nothing that may follow can change a block; `following` is the complete line behind it, if any."""
    if first.type == "fence":
        begin, end = first.map or (0, 0)
        return end - begin == first.content.count("\n") + 2
    return first.type in ("heading_open", "hr") or (
        first.type not in _OPEN and following != [] and not following[0].strip()
    )
