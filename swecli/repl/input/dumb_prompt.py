"""The prompt for screen readers, and for terminals that cannot move their cursor: reads and runs one line at a time."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.output.plain_text import PlainTextOutput

from swecli.actions.editor import run_editor
from swecli.models.errors import BadInput
from swecli.repl.input.history import LineHistory
from swecli.repl.input.question import Option
from swecli.repl.key_map import KeyMap
from swecli.repl.program import Program
from swecli.repl.render.theme import Theme
from swecli.text import one_line, sanitize

if TYPE_CHECKING:
    from swecli.config.settings import Start

_PROMPT = "> "
_CONFIRM = "y"  # as a line, after an answer that lasts


class DumbPrompt:
    """Has the methods of `PromptLine`; the terminal driver itself edits the line."""

    color = False
    link_root = None
    is_asking = False  # no live line hides what it asks

    def __init__(self, program: Program, start: Start) -> None:
        self.keys = KeyMap.without_keys()
        self.history = LineHistory(start.paths.history)
        self.theme = Theme("none", {})
        self._program = program
        self._output = PlainTextOutput(sys.stdout)
        self._typed: asyncio.Queue[str] = asyncio.Queue()  # lines; "" at end of input
        self._reader: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    async def run(self) -> None:
        """Read lines until `end` or end of input. Raises the error passed to `end`."""
        loop = asyncio.get_running_loop()
        self._reader = loop.create_task(self._submit_lines())
        loop.add_reader(sys.stdin.fileno(), self._read)
        loop.add_signal_handler(signal.SIGINT, self._handle_sigint)
        self._program.start_loading()
        await asyncio.wait([self._reader])
        if self._error is not None:
            raise self._error

    async def _submit_lines(self) -> None:
        while True:
            await self._program.queue.needs_line.wait()
            self.write(_PROMPT)
            line = await self._typed.get()
            if not line:
                return
            self.history.append_string(line.rstrip("\n"))
            self._program.submit(line)

    def _read(self) -> None:
        try:
            self._typed.put_nowait(os.read(sys.stdin.fileno(), 1 << 16).decode(errors="replace"))
        except OSError:  # the terminal is closed
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._typed.put_nowait("")

    def _handle_sigint(self) -> None:
        if self._program.working:
            self._program.interrupt()
        else:
            self._program.quit()

    def end(self, error: Exception | None = None) -> None:
        self._error = self._error or error
        if self._reader is not None:
            self._reader.cancel()

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and rows."""
        return shutil.get_terminal_size()

    def set_draft(self, text: str, offered: bool = False) -> None:
        """Print a line that can be sent again: this terminal's line cannot be filled."""
        self.write(f"to send again: {sanitize(text)}\n")

    def write(self, text: str) -> None:
        self._output.write_raw(text)
        self._output.flush()

    def close_output(self) -> None:
        self.write("\n")

    def _ignore(self, *_: object) -> None:
        """Do nothing: the terminal echoes lines itself, may print control sequences, and cannot remove text."""

    echo = notify = show_live = redraw = _ignore

    async def choose(
        self,
        title: str,
        options: Sequence[Option],
        details: Sequence[Sequence[str]] = (),
        *,
        guarded: bool = False,
        default: int | None = None,
        interrupts: bool = True,
    ) -> int | None:
        """Ask the user to type an option's key, number or letter; return its index, or `default` for an empty line. An
        answer with a confirmation takes a second line. `interrupts` is about a key that this prompt does not see."""
        keys = [option.key or str(number) for number, option in enumerate(options, 1)]
        rows = [
            f"{key} {one_line(option.label)}" for key, option in zip(keys, options, strict=True)
        ]
        self.write("\n".join([sanitize(title), *rows]) + "\n")
        if guarded:  # discard what was typed before the question was shown
            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._typed = asyncio.Queue()
        answers = {option.letter: index for index, option in enumerate(options)}
        answers |= {key: index for index, key in enumerate(keys)}
        proposed: int | None = None  # index of the option that the next line may confirm
        while typed := await self.ask_text(_PROMPT.strip()):
            if proposed is not None and typed == _CONFIRM:
                return proposed
            index = answers.get(typed)
            if index is not None and not options[index].confirmation:
                return index
            proposed = index
            if index is not None:
                self.write(f"{one_line(options[index].confirmation)} {_CONFIRM} to confirm\n")
        return default

    async def ask_text(self, label: str) -> str | None:
        self.write(f"{sanitize(label)} ")
        return (await self._typed.get()).strip() or None

    async def ask_secret(self, label: str) -> str | None:
        """Refuse to ask: what is typed here is shown. Raises BadInput."""
        raise BadInput(
            f"{label.partition(' (')[0]}: it would be shown here as you type.",
            "Set the variable of the service, or start without --plain.",
        )

    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None:
        loop = asyncio.get_running_loop()
        stdin = sys.stdin.fileno()
        loop.remove_reader(stdin)  # the editor reads what is typed
        try:
            await asyncio.to_thread(run_editor, environ, path, line)
        finally:
            loop.add_reader(stdin, self._read)
