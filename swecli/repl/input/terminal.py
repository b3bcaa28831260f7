"""prompt-toolkit's input, output and application: buffered writes, large pastes, printing above the input line."""

from __future__ import annotations

import asyncio
import re
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, Dimension, FormattedTextControl, Window
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer

from swecli.repl.input.key_stream import KeyStream
from swecli.repl.input.rows_above import count_rows_above
from swecli.repl.render.theme import Theme

_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_CHUNK_BYTES = 1 << 16
# seconds without a byte after which the end of a paste may be lost: terminals send one in a go
_PASTE_GAP = 1.0
_ENDING_KEYS = ("\x1b", "\x03")  # Esc and Ctrl+C, alone
_PASTE_INTERVAL = 0.3  # seconds between two lines about a paste that takes long
# Synchronized output: the terminal shows what is written between these marks at once, if it answers that it knows it.
SYNC_QUERY = "\x1b[?2026$p"
_SYNC_REPLY = re.compile(r"\x1b\[\?2026;([0-4])\$y")
_SYNC_KNOWN = ("1", "2")  # set, reset
_CURSOR_REPLY = re.compile(r"\x1b\[(\d+);\d+R")
_SYNC_START, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
_PRINT_INTERVAL = 0.03  # minimum seconds between two prints: each redraws everything below
# seconds after the last change of size: terminals break their lines first, and tmux tells a size up to 0.25 s late
_RESIZE_DEBOUNCE = 0.4


class _BufferedOutput(Vt100_Output):
    """Buffers writes inside `write_at_once`, so that nothing flickers, and recolors them by `theme`."""

    theme = Theme("dark", {})
    is_synchronized = False
    # prompt-toolkit does not query the cursor position, so that no reply arrives among the keys
    responds_to_cpr = False
    _is_buffering = False

    def write_raw(self, data: str) -> None:
        super().write_raw(self.theme.recolor(data))

    def write_at_once(self, draw: Callable[[], None], is_wanted: Callable[[], bool]) -> bool:
        """Write in one piece what `draw` writes; if it is not wanted any more then, write nothing and return False."""
        self._is_buffering = True
        try:
            draw()
        finally:
            self._is_buffering = False
            was_wanted = is_wanted()
            if not was_wanted:
                self._buffer.clear()
            elif self.is_synchronized and self._buffer:
                self._buffer.insert(0, _SYNC_START)
                self._buffer.append(_SYNC_END)
            self.flush()
        return was_wanted

    def erase_down(self) -> None:
        """Erase from the cursor, which stands in the first column, in two steps: a terminal that is told to erase from
        its first character on may keep what it showed in the scrollback, as tmux does."""
        self.erase_end_of_line()
        self.cursor_forward(1)
        super().erase_down()
        self.cursor_backward(1)

    def flush(self) -> None:
        if not self._is_buffering:
            super().flush()


