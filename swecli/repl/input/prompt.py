"""The input line: one inline prompt-toolkit application that runs from start to exit.

From top to bottom: live lines, a question, the queue, the input line, its completion menu, the footer.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import DynamicKeyBindings, merge_key_bindings
from prompt_toolkit.layout import BufferControl, Dimension, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import (
    ConditionalProcessor,
    PasswordProcessor,
    Processor,
    Transformation,
    TransformationInput,
)
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from swecli.actions.editor import run_editor
from swecli.repl.input.action_list import ActionList
from swecli.repl.input.buffer import LineBuffer
from swecli.repl.input.completer import CommandSource, LineCompleter
from swecli.repl.input.early_keys import keep_early_keys
from swecli.repl.input.ghost import Ghost
from swecli.repl.input.history import LineHistory
from swecli.repl.input.key_stream import RESET_KEYBOARD, RESET_REPORTS
from swecli.repl.input.keys import make_keys
from swecli.repl.input.picker import Picker
from swecli.repl.input.question import Option, Question
from swecli.repl.input.terminal import (
    COLOR_STYLES,
    PLAIN_STYLES,
    SYNC_QUERY,
    InlineApplication,
    make_rows,
)
from swecli.repl.key_map import KeyMap
from swecli.repl.line_queue import LineQueue
from swecli.repl.program import Program
from swecli.repl.render.terminal_features import (
    breaks_lines_when_narrowed,
    format_notification,
    notification_kind,
)
from swecli.repl.render.theme import Theme
from swecli.text import sanitize

if TYPE_CHECKING:
    from swecli.config.settings import Start

_PROMPT = "> "
_RECEIVING = "Receiving a paste: {length:,} characters · Esc ends it if its end was lost"
_MENU_ROWS = 8
_QUEUE_ROWS = 4
_MIN_ROWS_FOR_FOOTER = 4
_MIN_ROWS_FOR_HINTS = 10
# Semantic prompt marks (OSC 133): terminals jump between them.
_PROMPT_START, _PROMPT_END, _OUTPUT_START, _OUTPUT_END = (
    f"\x1b]133;{letter}\x07" for letter in "ABCD"
)


class _RestoredMark(Processor):
    """Shows that a draft was restored, not typed."""

    def __init__(self, buffer: LineBuffer) -> None:
        self._buffer = buffer

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        if not self._buffer.is_restored:
            return Transformation(fragments)
        return Transformation([("class:quiet", text) for _, text, *_ in fragments])


class PromptLine:
    """The input line; `keyboard` and `output` replace the terminal."""

    has_lists = True  # whose highlighted line a key acts on

    def __init__(
        self,
        program: Program,
        start: Start,
        source: CommandSource,
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        environ = start.environ
        settings = start.settings
        self._program = program
        self._start = start
        self.keys = KeyMap(settings.keys)
        self._completer = LineCompleter(source, start.cwd)
        self.history = LineHistory(start.paths.history, start.cwd)
        self.theme = Theme(settings.theme, environ)
        self.color = settings.color and "NO_COLOR" not in environ
        self._has_marks = self.color and bool(notification_kind(environ))
        self.has_terminal = keyboard is None  # which another program could be given
        self._has_reset = output is not None  # what another program may have left switched on
        self._has_queried = False  # whether the terminal knows synchronized output
        self.link_root = start.cwd if self._has_marks else None
        self.last_key = float("-inf")  # seconds of the loop, which are those of `time.monotonic`
        self.question: Question | None = None
        self._hides_text = False
        self._paste_hint = ""  # the last one
        self._question_lock = asyncio.Lock()
        self.buffer = LineBuffer(
            completer=self._completer,
            history=self.history,
            complete_while_typing=True,
            multiline=True,
            tempfile_suffix=".md",
            name=DEFAULT_BUFFER,
            accept_handler=self._accept,
        )
        self._ghost = Ghost(
            start.suggestions, self.buffer, self.keys, is_waiting=lambda: self.question is None
        )
        answer_keys = DynamicKeyBindings(
            lambda: self.question.keys if self.question is not None else None
        )
        self.app = InlineApplication(
            self.theme,
            keyboard=keyboard,
            output=output,
            breaks_lines=breaks_lines_when_narrowed(environ),
            is_command=program.is_command,
            show_paste=self._show_paste,
            layout=self._layout(),
            key_bindings=merge_key_bindings(
                [
                    make_keys(program, self.history, environ, self.keys),
                    self._ghost.bindings(),
                    answer_keys,
                ]
            ),
            style=Style.from_dict(COLOR_STYLES if self.color else PLAIN_STYLES),
            color_depth=None if self.color else ColorDepth.DEPTH_1_BIT,
            editing_mode=EditingMode.VI if settings.editing_mode == "vi" else EditingMode.EMACS,
            erase_when_done=True,
        )
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.3
        self.app.after_render += self._after_render
        self.app.key_processor.before_key_press += self._key_pressed
        self.buffer.on_text_changed += self._text_changed

    async def run(self) -> None:
        """Read lines until `end` or until the terminal is closed. Raises the error passed to `end`."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._handle_sigcont)
        keep_early_keys(self.app.input)
        try:
            await self.app.run_async(set_exception_handler=False)
        except EOFError:
            pass
        finally:
            if self.question is not None:
                self.question.answer(None)
            self.app.print_pending()

    def end(self, error: Exception | None = None) -> None:
        """Stop reading; `run` raises the error, if any, and the draft is kept in the history."""
        if error is not None:
            self.history.append_string(self.buffer.text)
        if self.app.is_running and not self.app.is_done:
            self.app.exit(exception=error or EOFError())

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and rows."""
        rows, columns = self.app.output.get_size()
        return columns, rows

    @property
    def is_asking(self) -> bool:
        """Return True while a question is open."""
        return self.question is not None

    def set_draft(self, text: str, offered: bool = False) -> None:
        """Restore a line that can be sent again: see `LineBuffer.restore`."""
        self.buffer.restore(text, offered)

    def write(self, text: str) -> None:
        """Print whole lines above the input line."""
        self.app.print_above(text)

    def echo(self, line: str, note: str = "") -> None:
        """Print a sent line with its prompt, broken between words, and a `note` on where it went."""
        has_color = self.app.color_depth is not ColorDepth.DEPTH_1_BIT
        prompt = "\x1b[1;36m>\x1b[0m " if has_color else _PROMPT
        columns, _ = self.size
        rows: list[str] = []
        for paragraph in sanitize(line).split("\n"):
            rows += _wrap_words(paragraph, columns - len(_PROMPT))
        if note:
            rows.append(note)
        text = ("\n" + " " * len(_PROMPT)).join(rows) + "\n"
        if self._has_marks:
            self.write(f"{_PROMPT_START}{prompt}{_PROMPT_END}{text}{_OUTPUT_START}")
        else:
            self.write(f"{prompt}{text}")

    def close_output(self) -> None:
        """Print an empty line after the output of a line, which may have created files."""
        self._completer.invalidate_paths()
        self.write(f"{_OUTPUT_END if self._has_marks else ''}\n")

    def notify(self, message: str) -> None:
        setting = self._start.settings.notify
        self._write_sequence(format_notification(setting, self._start.environ, message))

    def _write_sequence(self, sequence: str) -> None:
        self.app.output.write_raw(sequence)
        self.app.output.flush()

    def show_live(self, lines: Sequence[str]) -> None:
        """Replace the live lines, which may contain ANSI styles; [] removes them."""
        self.app.show_live([to_formatted_text(ANSI(line)) for line in lines])

    def redraw(self) -> None:
        self.app.invalidate()

    async def run_in_foreground(self, command: str) -> int:
        """Give the terminal to a command line of the user; return its exit code. Raises BadInput."""
        # late: few lines are such
        from swecli.repl.foreground import run_in_foreground

        start = self._start
        with self.app.suspended():
            return await run_in_terminal(
                lambda: run_in_foreground(command, start.cwd, start.environ), in_executor=True
            )

    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None:
        """Give the terminal to the user's editor until it exits. Raises BadInput if it cannot be started."""
        with self.app.suspended():
            await run_in_terminal(lambda: run_editor(environ, path, line), in_executor=True)

    async def choose(
        self,
        title: str,
        options: Sequence[Option],
        details: Sequence[Sequence[str]] = (),
        *,
        guarded: bool = False,
        default: int | None = None,
        escape: str = "",
    ) -> int | None:
        """Return the index of the chosen option, or None for no answer. With `details`, lines about each option, the
        user searches the options by typing; the draft is restored. `guarded` and `default`: see `Question`. `escape`
        says what no answer leads to, which Esc is then; "": the Esc of a guarded question interrupts the line that
        asks."""
        if not details:
            stop = self._stop_question if guarded and not escape else None
            answer = await self._ask(
                Question(
                    title,
                    options,
                    guarded=guarded,
                    default=default,
                    stop=stop,
                    escape=escape or "to cancel",
                )
            )
        else:
            answer = await self._ask_without_draft(Picker(title, options, details))
        return answer if isinstance(answer, int) else None

    async def choose_action(self, actions: ActionList) -> tuple[int, str] | None:
        """Return the index of the option that a key was pressed on, and the key; None if the list was closed. The draft
        is restored."""
        answer = await self._ask_without_draft(actions)
        return (answer, actions.pressed) if isinstance(answer, int) else None

    async def _ask_without_draft(self, question: Question, text: str = "") -> int | str | None:
        """Ask with `text` in the input line, and restore what was in it."""
        draft = self.buffer.document
        self.buffer.document = Document(text)
        try:
            return await self._ask(question)
        finally:
            self.buffer.document = draft

    def _stop_question(self) -> None:
        """Interrupt the line that asks; a question of something else is not answered."""
        if self._program.working:
            self._program.interrupt()
        elif self.question is not None:
            self.question.answer(None)

    async def ask_text(self, label: str, text: str = "") -> str | None:
        """Return a line that the user types, or None for no answer. `text` is one to begin with, "": what is in the
        input line already."""
        question = Question(label, escape="to skip")
        answer = await (self._ask_without_draft(question, text) if text else self._ask(question))
        return answer if isinstance(answer, str) else None

    async def ask_secret(self, label: str) -> str | None:
        """Return a line that the user types and nobody sees, or None for no answer; then nothing of it is left in the
        input line."""
        self._hides_text = True
        try:
            answer = await self._ask_without_draft(Question(label))
        finally:
            self._hides_text = False
        return answer if isinstance(answer, str) else None

    async def _ask(self, question: Question) -> int | str | None:
        async with self._question_lock:
            self.question = question
            self.redraw()
            loop = asyncio.get_running_loop()
            notify_at = self.last_key + self._start.settings.notify_after
            timer = loop.call_at(max(loop.time(), notify_at), self.notify, "needs your answer")
            if not question.guarded:  # a command that the user has just typed
                timer.cancel()
            try:
                return await question.result
            finally:
                timer.cancel()
                self.question = None
                self.redraw()

    def _handle_sigcont(self) -> None:
        """Set raw mode again after a stop, redraw, and guard the question again."""
        self.app.input.raw_mode().__enter__()  # the application restores the terminal's mode at exit
        if self.question is not None:
            self.question.close_again()
        self.app.renderer.erase()
        self.redraw()

    def _after_render(self, _: Application[None]) -> None:
        self._program.start_loading()
        if not self._has_reset:
            self._has_reset = True
            self._write_sequence(RESET_REPORTS + (RESET_KEYBOARD if self._has_marks else ""))
        if self.color and (query := self.theme.pop_query()):
            self._write_sequence(query)
        if self._has_marks and not self._has_queried:
            self._has_queried = True
            self._write_sequence(SYNC_QUERY)
        if self.question is not None and (opens_at := self.question.mark_drawn()) is not None:
            asyncio.get_running_loop().call_at(opens_at + 0.01, self.redraw)

    def _show_paste(self, length: int | None) -> None:
        """Say below the line that a paste is being received, None that it is complete."""
        footer = self._program.footer
        if length is not None:
            self._paste_hint = _RECEIVING.format(length=length)
            footer.hint = self._paste_hint
        elif footer.hint == self._paste_hint:
            footer.hint = ""

    def _key_pressed(self, _: object) -> None:
        self.last_key = asyncio.get_running_loop().time()
        if self.question is not None:
            self.question.key_pressed()

    def _text_changed(self, buffer: Buffer) -> None:
        if buffer.text:
            self._program.footer.hint = ""
        if self.question is not None:
            self.question.deselect()

    def _accept(self, buffer: Buffer) -> bool:
        self.app.vi_state.reset()  # the next line begins in insert mode
        self._ghost.advance(buffer.text)
        self._program.submit(buffer.text)
        return False

    def _layout(self) -> Layout:
        search = SearchToolbar(ignore_case=True)
        line = Window(
            BufferControl(
                self.buffer,
                [
                    ConditionalProcessor(PasswordProcessor(), Condition(lambda: self._hides_text)),
                    _RestoredMark(self.buffer),
                    self._ghost,
                ],
                search_buffer_control=search.control,
                preview_search=True,
            ),
            height=lambda: Dimension(min=1, max=self._line_rows()),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wrapped: (
                [("", "  ")] if number or wrapped else [("class:mark", _PROMPT)]
            ),
        )
        menu = CompletionsMenu(
            max_height=_MENU_ROWS, scroll_offset=1, extra_filter=has_focus(DEFAULT_BUFFER)
        )
        footer = make_rows(self._footer_rows)
        rows = HSplit(
            [make_rows(self._lines_above), line, search, menu, footer],
            window_too_small=Window(),
            align=VerticalAlign.TOP,
        )
        return Layout(rows, focused_element=line)

    def _footer_rows(self) -> list[StyleAndTextTuples]:
        columns, rows = self.size
        if rows < _MIN_ROWS_FOR_FOOTER:
            return []
        hints: list[StyleAndTextTuples] = [
            [("class:quiet", row)] for row in self._hint_rows(columns, rows)
        ]
        return [*hints, [*self._program.footer.line(columns)]]

    def _hint_rows(self, columns: int, rows: int) -> list[str]:
        """Return what is said below the input line, each below the other: where a restored draft comes from, which
        key takes the next line of a tutorial, and what that shows. A low terminal has no room for it."""
        if rows < _MIN_ROWS_FOR_HINTS:
            return []
        hints = [self.buffer.restored_hint, self._ghost.offer_beside_draft, self._ghost.look]
        return [row for hint in hints if hint for row in _wrap_words(hint, columns - 1)]

    def _line_rows(self) -> int:
        """Return the rows of the input line, or of what is offered there, at most half of the screen."""
        columns, rows = self.size
        lines = (self.buffer.text or self._ghost.offer).split("\n")
        needed = sum(1 + (get_cwidth(line) + len(_PROMPT)) // columns for line in lines)
        return min(needed, max(1, rows // 2))

    def _lines_above(self) -> list[StyleAndTextTuples]:
        """Return the rows above the input line; the question has priority, then the queue, then the live lines."""
        columns, rows = self.size
        rows -= len(self._footer_rows())
        if self.buffer.complete_state is not None:
            rows -= min(len(self.buffer.complete_state.completions), _MENU_ROWS)
        rows -= self._line_rows()
        question: list[StyleAndTextTuples] = []
        if self.question is not None and rows > 0:
            self.question.update_draft(self.buffer.text)
            question = [[line] for line in self.question.render(columns - 1, rows)]
        queued = _queue_lines(self._program.queue, self.keys, columns - 1)
        queued = queued[: max(0, rows - len(question))]
        live = self.app.live_lines
        max_live = max(0, rows - len(question) - len(queued))
        return [*live[max(0, len(live) - max_live) :], *question, *queued]


def _wrap_words(line: str, columns: int) -> list[str]:
    """Break a line into rows of `columns` cells, between words; a longer word stays whole."""
    rows = [""]
    for word in re.findall(r"^\s*\S*\s*|\S+\s*", line):
        if rows[-1] and get_cwidth((rows[-1] + word).rstrip()) > columns:
            rows.append("")
        rows[-1] += word
    return [row.rstrip() for row in rows]


def _queue_lines(queue: LineQueue, keys: KeyMap, columns: int) -> list[StyleAndTextTuples]:
    if not queue.lines:
        return []
    rows = [
        f"  {number} {' '.join(sanitize(line).split())}"
        for number, line in enumerate(queue.lines, 1)
    ]
    if len(rows) > _QUEUE_ROWS:
        rows[_QUEUE_ROWS - 1 :] = [f"  … {len(rows) - _QUEUE_ROWS + 1} more"]
    title = ["queued"]
    if queue.is_held:
        title = ["queue paused by the interrupt", keys.hint("send", "sends it")]
    title += [keys.hint("edit_queued", "edits"), keys.hint("stop", "removes")]
    rows.insert(0, " · ".join(filter(None, title)))
    return [[("class:quiet", row[:columns])] for row in rows]
