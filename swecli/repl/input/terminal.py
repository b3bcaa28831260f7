"""The terminal's ends: output that leaves in one piece, input that takes pastes of any size, printing above a line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, Dimension, FormattedTextControl, Window
from prompt_toolkit.output.vt100 import Vt100_Output

from swecli.repl.render.terminal_features import Theme

_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
_CHUNK = 1 << 16
_FRAME = 0.03  # seconds between two printings, at least: each draws everything below it again
_SETTLING = 0.25
"""Seconds without another change of size before the line is drawn again: terminals move their lines first."""


class HeldOutput(Vt100_Output):
    """What is written inside `together` leaves in one write, so that nothing flickers; colours are those of `theme`."""

    theme = Theme("dark", {})
    _held = False

    def write_raw(self, data: str) -> None:
        """Write text that may hold escape codes."""
        super().write_raw(self.theme.recolor(data))

    @property
    def responds_to_cpr(self) -> bool:
        """No: where the cursor stands is not asked, so that no answer can get in among the keys."""
        return False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold what is written until the end."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.flush()

    def flush(self) -> None:
        """Write out, unless held."""
        if not self._held:
            super().flush()


class PasteInput(Vt100Input):
    """Collects a paste in a list: the parser's own way is quadratic, half a minute for 10 MB. `theme` takes what the
    terminal answers out of the keys."""

    theme = Theme("dark", {})
    _pasted: list[str] | None = None

    def read_keys(self) -> list[KeyPress]:
        """The keys that have come, a whole paste as one."""
        if self._pasted is None:
            before, mark, data = self.theme.strip_reply(self.stdin_reader.read()).partition(_PASTE)
            self.vt100_parser.feed(before)
            if mark:
                self._pasted = []
                self._collect(data)
        else:
            self._collect(self.stdin_reader.read(_CHUNK))
        keys, self._buffer = self._buffer, []
        return keys

    def _collect(self, data: str) -> None:
        assert self._pasted is not None
        end = len(_PASTED) - 1
        tail = self._pasted[-1][-end:] if self._pasted else ""
        if _PASTED not in tail + data:
            if self._pasted and len(data) < end:
                self._pasted[-1] += data  # a piece shorter than the mark would hide the beginning of one
            else:
                self._pasted.append(data)
            return
        text, _, rest = ("".join(self._pasted) + data).partition(_PASTED)
        self._pasted = None
        self._buffer.append(KeyPress(Keys.BracketedPaste, text))
        self.vt100_parser.feed(rest)


class InlineApplication(Application[None]):
    """An application below what is printed: the text and what is `live` just above the line change in one write, and
    nothing of its own stays on the screen when the terminal is made narrower. `live` are the lines to draw now."""

    live: Sequence[StyleAndTextTuples] = ()
    _coming: Sequence[StyleAndTextTuples] = ()  # what is live once the next text is printed
    _next: asyncio.TimerHandle | None = None
    _printed_at = 0.0
    _away = False
    _settle: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._unprinted: list[str] = []
        super().__init__(*arguments, **options)

    @property
    def _drawing(self) -> bool:
        return self.is_running and not self.is_done

    def print_above(self, text: str) -> None:
        """Print whole lines; what follows within `_FRAME` is printed together."""
        self._unprinted.append(text)
        if not self._drawing:
            self.print_rest()
        elif not self._away and self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.call_at(max(loop.time(), self._printed_at + _FRAME), self.print_rest)

    def show(self, lines: Sequence[StyleAndTextTuples]) -> None:
        """Make these the live lines, together with what is about to be printed."""
        self._coming = lines
        if not self._unprinted:
            self.live = lines
            self.invalidate()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Another program has the terminal: what is printed meanwhile comes after it."""
        self._away = True
        try:
            yield
        finally:
            self._away = False
            self.print_rest()

    def print_rest(self) -> None:
        """Print what waits."""
        text, output = "".join(self._unprinted), self.output
        self._unprinted.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self.live = self._coming
        if not self._drawing:
            output.write_raw(text)
            output.flush()
            return
        self._printed_at = asyncio.get_running_loop().time()
        with output.together() if isinstance(output, HeldOutput) else nullcontext():
            self._erase()
            output.write_raw(text)
            self.render_counter += 1
            self.renderer.render(self, self.layout)

    def _on_resize(self) -> None:
        """Draw once the size has stopped changing."""
        if self._settle is not None:
            self._settle.cancel()
        self._settle = asyncio.get_running_loop().call_later(_SETTLING, self._draw_resized)

    def _redraw(self, render_as_done: bool = False) -> None:
        """Not while the size changes: what is drawn then begins where the old lines began before they were broken."""
        if self._settle is None or render_as_done:
            super()._redraw(render_as_done)

    def _draw_resized(self) -> None:
        self._settle = None
        if self._drawing:
            self._erase()
            self.invalidate()

    def _erase(self) -> None:
        """Take what is drawn away, with the rows that it gained when the terminal, made narrower, broke its lines."""
        screen, columns = self.renderer.last_rendered_screen, max(1, self.output.get_size().columns)
        if screen is not None:
            cursor = screen.get_cursor_position(self.layout.current_window)
            widths = (
                max((x for x, char in screen.data_buffer[row].items() if char.char.strip()), default=0)
                for row in range(cursor.y)
            )
            self.output.cursor_up(sum(width // columns for width in (*widths, cursor.x)))
        self.renderer.erase()


def rows_of(lines: Callable[[], Sequence[StyleAndTextTuples]]) -> ConditionalContainer:
    """Rows of text that take no room when there are none."""

    def text() -> StyleAndTextTuples:
        out: StyleAndTextTuples = []
        for line in lines():
            out += [*([("", "\n")] if out else []), *(line or [("", " ")])]
        return out

    window = Window(FormattedTextControl(text), height=lambda: Dimension.exact(len(lines())), dont_extend_height=True)
    return ConditionalContainer(window, filter=Condition(lambda: bool(lines())))


# What the line and its surroundings look like, in prompt-toolkit's names.
COLOURS = {
    "mark": "bold ansicyan",
    "title": "bold",
    "picked": "bold ansicyan",
    "quiet": "fg:ansibrightblack",
    "footer": "fg:ansibrightblack",
    "footer.plan": "fg:ansicyan",
    "footer.edits": "fg:ansigreen",
    "footer.auto": "fg:ansired",
    "footer.hint": "fg:ansiyellow",
    "footer.busy": "fg:ansibrightblack italic",
    "completion-menu": "bg:default fg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "bg:default fg:ansicyan bold noreverse",
    "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
    "completion-menu.meta.completion.current": "bg:default fg:ansicyan noreverse",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "bg:ansibrightblack",
}
PLAIN = {"completion-menu.completion.current": "reverse", "picked": "bold"}
