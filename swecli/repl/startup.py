"""Load the slow components after the first prompt: commands, renderer, store, model and what a first request needs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from swecli.models.errors import SwecliError, describe_unexpected
from swecli.repl.background import Background, run_in_thread
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.dumb_prompt import DumbPrompt
from swecli.repl.input.prompt import PromptLine
from swecli.repl.program import Program

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.config.settings import Start
    from swecli.models.approval import Ask, AskRequest, Decision
    from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
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
        self._start = start
        self._build = build or _build
        self.is_loaded = False
        self._table: asyncio.Future[CommandTable] | None = None
        self._lock = threading.Lock()  # of the next two
        self._runtime: Runtime | None = None  # once it is built
        self._is_closed = False
        self._warm_model = ""  # the name of the model for which `_warm` is
        self._warm: asyncio.Future[None] | None = None

    async def commands(self) -> Sequence[tuple[str, Sequence[str], str]]:
        """Return name, aliases and help of the commands, once they are loaded."""
        table = await self._commands()
        return [(command.name, command.aliases, command.help) for command in table.commands]

    async def values(self, name: str) -> Sequence[tuple[str, str]]:
        """Return the values that may follow a command's name, with their descriptions; () until the runtime is
        built."""
        table = await self._commands()
        command = table.find(name)
        if command is None or command.complete is None or self._runtime is None:
            return ()
        return command.complete(self._runtime)

    async def further_values(self, name: str, text: str) -> Sequence[tuple[str, str]]:
        """Return what all arguments of a command together may be, of which a part was typed, with descriptions."""
        table = await self._commands()
        command = table.find(name)
        if command is None or command.complete_further is None or self._runtime is None:
            return ()
        return command.complete_further(self._runtime, text)

    def folders(self) -> tuple[str, ...]:
        """Return the paths of the folders that were added to the session; () until the runtime is built."""
        if self._runtime is None:
            return ()
        return tuple(folder.path for folder in self._runtime.agent.permissions.usable_folders)

    async def load(self) -> Runtime:
        """Build the runtime. Raises SwecliError for problems that the user can fix."""
        await self._commands()
        runtime = await run_in_thread(self._build_runtime, "swecli-load")
        self.warm(runtime.agent)
        return runtime

    def close(self) -> None:
        """Close the runtime, also one that was not used yet; one that is still being built closes when it is."""
        with self._lock:
            self._is_closed = True
            runtime = self._runtime
        if runtime is not None:
            runtime.close()

    def _build_runtime(self) -> Runtime:
        """Build the runtime in a thread, which nobody waits for if the user quits meanwhile."""
        runtime = self._build(self._start, self._ask)
        runtime.warm()
        with self._lock:
            self._runtime = runtime
            is_closed = self._is_closed
        if is_closed:
            runtime.close()
        return runtime

    async def assemble(
        self, program: Program, background: Background, prompt: PromptLine | DumbPrompt
    ) -> None:
        """Load and assemble all components; output goes above `prompt`. Raises like `load`."""
        self.table = await self._commands()
        runtime = await self.load()
        # late: loaded after the prompt is shown
        from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
        from swecli.repl.render.renderer import Renderer
        from swecli.repl.render.screen import Screen

        screen = Screen(
            prompt,
            prompt.color,
            link_root=prompt.link_root,
            keys=prompt.keys,
            plain=isinstance(prompt, DumbPrompt),
        )
        renderer = Renderer(screen, todos=runtime.agent.ctx.todos)
        self.context = CommandContext(runtime, self.table, renderer, program, prompt, background)
        self.processor = AsyncQueryProcessor(program)
        self.is_loaded = True

    def to_user_error(self, error: BaseException | str) -> SwecliError:
        """Return the error to show. An unexpected exception is logged with its traceback."""
        if isinstance(error, SwecliError):
            return error
        if isinstance(error, str):
            problem = f"Internal error: {error}"
            _log.error("fault: %s", error)
        else:
            problem = describe_unexpected(error)
            _log.error("fault: %s", error, exc_info=error)
        return SwecliError(problem, f"Details are in {self._start.paths.log}.")

    def warm(self, agent: Agent) -> asyncio.Future[None]:
        """Load the token table and library of the agent's model, once, so that a first request is as fast as later
        ones."""
        name = agent.model.name
        if self._warm is None or self._warm_model != name:
            self._warm = run_in_thread(lambda: _warm_up(agent), "swecli-warm")
            self._warm_model = name
        return self._warm

    async def _ask(self, request: AskRequest) -> Decision:
        return await self.context.approve(request)

    async def _commands(self) -> CommandTable:
        if self._table is None:
            self._table = run_in_thread(lambda: _discover(self._start), "swecli-commands")
        return await asyncio.shield(self._table)


def _warm_up(agent: Agent) -> None:
    # late: it is loaded with the runtime, after the prompt is shown
    from swecli.app import settle

    warm = getattr(agent.model, "warm", None)
    if warm is not None:
        try:
            warm()
        except Exception:  # noqa: BLE001  # the first request will report the problem
            _log.warning("the model's library could not be loaded beforehand", exc_info=True)
    try:
        agent.warm()
    finally:
        settle()


def _discover(start: Start) -> CommandTable:
    # late: loaded after the prompt is shown
    from swecli.repl.commands.registry import CommandTable

    return CommandTable.discover(start.read_trust(), start.paths)


def _build(start: Start, ask: Ask) -> Runtime:
    # late: these imports take most of a second, and the prompt is shown before
    import swecli.repl.chat.async_query_processor
    import swecli.repl.render.renderer  # noqa: F401
    from swecli.app import build_runtime

    return build_runtime(start, ask)
