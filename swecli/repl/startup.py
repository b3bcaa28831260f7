"""Load the slow components after the first prompt: commands, renderer, store, model and what a first request needs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from swecli.models.errors import SwecliError
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext
from swecli.repl.program import Program

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.config.settings import Start
    from swecli.models.message import Ask
    from swecli.repl.background import Background
    from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
    from swecli.repl.commands.registry import CommandTable
    from swecli.repl.input.dumb_prompt import DumbPrompt
    from swecli.repl.input.prompt import PromptLine

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
            lambda: self._build(self._start, lambda request: self.context.approve(request)), "swecli-load"
        )
        self.warm(runtime.agent)
        return runtime

    async def assemble(self, program: Program, background: Background, prompt: PromptLine | DumbPrompt) -> None:
        """Load and assemble all components; output goes above `prompt`. Raises like `load`."""
        self.table, runtime = await self._commands(), await self.load()
        # late: loaded after the prompt is shown
        from swecli.repl.chat.async_query_processor import AsyncQueryProcessor  # noqa: PLC0415
        from swecli.repl.render.renderer import Renderer  # noqa: PLC0415
        from swecli.repl.render.screen import Screen  # noqa: PLC0415

        renderer = Renderer(Screen(prompt, prompt.color, prompt.link_root), todos=runtime.agent.ctx.todos)
        self.context = CommandContext(runtime, self.table.commands, renderer, program, prompt, background)
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
    from swecli.config.paths import project_root  # noqa: PLC0415
    from swecli.repl.commands.registry import CommandTable  # noqa: PLC0415

    return CommandTable.discover(project_root(start.cwd) if start.trusted else None)


def _build(start: Start, ask: Ask) -> Runtime:
    # late: these imports take most of a second, and the prompt is shown before
    import swecli.repl.chat.async_query_processor
    import swecli.repl.render.renderer  # noqa: F401, PLC0415
    from swecli.app import build_runtime  # noqa: PLC0415

    return build_runtime(start, ask)


_PAUSE, _TYPING_WINDOW = 0.002, 0.3  # seconds


class ImportThrottle:
    """A meta-path finder that throttles imports in other threads while the user types, so that keys stay responsive: a
    pause before each module, and before the tokenizer, whose table is built in one step, until typing stops."""

    def __init__(self, program: Program, prompt: PromptLine | DumbPrompt) -> None:
        self._program, self._prompt = program, prompt

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Pause while the user types; never find a module."""
        wait = threading.current_thread() is not threading.main_thread()
        while wait and not self._program.working and time.monotonic() - self._prompt.last_key < _TYPING_WINDOW:
            time.sleep(_PAUSE)
            wait = fullname == "tiktoken"