class _PasteInput(Vt100Input):
    """Reads pastes in linear time (prompt-toolkit: 30 s for 10 MB), and strips the replies to queries of `theme`."""

    theme = Theme("dark", {})
    # called when the terminal knows synchronized output
    synchronize: Callable[[], None] = staticmethod(lambda: None)
    # called when a paste has begun whose end has not come yet
    await_paste: Callable[[], None] = staticmethod(lambda: None)
    # called with the row that the cursor is on, from 1; None while nobody waits for it: a key may look like the reply
    report_row: Callable[[int], None] | None = None
    _paste: StringIO | None = None  # an unfinished paste
    _read_at = 0.0  # when the last of it came

    def __init__(self, stdin: TextIO, is_command: Callable[[str], bool]) -> None:
        super().__init__(stdin)
        self._stream = KeyStream(is_command)

    @property
    def paste_length(self) -> int | None:
        """The characters of a paste that have come, None if there is none or it is complete."""
        return None if self._paste is None else self._paste.tell()

    def read_keys(self) -> list[KeyPress]:
        """Return the keys read since the last call, a whole paste as one."""
        data = self._read_all()
        had_paste = self._paste is not None
        if self._paste is not None and self._ends_by_key(data):
            self._end_paste(self._paste.getvalue())
        else:
            self._take(data)
        if self._paste is not None and not had_paste:
            self.await_paste()
        keys = self._buffer
        self._buffer = []
        return keys

    def flush_keys(self) -> list[KeyPress]:
        """Return the keys that were kept because they might go on; [] if what they go on with has come already, as on a
        busy machine."""
        if not self.closed and _has_input(self.fileno()):
            return []
        self._type(self._stream.flush())
        return super().flush_keys()

    def _ends_by_key(self, data: str) -> bool:
        """Return whether Esc or Ctrl+C ends an unfinished paste: nothing of it came for a second, so its end may have
        been lost."""
        is_late = time.monotonic() - self._read_at > _PASTE_GAP
        return is_late and data in _ENDING_KEYS

    def _take(self, data: str) -> None:
        """Take what was typed and pasted, in turn."""
        while data:
            paste = self._paste
            data = self._take_typed(data) if paste is None else self._take_pasted(paste, data)

    def _take_typed(self, data: str) -> str:
        """Take what is typed, and return what follows the beginning of a paste."""
        typed = self._strip_replies(self.theme.strip_reply(self._stream.join(data)))
        before, paste_start, pasted = typed.partition(_PASTE_START)
        self._type(self._stream.feed(before))
        if paste_start:
            self._type(self._stream.flush())
            self._paste = StringIO()
            self._read_at = time.monotonic()
        return pasted

    def _read_all(self) -> str:
        """Return what has come at once: a terminal gives out what was pasted in pieces."""
        pieces = [self.stdin_reader.read(_CHUNK_BYTES)]
        while pieces[-1] and sum(map(len, pieces)) < _CHUNK_BYTES and _has_input(self.fileno()):
            pieces.append(self.stdin_reader.read(_CHUNK_BYTES))
        return "".join(pieces)

    def _type(self, typed: Iterable[str | KeyPress]) -> None:
        for keys in typed:
            if isinstance(keys, KeyPress):
                self._buffer.append(keys)
            else:
                self.vt100_parser.feed(keys)

    def _strip_replies(self, data: str) -> str:
        """Remove the answers to `SYNC_QUERY` and to the query of the cursor from what is typed."""
        if match := _SYNC_REPLY.search(data):
            if match[1] in _SYNC_KNOWN:
                self.synchronize()
            data = data[: match.start()] + data[match.end() :]
        if self.report_row is not None and (match := _CURSOR_REPLY.search(data)):
            data = data[: match.start()] + data[match.end() :]
            report_row = self.report_row
            self.report_row = None
            report_row(int(match[1]))
        return data

    def _take_pasted(self, paste: StringIO, data: str) -> str:
        """Take more of a paste, and return what follows its end."""
        self._read_at = time.monotonic()
        # the end mark may have begun in the data before
        start = max(0, paste.tell() - len(_PASTE_END))
        paste.write(data)
        paste.seek(start)
        if _PASTE_END not in paste.read():
            return ""
        text, _, rest = paste.getvalue().partition(_PASTE_END)
        self._end_paste(text)
        return rest

    def _end_paste(self, text: str) -> None:
        self._paste = None
        self._buffer.append(KeyPress(Keys.BracketedPaste, text))


def _has_input(terminal: int) -> bool:
    return bool(select.select([terminal], [], [], 0)[0])


