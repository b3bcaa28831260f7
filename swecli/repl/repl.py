"""The REPL: draws the prompt first, loads the rest behind it, and takes one line after another to its place."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, cast

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.models.errors import SwecliError
from swecli.repl.afterthought import Afterthought
from swecli.repl.background import Background
from swecli.repl.banner import banner, failure, wait_visibly
from swecli.repl.chat.interrupt import Work
from swecli.repl.crash import fault
from swecli.repl.gauge import Gauge
from swecli.repl.lines import Line, read_line
from swecli.repl.loading import Build, Loading
from swecli.repl.reader import LineReader

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.config.start import Start
    from swecli.models.events import Event
    from swecli.models.tool import AskRequest, Decision
    from swecli.repl.chat.async_query_processor import Chat
    from swecli.repl.commands.base import Command
    from swecli.repl.commands.registry import CommandTable
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
        self.start, self._keyboard, self._output = start, keyboard, output
        self.session_manager: SessionManager | None = None
        self.agent: Agent | None = None
        self.runtime: Runtime | None = None
        self._code: int | None = None
        self._parts: Parts | None = None
        self._table: CommandTable | None = None
        self._up: asyncio.Task[None] | None = None
        self._spinning = False
        self.loading = Loading(start, self.ask, build)
        self.gauge = Gauge(start, lambda: self.reader.prompt.redraw())
        self.reader = LineReader(
            start, self.loading, self.gauge, self._expand_last, self._begin_loading, keyboard, output
        )
        self.work = Work(self.reader.prompt.input, self.reader.prompt.output)
        self.behind = Background(self._failed_behind, self._busy_behind)
        self._after = Afterthought(self.behind.start, self._tell_above, lambda: self.work.busy)

    # The journey of a line

    async def run(self) -> int:
        """Read and do lines until the user leaves. Returns the exit code."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: self._failed_behind(what.get("exception") or what["message"]))
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended_by, number)
        self.reader.write(banner(self.start, self.reader.color, self.reader.prompt.width))
        try:
            while self._code is None and (typed := await self.reader.next_line()) is not None:
                await self._take(typed)
        except SwecliError as error:  # it could not be built: there is nothing to go on with
            self.reader.write(failure(error, self.reader.color))
            self._code = error.exit_code
        except OSError:
            if self._code is None:  # else the terminal went away, and that is why it ends
                raise
        finally:
            await self._close()
        return self._code or 0

    async def _take(self, typed: str) -> None:
        """Do one line. Interrupted while it still waits for the loading, it goes back into the prompt."""
        line = read_line(typed)
        if line.kind == "leave":
            self.leave()
        if line.kind in ("leave", "empty"):
            return
        if not await self.work.run(self._wait_for(line)):
            self.reader.set_draft(typed)
            return
        try:
            await self.work.run(self._do(line))
        except SwecliError as error:
            self.screen.error(error.message, error.hint)
        except Exception as error:  # noqa: BLE001 - a fault in one command or turn must not take the session along
            seen = fault(self.start.paths.log, error)
            self.screen.error(seen.message, seen.hint)
        for event in self._after.untold():
            self.renderer.show(event)
        self.reader.write("\n")
        self.gauge.refresh()
        if self.runtime is not None:
            self.loading.warm(self.runtime.agent)

    async def _wait_for(self, line: Line) -> None:
        """Wait, at full speed, until what the line needs is loaded."""
        self.loading.hurry()
        moving = not self.reader.dumb
        self._spinning = moving
        await wait_visibly(self._begin_loading(), "starting", self.reader.write, moving)
        self._spinning = False
        if line.kind == "text" and self.runtime is not None:
            warm = asyncio.ensure_future(self.loading.warmed(self.runtime.agent))
            await wait_visibly(warm, "warming up", self.reader.write, moving)

    async def _do(self, line: Line) -> None:
        # late: loaded behind the prompt
        from swecli.repl.dispatch import do  # noqa: PLC0415

        assert self._table is not None
        await do(line, self._loaded, self._table)

    # Loading

    def _begin_loading(self) -> asyncio.Task[None]:
        if self._up is None:
            self._up = asyncio.get_running_loop().create_task(self._come_up())
            self._up.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._up

    async def _come_up(self) -> None:
        """Load, and put the parts together. When that fails, the reading ends with the line that says why."""
        try:
            self._table = await self.loading.table()
            runtime = await self.loading.ready()
            # late: loaded behind the prompt
            from swecli.repl.parts import make_parts  # noqa: PLC0415

            self._parts = make_parts(runtime, cast("Chat", self), self, self._keyboard, self._output)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line and an exit code
            known = error if isinstance(error, SwecliError) else fault(self.start.paths.log, error)
            self.reader.give_up(known)
            raise known from error
        self.runtime, self.session_manager, self.agent = runtime, runtime.sessions, runtime.agent
        self.gauge.arrived(runtime)
        if self._spinning:
            self.reader.write("\r\x1b[K")
        await self.reader.prompt.above(self._loaded.greet)
        self._after.catch_up(runtime.learner)

    # What the processor needs: with `session_manager` and `agent` this makes it a Chat

    @property
    def screen(self) -> Screen:
        """Where everything is printed, once loaded."""
        return self._loaded.screen

    @property
    def renderer(self) -> Renderer:
        """What draws events, once loaded."""
        return self._loaded.renderer

    def observe(self, event: Event) -> None:
        """Take note of an event: for the footer."""
        self.gauge.observe(event)

    def learn_later(self, interaction: int) -> None:
        """Reflect on a turn behind the prompt."""
        if self.runtime is not None:
            self._after.learn(self.runtime.learner, interaction)

    async def ask(self, request: AskRequest) -> Decision:
        """The one question that comes up from below: may this call run?"""
        return await self._loaded.approver(request)

    # What commands need: this makes it a Door

    @property
    def commands(self) -> list[Command]:
        """Every command."""
        return self._table.commands if self._table else []

    def leave(self, code: int = 0) -> None:
        """End after this line."""
        self._code = code

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        self.reader.set_draft(text)

    # The rest

    @property
    def _loaded(self) -> Parts:
        assert self._parts is not None, "asked for before the loading was done"
        return self._parts

    def _expand_last(self) -> None:
        if self._parts is not None and not self._parts.renderer.expand_last():
            self._parts.screen.note("no tool has run yet")

    async def _tell_above(self, event: Event) -> None:
        await self.reader.prompt.above(lambda: self.renderer.show(event))
        self.gauge.refresh()

    def _busy_behind(self) -> None:
        self.gauge.busy = "learning" if self.behind.busy else ""
        self.reader.prompt.redraw()

    def _failed_behind(self, error: BaseException | str) -> None:
        told = failure(fault(self.start.paths.log, error), self.reader.color)
        asyncio.ensure_future(self.reader.prompt.above(lambda: self.reader.write(told)))

    def _ended_by(self, number: int) -> None:
        self.leave(128 + number)
        if not self.reader.prompt.end(EOFError()):
            self.work.interrupt()

    async def _close(self) -> None:
        """Stop what goes on, and finish with the store."""
        await self.behind.close()
        if self.runtime is not None:
            self.runtime.close()
