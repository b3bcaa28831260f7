"""Putting a sign or an indent before a drawing, wrapped lines included."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

_NARROW = 12  # below this many columns an indent would cost more than it shows


@dataclass(frozen=True, slots=True)
class Prefixed:
    """`content` with `first` before its first line and `rest` before the others; all of it within the width.

    Both end without a newline and carry their styles in spans.
    """

    content: RenderableType
    first: Text
    rest: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = max(self.first.cell_len, self.rest.cell_len)
        room = options.max_width - indent
        if room < _NARROW:
            yield self.content
            return
        inner = options.update(width=room, height=None)
        for index, line in enumerate(console.render_lines(self.content, inner, pad=False)):
            yield from (self.rest if index else self.first).render(console)
            yield from line
            yield Segment.line()


def prefixed(content: RenderableType, first: str, style: str = "", rest: str | None = None) -> Prefixed:
    """`content` behind the sign `first`; following lines are indented as far, or begin with `rest`."""
    lead = Text(end="").append(first, style)
    follow = Text(end="").append(" " * lead.cell_len if rest is None else rest, style)
    return Prefixed(content, lead, follow)


def indented(content: RenderableType, columns: int) -> Prefixed:
    """`content` moved to the right."""
    return prefixed(content, " " * columns)
