"""Streamed reasoning: its last lines while it grows, its duration and end in the scrollback, or all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from swecli.repl.render.excerpt import EXPAND_ALL, EXPANDED, Limit, end_of, lines_of
from swecli.repl.render.formatting import format_duration
from swecli.repl.render.prefix import add_prefix, hidden_note
from swecli.text import sanitize
from swecli.values import dataclass

_ROWS = 3
_SHORT_SECONDS = 1.0  # below which the duration says nothing
_MAX_TAIL = 4_000  # characters kept of the end


@dataclass(slots=True)
class Reasoning:
    """Streamed reasoning."""

    started_at: float
    length: int = 0  # characters
    _pieces: list[str] = field(default_factory=list)
    _tail: str = ""  # the end, which is drawn while it grows

    def append(self, text: str) -> None:
        """Append a delta."""
        self.length += len(text)
        piece = sanitize(text)
        self._pieces.append(piece)
        self._tail = (self._tail + piece)[-_MAX_TAIL:]

    def render_expanded(self, limit: Limit = EXPANDED) -> RenderableType:
        """Render the text, of a long one the end."""
        excerpt = end_of(self._text, limit)
        text = Text(excerpt.text, style="reasoning")
        if excerpt.hidden_above:
            note = hidden_note(excerpt.hidden_above, EXPAND_ALL)
            text = Text("\n").join([note, text, note])
        return add_prefix(text, "✻ ", "quiet")

    def render_whole(self) -> Iterator[RenderableType]:
        """Yield all lines of the text."""
        for index, line in enumerate(lines_of(self._text)):
            yield add_prefix(Text(line, style="reasoning"), "  " if index else "✻ ", "quiet")

    @property
    def _text(self) -> str:
        return "".join(self._pieces).strip()

    def render_tail(self, width: int) -> Text:
        """Render the last lines, wrapped to `width` columns."""
        wrapped: list[str] = []
        for line in self._tail.strip().split("\n"):
            wrapped += wrap(line, max(2, width)) or [""]
        return Text("\n".join(wrapped[-_ROWS:]), style="reasoning")

    def render_summary(self, width: int, now: float) -> RenderableType:
        """Render duration, length and last lines, for the scrollback."""
        seconds = now - self.started_at
        if seconds < _SHORT_SECONDS:
            return add_prefix(self.render_tail(width - 4), "✻ ", "quiet")
        duration = format_duration(seconds * 1000)
        title = Text(f"thought for {duration} · {self.length:,} characters\n", style="quiet")
        return add_prefix(title + self.render_tail(width - 4), "✻ ", "quiet")
