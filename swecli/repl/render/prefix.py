"""Put a mark before the first line of a renderable, and spaces or another mark before the others."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

_MIN_WIDTH = 12  # columns below which content is not indented


@dataclass(frozen=True, slots=True)
class _PrefixedBlock:
    """`content` with `first` before its first line and `rest`, or spaces, before the others; both have `end=""`."""

    content: RenderableType
    first: Text
    rest: Text | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rest = self.rest or Text(" " * self.first.cell_len, end="")
        width = options.max_width - max(self.first.cell_len, rest.cell_len)
        if width < _MIN_WIDTH:
            yield self.content
            return
        inner = options.update(width=width, height=None)
        for index, line in enumerate(console.render_lines(self.content, inner, pad=False)):
            yield from (rest if index else self.first).render(console)
            yield from line
            yield Segment.line()


def add_prefix(
    content: RenderableType, first: str | Text, style: str = "", rest: str = ""
) -> RenderableType:
    """Return `content` with the prefix `first`; the other lines get `rest`, by default spaces."""
    begin = first if isinstance(first, Text) else Text(first, style, end="")
    return _PrefixedBlock(content, begin, Text(rest, style, end="") if rest else None)
