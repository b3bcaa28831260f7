"""The prompt of a terminal that cannot move its cursor: a line is read, then done, then the next one is read."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.output.plain_text import PlainTextOutput

from swecli.repl.input.question import Option
from swecli.repl.program import Program
from swecli.repl.render.formatting import clean, one_line

_MARK = "> "


class PromptByLine:
    """Has the methods of `PromptLine`."""

    color = False

    def __init__(self, history: History, program: Program, keyboard: Input | None = None) -> None:
        self._program = program
        self._reading: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._draft = ""
        # prompt-toolkit has a prompt of its own for dumb terminals, for which nobody may name an output
        self._output = PlainTextOutput(sys.stdout)
        with create_app_session(output=self._output):
            self._session: PromptSession[str] = PromptSession(history=history, input=keyboard)

    async def run(self) -> None:
        """Read lines until `end`, or the end of the input. Raises what `end` was given."""
        self._program.begin_loading()
        self._reading = asyncio.ensure_future(self._read_on())
        await asyncio.wait([self._reading])
        if self._error is not None:
            raise self._error
        if not self._reading.cancelled():
            self._reading.result()

    async def _read_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            # the line's own handler has taken its place
            loop.add_signal_handler(signal.SIGINT, self._program.interrupt)
            await self._program.queue.idle.wait()
            draft, self._draft = self._draft, ""
            try:
                self._program.submit(
                    await self._session.prompt_async(_MARK, default=draft, set_exception_handler=False)
                )
            except (EOFError, KeyboardInterrupt):
                return

    def end(self, error: Exception | None = None) -> None:
        """Stop reading; `run` then raises the error, if any."""
        self._error = self._error or error
        if self._reading is not None:
            self._reading.cancel()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows: such a terminal is taken for an ordinary one."""
        return 80, 24

    @property
    def draft(self) -> str:
        """What is being typed."""
        return self._session.default_buffer.text

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        self._draft = text

    def write(self, text: str) -> None:
        """Print."""
        self._output.write_raw(text)
        self._output.flush()

    def echo(self, line: str) -> None:
        """Nothing: the line stands where it was typed."""

    def close_output(self) -> None:
        """An empty line sets the next one off."""
        self.write("\n")

    def call(self, sequence: str) -> None:
        """Nothing: such a terminal may print it."""

    def live(self, lines: Sequence[str]) -> None:
        """Nothing: it could not be taken away again."""

    def redraw(self) -> None:
        """Nothing."""

    async def choose(self, title: str, options: Sequence[Option], *, guarded: bool = False) -> int | None:
        """Let the user pick an option by its mark or letter; its place, or None for an empty line."""
        marks = [option.mark or str(number) for number, option in enumerate(options, 1)]
        shown = [f"{mark} {one_line(option.label)}" for mark, option in zip(marks, options, strict=True)]
        self.write("\n".join([clean(title), *shown]) + "\n")
        if guarded:
            _forget_typed()
        while typed := await self._line(_MARK):
            for place, option in enumerate(options):
                if typed in (marks[place], option.letter):
                    return place
        return None

    async def search(self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]]) -> int | None:
        """Let the user pick by number: what is typed searches nothing here."""
        return await self.choose(title, options)

    async def ask_text(self, label: str) -> str | None:
        """Let the user type one line for this; None for none."""
        return await self._line(f"{clean(label)} ") or None

    async def hand_over(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal until it ends. Raises OSError: it cannot be started."""
        await asyncio.to_thread(subprocess.call, argv)

    async def _line(self, label: str) -> str:
        try:
            return (await self._session.prompt_async(label, set_exception_handler=False)).strip()
        except EOFError:
            return ""
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None


def _forget_typed() -> None:
    """Drop what was typed before now and not read yet: it is no answer to what was not on the screen."""
    with suppress(OSError, ValueError, termios.error):  # no terminal: nothing can have been typed ahead
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
