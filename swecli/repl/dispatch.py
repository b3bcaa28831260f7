"""Takes one sent line after another to its place: a command, the shell, or the model; and the prompt they come from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.models.errors import SwecliError, UsageError
from swecli.repl.background import Background
from swecli.repl.footer import Footer
from swecli.repl.input.by_line import PromptByLine
from swecli.repl.input.completer import FileIndex, LineCompleter
from swecli.repl.input.history import LineHistory
from swecli.repl.input.keys import make_keys
from swecli.repl.input.lines import Line, read_line
from swecli.repl.input.prompt import PromptLine
from swecli.repl.input.terminal import Terminal
from swecli.repl.program import LineQueue, Program
from swecli.repl.render.formatting import is_dumb, wants_color
from swecli.repl.render.known_terminal import known_as, notification
from swecli.repl.render.theme import Theme
from swecli.repl.startup import Startup
from swecli.repl.startup_banner import wait_visibly

if TYPE_CHECKING:
    from swecli.config.load import Start


_CLOSING = 10.0  # seconds that the end waits for the store, to keep a line that was sent before it was open
_AGAIN_AFTER = 1.0


class Work:
    """Runs one thing at a time, so that it can be interrupted."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._asked = float("-inf")

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return self._task is not None

    async def run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do it; false when it was interrupted. Raises what it raises."""
        self._task = task = asyncio.get_running_loop().create_task(work)
        self._asked = float("-inf")
        try:
            await asyncio.wait([task])
        finally:
            self._task = None
            if not task.done():  # the wait itself was cancelled: the program is ending
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            return False
        task.result()
        return True

    def interrupt(self) -> None:
        """Cancel what runs. Pressed again and again it counts once a second: tidying up must not be cut short."""
        if self._task is None:
            return
        now = asyncio.get_running_loop().time()
        if now - self._asked >= _AGAIN_AFTER:
            self._asked = now
            self._task.cancel()


class Dispatcher:
    """Does the lines of a running REPL, while the prompt stays open for the next."""

    def __init__(
        self, program: Program, reader: LineReader, startup: Startup, work: Work, background: Background
    ) -> None:
        self._program, self._reader, self._startup = program, reader, startup
        self._work, self._background = work, background
        self._unstored: Line | None = None

    def submit(self, typed: str) -> None:
        """Take a line that was sent: a command that needs no agent is done at once, all else waits for its turn."""
        line, parts = read_line(self._reader.expand(typed)), self._startup.parts
        command = parts.table.find(line.name) if parts is not None and line.kind == "command" else None
        if command is not None and self._work.busy and command.at_once(line.text):
            self._reader.prompt.echo(typed)
            self._background.start(self._do(line))
        else:
            self._reader.queue.put(typed)

    async def run(self) -> None:
        """Do line after line, until cancelled."""
        while True:
            typed = await self._reader.next_line()
            self._reader.prompt.echo(typed)
            await self._take(typed)

    async def _take(self, typed: str) -> None:
        """Do one line. Interrupted while it still waits for the loading, it goes back into the prompt."""
        line = read_line(self._reader.expand(typed))
        if line.kind == "leave":
            self._program.leave()
        if line.kind in ("leave", "empty"):
            return
        self._unstored = line
        try:
            waited = await self._work.run(self._wait_for(line))
        except SwecliError:  # it could not be built: the prompt ends with that error
            return
        self._unstored = None
        if not waited:
            if self._startup.parts is not None:
                self._program.session_manager.drop_query()
            self._reader.prompt.set_draft(typed)
            return
        begun = time.monotonic()
        done = await self._work.run(self._do(line))
        self._program.line_done(time.monotonic() - begun if done else 0.0)

    async def _wait_for(self, line: Line) -> None:
        startup, prompt = self._startup, self._reader.prompt
        startup.hurry()
        await wait_visibly(self._program.begin_loading(), "starting", prompt)
        if line.kind == "text" and startup.parts is not None:
            self._store_query()
            warm = asyncio.ensure_future(startup.warmed(startup.parts.runtime.agent))
            await wait_visibly(warm, "warming up", prompt)

    def _store_query(self) -> None:
        """Store the user's words before anything else is waited for: whatever happens now, they were sent."""
        line, self._unstored = self._unstored, None
        if line is not None and line.kind == "text" and self._startup.parts is not None:
            self._program.session_manager.store_query(line.text)

    async def close(self) -> None:
        """The program ends: a line that was sent while it still loaded is stored yet."""
        if self._unstored is not None:
            with suppress(SwecliError, TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._program.begin_loading()), _CLOSING)
                self._store_query()

    async def _do(self, line: Line) -> None:
        """Do the line; what goes wrong in one command or turn is one line and does not take the session along."""
        parts = self._startup.parts
        assert parts is not None
        try:
            if line.kind == "command":
                command = parts.table.find(line.name)
                if command is None:  # it never becomes a query
                    near = " or ".join(f"/{name}" for name in parts.table.nearest(line.name))
                    hint = f"Did you mean {near}?" if near else "Type /help for the list."
                    raise UsageError(f"Unknown command /{line.name}.", hint)
                await command.run(parts.context, line.text)
            elif line.kind == "shell":
                if not line.text:
                    raise UsageError("There is no command after the `!`.", "For example: !git status")
                await parts.processor.run_shell(line.text, share=line.shared)
            else:
                await parts.processor.process_query(line.text)
        except Exception as error:  # noqa: BLE001 - see above
            self._program.report(error)


