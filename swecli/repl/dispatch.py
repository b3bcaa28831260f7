"""Takes one sent line after another to its place: a command, the shell, or the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from swecli.models.errors import SwecliError, UsageError
from swecli.repl.background import Background
from swecli.repl.input.dumb_prompt import DumbPrompt
from swecli.repl.input.lines import ParsedLine, parse_line
from swecli.repl.input.prompt import PromptLine
from swecli.repl.program import Program
from swecli.repl.startup import Startup

_CLOSING = 10.0  # seconds that the end waits for the store, to keep a line that was sent before it was open
_AGAIN_AFTER = 1.0


async def wait_with_timer(future: asyncio.Future[Any], label: str, prompt: PromptLine | DumbPrompt) -> None:
    """Wait for a future, the seconds in view; nothing stays on the screen. Raises what it raises. Cancelling the wait
    leaves the future alone."""
    began = time.monotonic()
    try:
        while not future.done():
            prompt.show_live(["", f"{label} {time.monotonic() - began:.0f} s"])
            await asyncio.wait([future], timeout=0.5)
    finally:
        prompt.show_live([])
    await asyncio.shield(future)


class Dispatcher:
    """Does the lines of a running REPL, one at a time, while the prompt stays open for the next."""

    def __init__(
        self, program: Program, prompt: PromptLine | DumbPrompt, startup: Startup, background: Background
    ) -> None:
        self._program, self._prompt, self._startup, self._background = program, prompt, startup, background
        self._unstored: ParsedLine | None = None
        self._task: asyncio.Task[None] | None = None
        self._interrupted = float("-inf")

    @property
    def busy(self) -> bool:
        """Whether something runs, which can be interrupted."""
        return self._task is not None

    def submit(self, typed: str) -> None:
        """Take a line that was sent: a command that needs no agent is done at once, all else waits for its turn."""
        line, components = self._read(typed), self._startup.components
        command = components.table.find(line.name) if components is not None and line.kind == "command" else None
        if command is not None and self.busy and command.can_run_during_turn(line.text):
            self._prompt.echo(typed)
            self._background.start(self._do(line))
        else:
            self._program.queue.put(typed)

    async def run(self) -> None:
        """Do line after line, until cancelled."""
        while True:
            typed = await self._program.queue.get()
            if problem := self._prompt.history.pop_error():
                self._prompt.write(f"! {problem}\n")
            self._prompt.echo(typed)
            await self._take(typed)

    def interrupt(self) -> None:
        """Cancel what runs. Pressed again and again it counts once a second: tidying up must not be cut short."""
        now = asyncio.get_running_loop().time()
        if self._task is not None and now - self._interrupted >= _AGAIN_AFTER:
            self._interrupted = now
            self._task.cancel()

    def _read(self, typed: str) -> ParsedLine:
        return parse_line(self._prompt.history.pastes.expand(typed))

    async def _run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do it so that it can be interrupted; false when it was. Raises what it raises."""
        self._task = task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # else reported again at the end
        self._interrupted = float("-inf")
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

    async def _take(self, typed: str) -> None:
        """Do one line. Interrupted while it still waits for the loading, it goes back into the prompt."""
        line = self._read(typed)
        if line.kind == "leave":
            self._program.quit()
        if line.kind in ("leave", "empty"):
            return
        self._unstored = line
        try:
            waited = await self._run(self._wait_for(line))
        except SwecliError:  # it could not be built: the prompt ends with that error
            return
        self._unstored = None
        if not waited:
            if self._startup.components is not None:
                self._program.session_manager.drop_query()
            self._prompt.set_draft(typed)
            return
        begun = time.monotonic()
        done = await self._run(self._do(line))
        self._program.line_done(time.monotonic() - begun if done else 0.0)

    async def _wait_for(self, line: ParsedLine) -> None:
        await wait_with_timer(self._program.start_loading(), "starting", self._prompt)
        if line.kind == "text":
            self._store_query()
            await wait_with_timer(self._startup.warm(self._program.agent), "warming up", self._prompt)

    def _store_query(self) -> None:
        """Store the user's words before anything else is waited for: whatever happens now, they were sent."""
        line, self._unstored = self._unstored, None
        if line is not None and line.kind == "text":
            self._program.session_manager.store_query(line.text)

    async def close(self) -> None:
        """The program ends: a line that was sent while it still loaded is stored yet."""
        if self._unstored is not None:
            with suppress(SwecliError, TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._program.start_loading()), _CLOSING)
                self._store_query()

    async def _do(self, line: ParsedLine) -> None:
        """Do the line; what goes wrong in one command or turn is one line and does not take the session along."""
        components = self._startup.components
        assert components is not None
        try:
            if line.kind == "command":
                command = components.table.find(line.name)
                if command is None:  # it never becomes a query
                    near = " or ".join(f"/{name}" for name in components.table.suggest(line.name))
                    hint = f"Did you mean {near}?" if near else "Type /help for the list."
                    raise UsageError(f"Unknown command /{line.name}.", hint)
                await command.run(components.context, line.text)
            elif line.kind == "shell":
                if not line.text:
                    raise UsageError("There is no command after the `!`.", "For example: !git status")
                await components.processor.run_shell(line.text, share=line.shared)
            else:
                await components.processor.process_query(line.text)
        except Exception as error:  # noqa: BLE001 - see above
            self._program.report(error)
