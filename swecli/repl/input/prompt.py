"""The line that is always there: one prompt-toolkit application, inline, from start to exit.

From top to bottom: what goes on now, a question, the queue, the line being typed, its menu, the footer. Everything
else is printed above it into the terminal's own scrollback.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import merge_key_bindings
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    Dimension,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from swecli.repl.input.history import LineHistory
from swecli.repl.input.keys import make_keys
from swecli.repl.input.question import Option, Picker, Question, make_answer_keys
from swecli.repl.input.terminal import COLOURS, PLAIN, HeldOutput, InlineApplication, PasteInput, rows_of
from swecli.repl.program import LineQueue, Program
from swecli.repl.render.formatting import sanitize
from swecli.repl.render.terminal_features import (
    OUTPUT_END,
    OUTPUT_START,
    PROMPT_END,
    PROMPT_START,
    Theme,
    format_notification,
    notification_kind,
)

if TYPE_CHECKING:
    from swecli.config.settings import Start

_MARK = "> "
_MENU_ROWS = 8
_QUEUE_ROWS = 4
_SMALL = 3  # rows of a screen that is too small for a footer


class PromptLine:
    """The line, and what stands around it. `footer` is called at each drawing with the width in columns. `keyboard` and
    `output` take the place of the terminal."""

    def __init__(
        self,
        program: Program,
        start: Start,
        completer: Completer,
        footer: Callable[[int], list[tuple[str, str]]],
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        environ, settings = start.environ, start.settings
        self._footer, self._program, self._start = footer, program, start
        self.history, self.theme = LineHistory(start.paths.history), Theme(settings.theme, environ)
        self.color = settings.color and "NO_COLOR" not in environ
        self._marked = self.color and bool(notification_kind(environ))
        self.link_root = start.cwd if self._marked else None
        self._last_key = float("-inf")
        self.question: Question | None = None
        self._one_question = asyncio.Lock()
        self._opening: asyncio.TimerHandle | None = None
        self.buffer = Buffer(
            completer=completer,
            history=self.history,
            complete_while_typing=True,
            multiline=True,
            tempfile_suffix=".md",
            name=DEFAULT_BUFFER,
            accept_handler=self._accept,
        )
        self.app = InlineApplication(
            self._layout(),
            key_bindings=merge_key_bindings([make_keys(program, self.history.pastes, environ), make_answer_keys(self)]),
            style=Style.from_dict(COLOURS if self.color else PLAIN),
            color_depth=None if self.color else ColorDepth.DEPTH_1_BIT,
            editing_mode=EditingMode.VI if settings.editing_mode == "vi" else EditingMode.EMACS,
            erase_when_done=True,
            input=keyboard or PasteInput(sys.stdin),
            output=output or HeldOutput.from_pty(sys.stdout),
        )
        for end in (self.app.input, self.app.output):
            if isinstance(end, PasteInput | HeldOutput):
                end.theme = self.theme
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.3
        self.app.after_render += self._drawn
        self.app.key_processor.before_key_press += self._key_pressed
        self.buffer.on_text_changed += lambda buffer: program.hint("" if buffer.text else program.current_hint)

    async def run(self) -> None:
        """Until `end`, or until the terminal is gone. Raises what `end` was given."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._continued)
        try:
            await self.app.run_async(set_exception_handler=False)
        except EOFError:
            pass
        finally:
            if self.question is not None:
                self.question.answer(None)
            self.app.print_rest()

    def end(self, error: Exception | None = None) -> None:
        """Stop reading; `run` then raises the error, if any."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(exception=error or EOFError())

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal, now."""
        rows, columns = self.app.output.get_size()
        return columns, rows

    @property
    def draft(self) -> str:
        """What stands in the line now."""
        return self.buffer.text

    def set_draft(self, text: str) -> None:
        """Put this into the line, unless something else was typed meanwhile: then before it."""
        self.buffer.document = Document(f"{text} {self.buffer.text}" if self.buffer.text else text)

    def write(self, text: str) -> None:
        """Print whole lines above the line; what is being typed stays as it is."""
        self.app.print_above(text)

    def echo(self, line: str) -> None:
        """Print a line that was sent, as it stood in the prompt."""
        mark = "\x1b[1;36m>\x1b[0m " if self.app.color_depth is not ColorDepth.DEPTH_1_BIT else _MARK
        shown = sanitize(line).replace("\n", "\n" + " " * len(_MARK)) + "\n"
        before, behind, output = (PROMPT_START, PROMPT_END, OUTPUT_START) if self._marked else ("", "", "")
        self.write(f"{before}{mark}{behind}{shown}{output}")

    def close_output(self) -> None:
        """What a line led to is printed: the next one is set off."""
        self.write(f"{OUTPUT_END if self._marked else ''}\n")

    def notify(self, words: str) -> None:
        """Call the user, as the setting and the terminal have it."""
        self._send(format_notification(self._start.settings.notify, self._start.environ, words))

    def _send(self, sequence: str) -> None:
        self.app.output.write_raw(sequence)
        self.app.output.flush()

    def show_live(self, lines: Sequence[str]) -> None:
        """What goes on now, as lines with ANSI styles; [] when nothing does."""
        self.app.show([to_formatted_text(ANSI(line)) for line in lines])

    def redraw(self) -> None:
        """Draw again, soon."""
        self.app.invalidate()

    async def run_program(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal until it ends; what is printed then comes after it. Raises OSError."""
        with self.app.away():
            await run_in_terminal(lambda: subprocess.call(argv), in_executor=True)

    async def choose(
        self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]] = (), *, guarded: bool = False
    ) -> int | None:
        """Let the user pick an option; its place, or None when they would rather not, or the terminal is gone. With
        `details`, lines about each, what is typed searches them, and what was being typed comes back. `guarded`: see
        `Question`; Enter alone then takes nothing."""
        if not details:
            answer = await self._ask(Question(title, options, guarded=guarded))
        else:
            draft, self.buffer.document = self.buffer.document, Document()
            try:
                answer = await self._ask(Picker(title, options, details))
            finally:
                self.buffer.document = draft
        return answer if isinstance(answer, int) else None

    async def ask_text(self, label: str) -> str | None:
        """Let the user type one line for this; None when they would rather not."""
        answer = await self._ask(Question(label))
        return answer if isinstance(answer, str) else None

    async def _ask(self, question: Question) -> int | str | None:
        async with self._one_question:
            self.question = question
            self.redraw()
            loop, seen = asyncio.get_running_loop(), self._last_key + self._start.settings.notify_after
            call = loop.call_at(max(loop.time(), seen), self.notify, "needs your answer")
            if not question.guarded:  # the user's own command asks: they are there
                call.cancel()
            try:
                return await question.result
            finally:
                call.cancel()
                self.question = None
                self.redraw()

    def _continued(self) -> None:
        """After a stop others had the terminal: it is taken again, and a question has to be read again."""
        self.app.input.raw_mode().__enter__()  # what it was before is put back when the application ends
        if self.question is not None:
            self.question.close_again()
        self.app.renderer.erase()
        self.redraw()

    def _drawn(self, _: Application[None]) -> None:
        self._program.start_loading()
        if self.color and (query := self.theme.pop_query()):
            self._send(query)
        opens = self.question.drawn() if self.question is not None else None
        if opens is not None and (self._opening is None or self._opening.when() <= opens):
            self._opening = asyncio.get_running_loop().call_at(opens + 0.01, self.redraw)  # so that it can be seen

    def _key_pressed(self, _: object) -> None:
        self._last_key = asyncio.get_running_loop().time()
        self._program.key_pressed()
        if self.question is not None:
            self.question.key_pressed()

    def _accept(self, buffer: Buffer) -> bool:
        self.app.vi_state.reset()  # the next line begins in insert mode
        self._program.submit(buffer.text)
        return False

    def _layout(self) -> Layout:
        search = SearchToolbar(ignore_case=True)
        line = Window(
            BufferControl(self.buffer, search_buffer_control=search.control, preview_search=True),
            height=lambda: Dimension(min=1, max=self._line_rows()),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wrapped: [("", "  ")] if number or wrapped else [("class:mark", _MARK)],
        )
        rows: list[AnyContainer] = [
            rows_of(self._above),
            line,
            search,
            CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1, extra_filter=has_focus(DEFAULT_BUFFER)),
            rows_of(lambda: [[*self._footer(self.size[0])]] if self.size[1] > _SMALL else []),
        ]
        return Layout(HSplit(rows, window_too_small=Window(), align=VerticalAlign.TOP), focused_element=line)

    def _line_rows(self) -> int:
        """Rows of the line being typed: what it needs, up to half of the screen."""
        columns, rows = self.size
        needed = sum(1 + (get_cwidth(line) + len(_MARK)) // columns for line in self.buffer.text.split("\n"))
        return min(needed, max(1, rows // 2))

    def _above(self) -> list[StyleAndTextTuples]:
        """What stands above the line: the question has first claim on the rows, then the queue, then what goes on."""
        columns, rows = self.size
        menu = len(self.buffer.complete_state.completions) if self.buffer.complete_state else 0
        rows -= self._line_rows() + min(menu, _MENU_ROWS) + (rows > _SMALL)
        asked: list[StyleAndTextTuples] = []
        if self.question is not None and rows > 0:
            self.question.typed(self.buffer.text)
            asked = [[line] for line in self.question.lines(columns - 1, rows)]
        waiting = _queue_lines(self._program.queue, columns - 1)[: max(0, rows - len(asked))]
        live, left = self.app.live, max(0, rows - len(asked) - len(waiting))
        return [*live[max(0, len(live) - left) :], *asked, *waiting]


def _queue_lines(queue: LineQueue, columns: int) -> list[StyleAndTextTuples]:
    waiting = queue.lines
    if not waiting:
        return []
    shown = [f"  {number} {' '.join(sanitize(line).split())}" for number, line in enumerate(waiting, 1)]
    if len(shown) > _QUEUE_ROWS:
        shown[_QUEUE_ROWS - 1 :] = [f"  … {len(waiting) - _QUEUE_ROWS + 1} more"]
    head = "queue paused by the interrupt · Enter sends it" if queue.held else "queued"
    return [[("class:quiet", line[:columns])] for line in (f"{head} · ↑ edits · Ctrl+C removes", *shown)]
