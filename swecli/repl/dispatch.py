"""Load the slow components after the first prompt: commands, renderer, store, model and what a first request needs; and
dispatch submitted lines, one after another, to a command, the shell or the model."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from swecli.models.errors import SwecliError, UsageError
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.dumb_prompt import DumbPrompt
from swecli.repl.input.prompt import PromptLine
from swecli.repl.program import Background, ParsedLine, Program, parse_line, run_in_thread

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.config.settings import Start
    from swecli.models.message import Ask
    from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
    from swecli.repl.commands.base import Command
    from swecli.repl.commands.registry import CommandTable

_log = logging.getLogger(__name__)
Build = Callable[["Start", "Ask"], "Runtime"]


class Startup:
    """Loads the components in daemon threads. `build` creates the runtime. `table`, `context` and `processor` are set
    once `is_loaded`."""

    table: CommandTable
    context: CommandContext
    processor: AsyncQueryProcessor

    def __init__(self, start: Start, build: Build | None = None) -> None:
        self._start, self._build = start, build or _build
        self.is_loaded = False
        self._table: asyncio.Future[CommandTable] | None = None
        self._runtime: Runtime | None = None
        self._warm: tuple[str, asyncio.Future[None]] | None = None  # by the model's name

    async def commands(self) -> Sequence[tuple[str, Sequence[str], str]]:
        """Return name, aliases and help of the commands, once they are loaded."""
        return [(one.name, one.aliases, one.help) for one in (await self._commands()).commands]

    async def values(self, name: str) -> Sequence[tuple[str, str]]:
        """Return the values that may follow a command's name, with their descriptions; () until the runtime is
        built."""
        command = (await self._commands()).find(name)
        if command is None or command.complete is None or self._runtime is None:
            return ()
        return command.complete(self._runtime)

    async def load(self) -> Runtime:
        """Build the runtime. Raises SwecliError for problems that the user can fix."""
        await self._commands()
        runtime = self._runtime = await run_in_thread(
            lambda: self._build(self._start, lambda request: self.context.approve(request)),
            "swecli-load",
        )
        self.warm(runtime.agent)
        return runtime

    async def assemble(
        self, program: Program, background: Background, prompt: PromptLine | DumbPrompt
    ) -> None:
        """Load and assemble all components; output goes above `prompt`. Raises like `load`."""
        self.table, runtime = await self._commands(), await self.load()
        # late: loaded after the prompt is shown
        from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
        from swecli.repl.render.renderer import Renderer
        from swecli.repl.render.screen import Screen

        renderer = Renderer(
            Screen(prompt, prompt.color, prompt.link_root), todos=runtime.agent.ctx.todos
        )
        self.context = CommandContext(runtime, self.table, renderer, program, prompt, background)
        self.processor = AsyncQueryProcessor(program)
        self.is_loaded = True

    def to_user_error(self, error: BaseException | str) -> SwecliError:
        """Return the error to show. An unexpected exception is logged with its traceback."""
        if isinstance(error, SwecliError):
            return error
        _log.error("fault: %s", error, exc_info=error if isinstance(error, BaseException) else None)
        what = error if isinstance(error, str) else f"{type(error).__name__}: {error}".strip(": ")
        return SwecliError(f"Internal error: {what}", f"Details are in {self._start.paths.log}.")

    def warm(self, agent: Agent) -> asyncio.Future[None]:
        """Load the token table and library of the agent's model, once, so that a first request is as fast as later
        ones."""
        name = agent.model.name
        if self._warm is None or self._warm[0] != name:
            self._warm = name, run_in_thread(lambda: _warm_up(agent), "swecli-warm")
        return self._warm[1]

    async def _commands(self) -> CommandTable:
        if self._table is None:
            self._table = run_in_thread(lambda: _discover(self._start), "swecli-commands")
        return await asyncio.shield(self._table)


def _warm_up(agent: Agent) -> None:
    if (warm := getattr(agent.model, "warm", None)) is not None:
        try:
            warm()
        except Exception:  # noqa: BLE001  # the first request will report the problem
            _log.warning("the model's library could not be loaded beforehand", exc_info=True)
    agent.warm()


def _discover(start: Start) -> CommandTable:
    # late: loaded after the prompt is shown
    from swecli.repl.commands.registry import CommandTable

    return CommandTable.discover(start.read_trust())


def _build(start: Start, ask: Ask) -> Runtime:
    # late: these imports take most of a second, and the prompt is shown before
    import swecli.repl.chat.async_query_processor
    import swecli.repl.render.renderer  # noqa: F401
    from swecli.app import build_runtime

    runtime = build_runtime(start, ask)
    runtime.settle()
    return runtime


_STORE_TIMEOUT = 10.0  # seconds to wait at the end for the store, to save a line that was sent before it was open
_INTERRUPT_INTERVAL = 1.0  # seconds
_SHOWN_AFTER = 0.3  # seconds after which a person wonders whether anything happens
_WAIT_INTERVAL = 0.5  # seconds between two drawings of a waiting command


async def _wait_with_timer(
    future: asyncio.Future[Any], label: str, prompt: PromptLine | DumbPrompt
) -> None:
    """Wait for a future and show the elapsed seconds meanwhile. Raises the future's exception; cancelling the wait does
    not cancel the future."""
    started = time.monotonic()
    try:
        while not future.done():
            prompt.show_live(["", f"{label} {time.monotonic() - started:.0f} s"])
            await asyncio.wait([future], timeout=0.5)
    finally:
        prompt.show_live([])
    await asyncio.shield(future)


class Dispatcher:
    """Runs the submitted lines of a REPL one at a time, while the prompt accepts more."""

    def __init__(
        self,
        program: Program,
        prompt: PromptLine | DumbPrompt,
        startup: Startup,
        background: Background,
    ) -> None:
        self._program, self._prompt, self._startup, self._background = (
            program,
            prompt,
            startup,
            background,
        )
        self._unsaved: ParsedLine | None = None
        self.task: asyncio.Task[None] | None = None  # the running line, which can be interrupted
        self._interrupted = float("-inf")

    def submit(self, typed: str) -> None:
        """Run a command at once if it can run during a turn, else queue the line."""
        line = self._read(typed)
        command = (
            self._startup.table.find(line.name)
            if self._startup.is_loaded and line.kind == "command"
            else None
        )
        if command is not None and self.task is not None and command.can_run_during_turn(line.text):
            self._prompt.echo(typed)
            self._background.start(self._execute(line))
        else:
            self._program.queue.put(typed)

    async def run(self) -> None:
        """Process the queued lines until cancelled."""
        while True:
            typed = await self._program.queue.get()
            if problem := self._prompt.history.pop_error():
                self._prompt.write(f"! {problem}\n")
            self._prompt.echo(typed)
            await self._process(typed)

    def interrupt(self) -> None:
        """Cancel the running line. Debounced to once a second, so that repeated keys do not cancel its cleanup."""
        now = asyncio.get_running_loop().time()
        if self.task is not None and now - self._interrupted >= _INTERRUPT_INTERVAL:
            self._interrupted = now
            self.task.cancel()

    def _read(self, typed: str) -> ParsedLine:
        return parse_line(self._prompt.history.pastes.expand(typed))

    async def _run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run `work` as an interruptible task. Returns False if it was interrupted; raises its exception."""
        self.task = task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(
            lambda task: task.cancelled() or task.exception()
        )  # else reported again at the end
        self._interrupted = float("-inf")
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

    async def _process(self, typed: str) -> None:
        """Run one line. If interrupted while loading, put it back into the prompt."""
        line = self._read(typed)
        if line.kind == "leave" and self._startup.is_loaded:
            line = ParsedLine("command", name="exit")
        if line.kind == "leave":
            self._program.quit()
        if line.kind in ("leave", "empty"):
            return
        self._unsaved = line
        try:
            is_ready = await self._run(self._wait_until_loaded(line))
        except SwecliError:  # loading failed: the prompt ends with that error
            return
        self._unsaved = None
        if not is_ready:
            if self._startup.is_loaded:
                self._program.session_manager.drop_query()
            self._prompt.set_draft(typed)
            return
        started = time.monotonic()
        is_done = await self._run(self._execute(line))
        for event in self._background.pop_deferred():
            self._program.renderer.show(event)
        self._prompt.close_output()
        runtime, took = self._startup.context.runtime, time.monotonic() - started
        if is_done and took >= runtime.settings.notify_after and not self._program.queue:
            self._prompt.notify("finished")
        self._program.footer.measure()
        self._program.background_changed()
        self._startup.warm(runtime.agent)

    async def _wait_until_loaded(self, line: ParsedLine) -> None:
        await _wait_with_timer(self._program.start_loading(), "starting", self._prompt)
        if line.kind == "text":
            self._store_query()
            await _wait_with_timer(
                self._startup.warm(self._program.agent), "warming up", self._prompt
            )

    def _store_query(self) -> None:
        """Store the query before waiting for anything else, so that it cannot be lost."""
        line, self._unsaved = self._unsaved, None
        if line is not None and line.kind == "text":
            self._program.session_manager.store_query(line.text)

    async def close(self) -> None:
        """Store a query that was sent before loading was done."""
        if self._unsaved is not None:
            with suppress(SwecliError, TimeoutError):
                await asyncio.wait_for(
                    asyncio.shield(self._program.start_loading()), _STORE_TIMEOUT
                )
                self._store_query()

    async def _execute(self, line: ParsedLine) -> None:
        """Execute the line. Any exception is reported in one line, and the session continues."""
        startup = self._startup
        try:
            if line.kind == "command":
                command = startup.table.find(line.name)
                if command is None:  # never sent to the model
                    suggestions = " or ".join(
                        f"/{name}" for name in startup.table.suggest(line.name)
                    )
                    hint = (
                        f"Did you mean {suggestions}?"
                        if suggestions
                        else "Type /help for the list."
                    )
                    raise UsageError(f"Unknown command /{line.name}.", hint)
                await self._run_command(command, line.text)
            elif line.kind == "shell":
                if not line.text:
                    raise UsageError(
                        "There is no command after the `!`.", "For example: !git status"
                    )
                await startup.processor.run_shell(line.text, share=line.shared)
            else:
                await startup.processor.process_query(line.text)
                # late: loaded after the prompt is shown
                from swecli.repl.commands.restated import ask_about_restated

                await ask_about_restated(startup.context)
        except Exception as error:  # noqa: BLE001
            self._program.report(error)

    async def _run_command(self, command: Command, args: str) -> None:
        """Run a command. If it takes long, a line says so, but for the time when it shows that itself or asks."""
        showing = asyncio.get_running_loop().create_task(self._show_waiting(command.name))
        try:
            await command.run(self._startup.context, args)
        finally:
            showing.cancel()
            if not self._program.renderer.is_working:
                self._prompt.show_live([])

    async def _show_waiting(self, name: str) -> None:
        started = time.monotonic()
        await asyncio.sleep(_SHOWN_AFTER)
        while True:
            if not self._program.renderer.is_working:
                seconds = int(time.monotonic() - started)
                line = f"/{name} · {seconds} s · Esc to interrupt"
                self._prompt.show_live([] if self._prompt.is_asking else ["", line])
            await asyncio.sleep(_WAIT_INTERVAL)
