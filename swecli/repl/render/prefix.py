"""Put a mark before the first line of a renderable, and spaces or another mark before the others.

For a console that shows only ASCII, as it is rendered for a screen reader, marks are words, or left out where the line
says by itself what it is: a reader would say "black circle".
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from swecli.values import dataclass

_MIN_WIDTH = 12  # columns below which content is not indented
_SPOKEN_SIGNS = {"•": "- ", "▌": "quote: "}


@dataclass(frozen=True, slots=True)
class _PrefixedBlock:
    """`content` with `first` before its first line and `rest`, or spaces, before the others; both have `end=""`."""

    content: RenderableType
    first: Text
    rest: Text | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first = self.first
        rest = self.rest
        if options.ascii_only:
            first = _speak(first)
            rest = None
        rest = rest or Text(" " * first.cell_len, end="")
        width = options.max_width - max(first.cell_len, rest.cell_len)
        if width < _MIN_WIDTH:
            yield self.content
            return
        inner = options.update(width=width, height=None)
        for index, line in enumerate(console.render_lines(self.content, inner, pad=False)):
            yield from _render(rest if index else first, console)
            yield from line
            yield Segment.line()


def _render(prefix: Text, console: Console) -> Iterable[Segment]:
    """Render a prefix in its own style too, which `Text.render` leaves out where no part has another."""
    return Segment.apply_style(prefix.render(console), console.get_style(prefix.style))


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of signs, and what it is where only ASCII is shown."""

    text: Text
    spoken_text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.spoken_text) if options.ascii_only else self.text


def hidden_note(hidden_text: str, hint: str) -> Text:
    """Return a line such as `… 12 more lines (Ctrl+O to expand)`; with "" as the hint, only what is hidden."""
    text = f"… {hidden_text} ({hint})" if hint else f"… {hidden_text}"
    return Text(text, style="quiet")


def _speak(prefix: Text) -> Text:
    """Return the prefix in ASCII: its word, or its indentation."""
    plain = prefix.plain
    if plain.isascii():
        return prefix
    indentation = plain[: len(plain) - len(plain.lstrip())]
    return Text(f"{indentation}{_SPOKEN_SIGNS.get(plain.strip(), '')}", end="")


def add_prefix(
    content: RenderableType, first: str | Text, style: str = "", *, rest: str = ""
) -> RenderableType:
    """Return `content` with the prefix `first` in `style`; the other lines get `rest`, by default spaces."""
    if isinstance(first, str):
        first = Text(first, style, end="")
    return _PrefixedBlock(content, first, Text(rest, style, end="") if rest else None)
