"""The prompt of a terminal that cannot move its cursor: a line is read, then done, then the next one is read."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.output.plain_text import PlainTextOutput

from swecli.repl.input.history import LineHistory
from swecli.repl.input.question import Option
from swecli.repl.program import Program
from swecli.repl.render.formatting import one_line, sanitize
from swecli.repl.render.terminal_features import Theme

if TYPE_CHECKING:
    from swecli.config.settings import Start

_MARK = "> "


class DumbPrompt:
    """Has the methods of `PromptLine`. The terminal itself lets the line be edited, and sends it whole."""

    color, link_root, size, draft = False, None, (80, 24), ""

    def __init__(self, program: Program, start: Start) -> None:
        self.history, self.theme = LineHistory(start.paths.history), Theme("none", {})
        self._program, self._output = program, PlainTextOutput(sys.stdout)
        self._typed: asyncio.Queue[str] = asyncio.Queue()  # "" at the end of the input
        self._reading: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    async def run(self) -> None:
        """Read lines until `end`, or the end of the input. Raises what `end` was given."""
        loop, self._reading = asyncio.get_running_loop(), asyncio.ensure_future(self._read_on())
        loop.add_reader(sys.stdin.fileno(), self._read)
        loop.add_signal_handler(signal.SIGINT, self._stop)
        self._program.start_loading()
        await asyncio.wait([self._reading])
        if self._error is not None:
            raise self._error

    async def _read_on(self) -> None:
        while True:
            await self._program.queue.idle.wait()
            self.write(_MARK)
            line = await self._typed.get()
            if not line:
                return
            self.history.append_string(line.rstrip("\n"))
            self._program.submit(line)

    def _read(self) -> None:
        try:
            self._typed.put_nowait(os.read(sys.stdin.fileno(), 1 << 16).decode(errors="replace"))
        except OSError:  # the terminal is gone
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._typed.put_nowait("")

    def _stop(self) -> None:
        if self._program.working:
            self._program.interrupt()
        else:
            self._program.quit()

    def end(self, error: Exception | None = None) -> None:
        """Stop reading; `run` then raises the error, if any."""
        self._error = self._error or error
        if self._reading is not None:
            self._reading.cancel()

    def set_draft(self, text: str) -> None:
        """Print what was not done, to be copied: nothing can be put into such a terminal's line."""
        self.write(f"not sent: {sanitize(text)}\n")

    def write(self, text: str) -> None:
        """Print."""
        self._output.write_raw(text)
        self._output.flush()

    def echo(self, line: str) -> None:
        """Nothing: the line stands where it was typed."""

    def close_output(self) -> None:
        """An empty line sets the next one off."""
        self.write("\n")

    def notify(self, words: str) -> None:
        """Nothing: such a terminal may print it."""

    def show_live(self, lines: Sequence[str]) -> None:
        """Nothing: it could not be taken away again."""

    def redraw(self) -> None:
        """Nothing."""

    async def choose(
        self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]] = (), *, guarded: bool = False
    ) -> int | None:
        """Let the user pick an option by its mark, number or letter; its place, or None for an empty line."""
        marks = [option.mark or str(number) for number, option in enumerate(options, 1)]
        shown = [f"{mark} {one_line(option.label)}" for mark, option in zip(marks, options, strict=True)]
        self.write("\n".join([sanitize(title), *shown]) + "\n")
        if guarded:  # what was typed before now is not an answer to what was not on the screen
            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._typed = asyncio.Queue()
        while typed := await self.ask_text(_MARK.strip()):
            for place, option in enumerate(options):
                if typed in (marks[place], option.letter):
                    return place
        return None

    async def ask_text(self, label: str) -> str | None:
        """Let the user type one line for this; None for none."""
        self.write(f"{sanitize(label)} ")
        return (await self._typed.get()).strip() or None

    async def run_program(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal until it ends. Raises OSError: it cannot be started."""
        loop, keyboard = asyncio.get_running_loop(), sys.stdin.fileno()
        loop.remove_reader(keyboard)  # what is typed now is for that program
        try:
            await asyncio.to_thread(subprocess.call, argv)
        finally:
            loop.add_reader(keyboard, self._read)
