"""Dispatch submitted lines, one after another, to a command, the shell or the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from swecli.models.errors import BusyElsewhere, SwecliError, UsageError
from swecli.models.typed_line import ParsedLine, parse_line
from swecli.repl.background import Background, retrieve
from swecli.repl.input.dumb_prompt import DumbPrompt
from swecli.repl.input.prompt import PromptLine
from swecli.repl.program import Program
from swecli.repl.startup import Startup

if TYPE_CHECKING:
    from swecli.repl.commands.base import Command

_STORE_TIMEOUT = 10.0  # seconds to wait at the end for the store, to save a line that was sent before it was open
_INTERRUPT_INTERVAL = 1.0  # seconds
_QUIET_SECONDS = 0.3  # seconds after which a person wonders whether anything happens
_WAIT_INTERVAL = 0.5  # seconds between two drawings of what is waited for


async def _wait_with_timer(
    future: asyncio.Future[Any], label: str, prompt: PromptLine | DumbPrompt
) -> None:
    """Wait for a future and show the elapsed seconds meanwhile. Raises the future's exception; cancelling the wait does
    not cancel the future."""
    started = time.monotonic()
    try:
        while not future.done():
            prompt.show_live(["", f"{label} {time.monotonic() - started:.0f} s"])
            await asyncio.wait([future], timeout=_WAIT_INTERVAL)
    finally:
        prompt.show_live([])
    await asyncio.shield(future)


def find_excess(text: str) -> SwecliError | None:
    """Return why a text is too long for any request, None if it is not. It is said before the text is stored, since
    nothing can be taken out of it."""
    # late: loaded after the prompt is shown
    from swecli.context.budget import MAX_CHARACTERS, long_query

    if len(text) <= MAX_CHARACTERS:
        return None
    return long_query(f"{len(text):,} characters", f"{MAX_CHARACTERS:,}")


class Dispatcher:
    """Runs the submitted lines of a REPL one at a time, while the prompt accepts more."""

    def __init__(
        self,
        program: Program,
        prompt: PromptLine | DumbPrompt,
        startup: Startup,
        background: Background,
    ) -> None:
        self._program = program
        self._prompt = prompt
        self._startup = startup
        self._background = background
        self._unsaved: ParsedLine | None = None  # a query that is not in the store yet
        self.task: asyncio.Task[None] | None = None  # the running line, which can be interrupted
        self._interrupted_at = float("-inf")  # when the running line was, in seconds of the loop

    def submit(self, text: str) -> None:
        """Run a command at once if it can run during a turn, else queue the line."""
        line = self._read(text)
        if self._can_run_now(line):
            self._prompt.echo(text)
            self._background.start_command(self._execute(line))
        else:
            self._program.queue.put(text)

    def is_command(self, typed: str) -> bool:
        """Return whether a line is a command, or leaves. Until the commands are loaded, any name is one."""
        line = parse_line(typed)
        if line.kind != "command" or not self._startup.is_loaded:
            return line.kind in ("command", "leave")
        return self._startup.table.find(line.name) is not None

    def _can_run_now(self, line: ParsedLine) -> bool:
        """Return whether the line is a command that can run beside the running line."""
        if line.kind != "command" or self.task is None or not self._startup.is_loaded:
            return False
        command = self._startup.table.find(line.name)
        return command is not None and command.can_run_during_turn(line.text)

    async def run(self) -> None:
        """Process the queued lines until cancelled."""
        while True:
            text = await self._program.queue.get()
            if problem := self._prompt.history.pop_error():
                self._prompt.write(f"! {problem}\n")
            self._prompt.echo(text)
            await self._process(text)

    def interrupt(self) -> None:
        """Cancel the running line. Debounced to once a second, so that repeated keys do not cancel its cleanup."""
        now = asyncio.get_running_loop().time()
        if self.task is not None and now - self._interrupted_at >= _INTERRUPT_INTERVAL:
            self._interrupted_at = now
            self.task.cancel()

    def _read(self, text: str) -> ParsedLine:
        return parse_line(self._prompt.history.pastes.expand(text))

    async def _run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run `work` as an interruptible task. Returns False if it was interrupted; raises its exception."""
        self.task = task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(retrieve)
        self._interrupted_at = float("-inf")
        try:
            await asyncio.wait([task])
        finally:
            self.task = None
            if not task.done():  # the wait was cancelled because the program ends
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            return False
        task.result()
        return True

    async def _process(self, text: str) -> None:
        """Run one line. If interrupted while loading, put it back into the prompt."""
        line = self._read(text)
        if line.kind == "leave" and self._startup.is_loaded:
            line = ParsedLine("command", name="exit")
        if line.kind == "leave":
            self._program.quit()
        if line.kind in ("leave", "empty"):
            return

        if problem := find_excess(line.text):
            self._program.report(problem)
            self._prompt.set_draft(text)
            return
        self._unsaved = line
        try:
            is_ready = await self._run(self._wait_until_loaded(line))
        except SwecliError as error:
            if self._startup.is_loaded:  # else the prompt ends with that error
                self._unsaved = None
                self._program.report(error)
                self._prompt.set_draft(text)
            return
        self._unsaved = None
        if not is_ready:
            if self._startup.is_loaded:
                self._program.session_manager.drop_query()
            self._prompt.set_draft(text)
            return

        started = time.monotonic()
        is_done = await self._run(self._execute(line))
        self._finish_output()
        runtime = self._startup.context.runtime
        seconds = time.monotonic() - started
        if is_done and seconds >= runtime.settings.notify_after and not self._program.queue:
            self._prompt.notify("finished")
        self._startup.processor.measure_next()
        self._program.background_changed()
        self._startup.warm(runtime.agent)

    def _finish_output(self) -> None:
        """Show what waited for the end of the line."""
        for event in self._background.pop_deferred():
            self._program.renderer.show(event)
        self._prompt.close_output()

    async def _wait_until_loaded(self, line: ParsedLine) -> None:
        await _wait_with_timer(self._program.start_loading(), "starting", self._prompt)
        if line.kind == "text":
            await self._store_query()
            await _wait_with_timer(
                self._startup.warm(self._program.agent), "warming up", self._prompt
            )

    async def _store_query(self) -> None:
        """Store the query before waiting for anything else, so that it cannot be lost. Only another process that works
        in the session is waited for, and its turns are loaded: this one follows them."""
        line = self._unsaved
        if line is None or line.kind != "text":
            return
        # git is read while the query is written
        self._program.agent.builder.surroundings.begin()
        started = time.monotonic()

        async def wait(busy: BusyElsewhere) -> None:
            self._show_wait(f"{busy.message} Waiting", started)
            await asyncio.sleep(_WAIT_INTERVAL)

        async def load() -> None:
            # late: loaded after the prompt is shown
            from swecli.repl.commands.open_elsewhere import load_foreign_turns

            await load_foreign_turns(self._startup.context)

        await self._startup.context.runtime.store_query(line.text, wait, load)
        self._unsaved = None
        self._prompt.show_live([])

    async def close(self) -> None:
        """Store a query that was sent before loading was done."""
        if self._unsaved is not None:
            with suppress(SwecliError, TimeoutError):
                loading = asyncio.shield(self._program.start_loading())
                await asyncio.wait_for(loading, _STORE_TIMEOUT)
                await asyncio.wait_for(self._store_query(), _STORE_TIMEOUT)

    async def _execute(self, line: ParsedLine) -> None:
        """Execute the line. Any exception is reported in one line, and the session continues."""
        try:
            if line.kind == "command":
                await self._run_command(self._find_command(line.name), line.text)
            elif line.kind == "shell":
                await self._run_shell(line)
            else:
                await self._run_query(line)
        except Exception as error:  # noqa: BLE001
            self._program.report(error)

    def _find_command(self, name: str) -> Command:
        """Return the command of this name. Raises UsageError for an unknown one, which is never sent to the model."""
        table = self._startup.table
        command = table.find(name)
        if command is not None:
            return command
        # late: only for a line that is no command here
        from swecli.repl.commands.familiar import familiar_command, is_untrusted_command

        if is_untrusted_command(name, self._startup.context.runtime.cwd):
            raise UsageError(
                f"/{name} is a command of this folder, which you have not trusted.",
                "/trust shows it.",
            )
        if elsewhere := familiar_command(name):
            raise UsageError(f"There is no /{name} here.", elsewhere)
        suggestions = " or ".join(f"/{similar}" for similar in table.suggest(name))
        hint = f"Did you mean {suggestions}?" if suggestions else "Type /help for the list."
        raise UsageError(f"Unknown command /{name}.", hint)

    async def _run_shell(self, line: ParsedLine) -> None:
        if not line.text:
            raise UsageError("There is no command after the `!`.", "For example: !git status")
        if line.shared or not self._prompt.has_terminal:
            await self._startup.processor.run_shell(line.text, share=line.shared)
        elif code := await self._prompt.run_in_foreground(line.text):
            self._prompt.write(f"exit code {code}\n")

    async def _run_query(self, line: ParsedLine) -> None:
        await self._startup.processor.process_query(line.text)
        # late: loaded after the prompt is shown
        from swecli.repl.commands.restated import ask_about_restated

        await ask_about_restated(self._startup.context)

    async def _run_command(self, command: Command, args: str) -> None:
        """Run a command. If it takes long, a line says so, but for the time when it shows that itself or asks."""
        waiting_line = asyncio.get_running_loop().create_task(self._show_waiting(command.name))
        try:
            await command.run(self._startup.context, args)
        finally:
            waiting_line.cancel()
            if not self._program.renderer.is_working:
                self._prompt.show_live([])

    async def _show_waiting(self, name: str) -> None:
        started = time.monotonic()
        await asyncio.sleep(_QUIET_SECONDS)
        while True:
            if not self._program.renderer.is_working:
                if self._prompt.is_asking:
                    self._prompt.show_live([])
                else:
                    self._show_wait(f"/{name}", started)
            await asyncio.sleep(_WAIT_INTERVAL)

    def _show_wait(self, label: str, started: float) -> None:
        """Show what is waited for, the seconds since then, and how to stop that."""
        seconds = int(time.monotonic() - started)
        hint = self._prompt.keys.hint("interrupt", "to interrupt")
        line = " · ".join(filter(None, (label, f"{seconds} s", hint)))
        self._prompt.show_live(["", line])
