"""The REPL: draws the prompt first, loads the rest behind it, and takes one line after another to its place."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, cast

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.models.errors import SwecliError
from swecli.repl.background import Afterthought, Background
from swecli.repl.chat.interrupt import Work
from swecli.repl.controls import ReplControls
from swecli.repl.crash import fault
from swecli.repl.footer import Gauge
from swecli.repl.input.line_queue import LineQueue
from swecli.repl.line_worker import LineWorker
from swecli.repl.reader import LineReader
from swecli.repl.startup import Build, Loading
from swecli.repl.startup_banner import banner, failure

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.config.start import Start
    from swecli.models.events import Event
    from swecli.models.message import AskRequest, Decision
    from swecli.repl.chat.async_query_processor import Chat
    from swecli.repl.commands.base import Command
    from swecli.repl.commands.registry import CommandTable
    from swecli.repl.input.by_line import PromptByLine
    from swecli.repl.input.prompt import PromptLine
    from swecli.repl.parts import Parts
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.screen import Screen
    from swecli.store.session_manager import SessionManager


class REPL:
    """One run at the terminal. `session_manager`, `agent` and `runtime` are None until the loading is done.

    `keyboard` and `output` take the place of the terminal, `build` that of `build_runtime`.
    """

    def __init__(
        self, start: Start, keyboard: Input | None = None, output: Output | None = None, build: Build | None = None
    ) -> None:
        self.start = start
        self.session_manager: SessionManager | None = None
        self.agent: Agent | None = None
        self.runtime: Runtime | None = None
        self._code = 0
        self._parts: Parts | None = None
        self.table: CommandTable | None = None
        self._up: asyncio.Task[None] | None = None
        self.loading = Loading(start, self.ask, build)
        self.gauge = Gauge(start, lambda: self.prompt.redraw())
        self.worker = LineWorker(self)
        self.reader = LineReader(
            start,
            self.loading,
            self.gauge,
            ReplControls(self),
            self.worker.submit,
            self.begin_loading,
            keyboard,
            output,
        )
        self.work = Work()
        self.behind = Background(self._failed_behind, self._busy_behind)
        self.after = Afterthought(self.behind.start, self._show_above, lambda: self.work.busy)

    @property
    def prompt(self) -> PromptLine | PromptByLine:
        """The line, and everything that is printed above it."""
        return self.reader.prompt

    # The journey of a line

    async def run(self) -> int:
        """Read and do lines until the user leaves. Returns the exit code."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: self._failed_behind(what.get("exception") or what["message"]))
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, 128 + number)
        self.prompt.write(banner(self.start, self.reader.color, self.prompt.width))
        working = loop.create_task(self.worker.run())
        try:
            await self.reader.run()
        except SwecliError as error:  # it could not be built: there is nothing to go on with
            self.prompt.write(failure(error, self.reader.color))
            self._code = error.exit_code
        except OSError:
            if not self._code:  # else the terminal went away, and that is why it ends
                raise
        finally:
            working.cancel()
            await asyncio.wait([working])
            await self._close()
        return self._code

    # Loading

    def begin_loading(self) -> asyncio.Task[None]:
        """Load what is slow, once; what is waited for before a line can be done."""
        if self._up is None:
            self._up = asyncio.get_running_loop().create_task(self._come_up())
            self._up.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._up

    async def _come_up(self) -> None:
        """Load, and put the parts together. When that fails, the reading ends with the line that says why."""
        try:
            self.table = await self.loading.table()
            runtime = await self.loading.ready()
            # late: loaded behind the prompt
            from swecli.repl.parts import make_parts  # noqa: PLC0415

            self._parts = make_parts(runtime, cast("Chat", self), self, self.prompt)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line and an exit code
            known = error if isinstance(error, SwecliError) else fault(self.start.paths.log, error)
            self.reader.give_up(known)
            raise known from error
        self.runtime, self.session_manager, self.agent = runtime, runtime.sessions, runtime.agent
        self.gauge.arrived(runtime)
        self.parts.greet()
        self.prompt.redraw()
        self.after.catch_up(runtime.learning)

    # What the processor needs: with `session_manager` and `agent` this makes it a Chat

    @property
    def screen(self) -> Screen:
        """Where everything is printed, once loaded."""
        return self.parts.screen

    @property
    def renderer(self) -> Renderer:
        """What draws events, once loaded."""
        return self.parts.renderer

    def observe(self, event: Event) -> None:
        """Take note of an event: for the footer."""
        self.gauge.observe(event)

    def learn_later(self, interaction: int) -> None:
        """Reflect on a turn behind the prompt."""
        if self.runtime is not None:
            self.after.learn(self.runtime.learning, interaction)

    async def ask(self, request: AskRequest) -> Decision:
        """The one question that comes up from below: may this call run?"""
        return await self.parts.approver(request)

    # What keys and commands need: this makes it a Door

    @property
    def commands(self) -> list[Command]:
        """Every command."""
        return self.table.commands if self.table else []

    @property
    def queue(self) -> LineQueue:
        """The lines that wait."""
        return self.reader.queue

    def leave(self, code: int = 0) -> None:
        """End the program; what runs is stopped."""
        self._code = self._code or code
        self.prompt.end()

    def steer(self, text: str) -> None:
        """Put a line into the running turn, before its next request; without one it is the next line."""
        if self.work.busy and self.agent is not None and self.agent.steer(text):
            self.prompt.echo(text)
        else:
            self.queue.put(text)

    def set_draft(self, text: str) -> None:
        """Put a text into the line, to be edited."""
        self.prompt.set_draft(text)

    # The rest

    @property
    def parts(self) -> Parts:
        """What draws, asks and acts, once loaded."""
        assert self._parts is not None, "asked for before the loading was done"
        return self._parts

    async def _show_above(self, event: Event) -> None:
        self.renderer.show(event)
        self.gauge.refresh()
        self.prompt.redraw()

    def _busy_behind(self) -> None:
        self.gauge.busy = "learning" if self.behind.busy else ""
        self.prompt.redraw()

    def _failed_behind(self, error: BaseException | str) -> None:
        self.prompt.write(failure(fault(self.start.paths.log, error), self.reader.color))

    async def _close(self) -> None:
        """Stop what goes on, and finish with the store."""
        await self.worker.close()
        await self.behind.close()
        if self.runtime is not None:
            self.runtime.close()