class InlineApplication(Application[None]):
    """An application at the bottom of the terminal, with `live_lines`; text is printed above it.

    `keyboard` and `output` replace the terminal. `show_paste` gets the characters of a paste that takes long, None at
    its end. A print and the live lines that belong to it are one write. A narrower terminal leaves no remains;
    `breaks_lines` if it breaks the lines that became too long, as most do. One that becomes
    too low moves rows into its scrollback, where nothing can be erased; most show them again when it grows, and then
    they are erased, unless something was printed meanwhile.
    """

    _print_timer: asyncio.TimerHandle | None = None
    _printed_at = 0.0
    _is_suspended = False
    _resize_timer: asyncio.TimerHandle | None = None
    _size: Size | None = None  # for which the application is drawn
    _row_timer: asyncio.TimerHandle | None = None  # while the row of the cursor is waited for
    # of the rows of the application that are out of sight, above the screen: see `count_rows_above`
    _hidden_widths: Sequence[int] = ()

    def __init__(
        self,
        theme: Theme,
        keyboard: Input | None,
        output: Output | None,
        breaks_lines: bool = True,
        is_command: Callable[[str], bool] = lambda _: False,
        show_paste: Callable[[int | None], None] = lambda _: None,
        **options: Any,
    ) -> None:
        self._breaks_lines = breaks_lines
        self._show_paste = show_paste
        self.live_lines: Sequence[StyleAndTextTuples] = []
        self._next_live_lines: Sequence[StyleAndTextTuples] = []  # shown with the next print
        self._pending: list[str] = []  # text to print
        keyboard = keyboard or _PasteInput(sys.stdin, is_command)
        output = output or _BufferedOutput.from_pty(sys.stdout)
        for stream in (keyboard, output):
            if isinstance(stream, _PasteInput | _BufferedOutput):
                stream.theme = theme
        if isinstance(keyboard, _PasteInput):
            keyboard.synchronize = self._synchronize
            keyboard.await_paste = lambda: self._await_paste(keyboard)
        super().__init__(input=keyboard, output=output, **options)

    def _synchronize(self) -> None:
        if isinstance(self.output, _BufferedOutput):
            self.output.is_synchronized = True

    def _await_paste(self, keyboard: _PasteInput) -> None:
        """Show how much of a paste has come, from time to time until it is complete."""

        def show() -> None:
            length = keyboard.paste_length
            self._show_paste(length)
            self.invalidate()
            if length is not None:
                loop.call_later(_PASTE_INTERVAL, show)

        loop = asyncio.get_running_loop()
        loop.call_later(_PASTE_INTERVAL, show)

    @property
    def _is_drawing(self) -> bool:
        return self.is_running and not self.is_done

    def print_above(self, text: str) -> None:
        """Print whole lines; texts within `_PRINT_INTERVAL` are printed together."""
        self._pending.append(text)
        if not self._is_drawing:
            self.print_pending()
        elif not self._is_suspended and self._print_timer is None:
            loop = asyncio.get_running_loop()
            print_at = max(loop.time(), self._printed_at + _PRINT_INTERVAL)
            self._print_timer = loop.call_at(print_at, self.print_pending)

    def show_live(self, lines: Sequence[StyleAndTextTuples]) -> None:
        """Replace the live lines, together with the pending print; the same ones are not drawn again."""
        self._next_live_lines = [*lines]
        if not self._pending and self.live_lines != self._next_live_lines:
            self.live_lines = self._next_live_lines
            self.invalidate()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Give the terminal to another program; prints are deferred until the end of the context."""
        self._is_suspended = True
        try:
            yield
        finally:
            self._is_suspended = False
            self.print_pending()

    def print_pending(self, row: int | None = None) -> None:
        """Print what is pending; while the size of the terminal changes, it waits. `row`: see `_erase`."""
        if self._print_timer is not None:
            self._print_timer.cancel()
            self._print_timer = None
        if self._is_drawing and self._is_resizing():
            return
        text = "".join(self._pending)
        output = self.output
        self._pending.clear()
        self.live_lines = self._next_live_lines
        if not self._is_drawing:
            output.write_raw(text)
            output.flush()
            return
        self._printed_at = asyncio.get_running_loop().time()

        def draw() -> None:
            self._erase(row)
            output.write_raw(text)
            if text:
                self._hidden_widths = ()
            self.render_counter += 1
            self.renderer.render(self, self.layout)

        hidden = self._hidden_widths
        if not self._write_at_once(draw):
            self._pending.insert(0, text)
            self._hidden_widths = hidden

    def _write_at_once(self, draw: Callable[[], None]) -> bool:
        """Draw in one write. Returns False, and writes nothing, if the size of the terminal has changed meanwhile: what
        is drawn for another size cannot be erased."""
        self._size = self.output.get_size()
        if not isinstance(self.output, _BufferedOutput):
            draw()
            return True
        before = dict(vars(self.renderer))
        if self.output.write_at_once(draw, lambda: self.output.get_size() == self._size):
            return True
        vars(self.renderer).update(before)
        self._on_resize()
        return False

    def _is_resizing(self) -> bool:
        """Return True until `_draw_resized`; the signal of a new size may come after the size."""
        is_drawn = self.renderer.last_rendered_screen is not None
        has_changed = is_drawn and self._size != self.output.get_size()
        if has_changed and self._resize_timer is None:
            self._on_resize()
        return self._resize_timer is not None or self._row_timer is not None

    def _on_resize(self) -> None:
        self._stop_timers()
        self._resize_timer = asyncio.get_running_loop().call_later(
            _RESIZE_DEBOUNCE, self._find_cursor
        )

    def _stop_timers(self) -> None:
        for timer in (self._resize_timer, self._row_timer):
            if timer is not None:
                timer.cancel()
        self._resize_timer = None
        self._row_timer = None

    def _redraw(self, render_as_done: bool = False) -> None:
        """Redraw unless the size is changing: the terminal's reflow would move the first line."""
        if render_as_done or not self._is_drawing:
            super()._redraw(render_as_done)
        elif not self._is_resizing():
            if self.renderer.last_rendered_screen is None:
                self._hidden_widths = ()
            self._write_at_once(super()._redraw)

    def _find_cursor(self) -> None:
        """Query the row of the cursor, if rows of the application may be hidden, and draw when it is known. A terminal
        that has not answered yet is not asked again."""
        self._stop_timers()
        if self._is_suspended or not self._is_drawing:
            return
        self._size = self.output.get_size()
        keyboard = self.input
        may_hide_rows = bool(self._hidden_widths) or self._is_higher_than(self._size)
        if (
            not may_hide_rows
            or not isinstance(keyboard, _PasteInput)
            or keyboard.report_row is not None
        ):
            self._draw_resized()
            return
        self._row_timer = asyncio.get_running_loop().call_later(
            Renderer.CPR_TIMEOUT, self._draw_resized
        )
        keyboard.report_row = self._draw_from
        self.output.ask_for_cpr()
        self.output.flush()

    def _draw_from(self, row: int) -> None:
        """Draw with the cursor in a row of the screen, from 1, if that is still waited for at this size."""
        if self._row_timer is not None and self._size == self.output.get_size():
            self._draw_resized(row)

    def _draw_resized(self, row: int | None = None) -> None:
        self._stop_timers()
        if self._is_drawing and not self._is_suspended:
            self._size = self.output.get_size()
            self.print_pending(row)

    def _is_higher_than(self, size: Size) -> bool:
        """Return True if what is drawn takes more rows than a terminal of this size has."""
        widths = self._drawn_widths()
        return count_rows_above(widths, self._break_at(size), None).on_screen > size.rows

    def _break_at(self, size: Size) -> int | None:
        """Return after how many columns the terminal breaks lines; None if it breaks none."""
        return max(1, size.columns) if self._breaks_lines else None

    def _erase(self, row: int | None) -> None:
        """Erase what is drawn, including the rows that were added when a narrower terminal wrapped its lines, and those
        that a higher one shows again. `row` is that of the cursor, from 1; None if it is not known."""
        screen = self.renderer.last_rendered_screen
        hidden_widths = self._hidden_widths
        self._hidden_widths = ()
        if screen is not None:
            cursor = screen.get_cursor_position(self.layout.current_window)
            columns = self._break_at(self.output.get_size())
            # the line of the cursor may be broken too, before it
            cursor_rows = 0 if columns is None else cursor.x // columns
            widths = self._drawn_widths()[: cursor.y]
            visible = None
            if row is not None:
                widths = [*hidden_widths, *widths]
                visible = max(0, row - 1 - cursor_rows)
            above = count_rows_above(widths, columns, visible)
            self._hidden_widths = widths[: above.hidden]
            self.output.cursor_up(max(0, above.on_screen + cursor_rows - cursor.y))
        self.renderer.erase()

    def _drawn_widths(self) -> list[int]:
        """Return the index of the last character of each row that is drawn."""
        screen = self.renderer.last_rendered_screen
        if screen is None:
            return []
        return [
            max((x for x, char in screen.data_buffer[row].items() if char.char.strip()), default=0)
            for row in range(screen.height)
        ]


def make_rows(lines: Callable[[], Sequence[StyleAndTextTuples]]) -> ConditionalContainer:
    """Return a window with these lines, hidden while there are none."""

    def text() -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for line in lines():
            if fragments:
                fragments.append(("", "\n"))
            fragments += line or [("", " ")]
        return fragments

    window = Window(
        FormattedTextControl(text),
        height=lambda: Dimension.exact(len(lines())),
        dont_extend_height=True,
    )
    return ConditionalContainer(window, filter=Condition(lambda: bool(lines())))


COLOR_STYLES = {
    "mark": "bold ansicyan",
    "title": "bold",
    "selected": "bold ansicyan",
    "quiet": "fg:ansibrightblack",
    "footer": "fg:ansibrightblack",
    "footer.plan": "fg:ansicyan",
    "footer.edits": "fg:ansigreen",
    "footer.auto": "fg:ansiyellow",  # the whole line: nothing is asked
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
PLAIN_STYLES = {
    "completion-menu.completion.current": "reverse",
    "selected": "bold",
    "footer.auto": "bold",
}