class LineReader:
    """Puts the prompt together. `queue` holds the lines that were sent and not begun."""

    def __init__(
        self,
        start: Start,
        startup: Startup,
        footer: Footer,
        program: Program,
        keyboard: Input | None,
        output: Output | None,
    ) -> None:
        self.queue = LineQueue((["/sessions"] if start.pick else []) + ([start.prompt] if start.prompt else []))
        self._files, self._history = FileIndex(start.cwd), LineHistory(start.paths.history)
        self._footer, self.theme = footer, Theme(start.settings.theme, start.environ)
        self.prompt: PromptLine | PromptByLine
        if is_dumb(start.environ):
            self.prompt = PromptByLine(self._history, program, keyboard)
            return
        color = wants_color(start.environ, terminal=True, setting=start.settings.color)
        keys, completer = make_keys(program, self._history.pastes, start.environ), LineCompleter(startup, self._files)
        known, settings = bool(known_as(start.environ)), start.settings
        waiting = notification(settings.notify, start.environ, "a question waits for you")
        terminal = Terminal(color, keyboard, output, self.theme, known and color, waiting, settings.notify_after)
        self.prompt = PromptLine(program, self._history, keys, completer, self._footer_line, terminal)
        if settings.editing_mode == "vi":
            self.prompt.app.editing_mode = EditingMode.VI
        self.prompt.app.key_processor.before_key_press += lambda _: startup.key_pressed()

    def _footer_line(self, width: int) -> list[tuple[str, str]]:
        """The footer, with the mode of vi where its keys are in use."""
        app = get_app()
        if app.editing_mode is EditingMode.VI:
            self._footer.state.editing = app.vi_state.input_mode.value.replace("-", " ")
        return self._footer.line(width)

    async def next_line(self) -> str:
        """The next line to do, as it stood in the prompt."""
        line = await self.queue.next()
        self._files.forget()
        if problem := self._history.take_problem():
            self.prompt.write(f"! {problem}\n")
        return line

    def expand(self, line: str) -> str:
        """The line with its pastes written out."""
        return self._history.pastes.expand(line)

    def give_up(self, error: Exception) -> None:
        """There will be no more lines: the one being typed is kept in the history, and reading raises `error`."""
        self._history.append_string(self.prompt.draft)
        self.prompt.end(error)
