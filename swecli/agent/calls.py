"""The calls of one reply: asked for in order, run together where they only read, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from swecli.config.settings import Start
from swecli.context.tokens import TokenCounter
from swecli.models.errors import BadInput
from swecli.models.events import Event, Notice, ToolFinished, ToolProgress, ToolStarted, UsageReported
from swecli.models.message import (
    INTERRUPTED_RESULT,
    ApiMessage,
    Ask,
    AskRequest,
    Decision,
    Display,
    ToolCall,
    ToolResult,
)
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.execute import ToolRegistry, execute
from swecli.tools.files import digest, read_bytes
from swecli.tools.limits import HeadTail, LoopGuard, strip_terminal_codes, truncate_result, unchanged_notice
from swecli.tools.permissions import Permissions, load_permissions

_Outcome = tuple[ToolCall, str, ToolResult]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What calls are made with: the tools, what decides whether one may be made, where they work, and who is asked."""

    tools: ToolRegistry
    permissions: Permissions
    ctx: ToolContext
    ask: Ask

    @classmethod
    def open(cls, start: Start, results: SessionManager, ask: Ask) -> tuple[Toolkit, list[str]]:
        """All tools at work in the run's folder, and notices on rules that do not count."""
        tools, root = ToolRegistry.discover(), start.cwd.resolve()
        permissions, notices = load_permissions(start, root, tools)
        ctx = ToolContext(root, results=results, timeout=float(start.settings.command_timeout), environ=start.environ)
        return cls(tools, permissions, ctx, ask), notices

    def note_read(self, paths: Iterable[Path]) -> None:
        """The model has seen these files."""
        for path in paths:
            with suppress(ToolError):  # gone since it was read: then it is not known, and that is safe
                self.ctx.seen[path] = digest(read_bytes(self.ctx.root, path))

    async def shell(self, command: str, output: HeadTail | None = None) -> tuple[str, int]:
        """Run the user's own command line with the tool's limits, unasked; its output and exit code. `output` collects
        what it prints, as it comes. Raises BadInput when it could not be started."""
        tool = self.tools.get("run_command")
        if tool is None:
            raise BadInput("There is no tool that runs commands.")
        ctx = replace(self.ctx, output=output)
        try:
            params = tool.params.model_validate({"command": command})
            result = await tool.run(params, ctx, tool.plan(params, ctx))
        except ToolError as error:
            raise BadInput(str(error)) from error
        except ValidationError as error:  # empty, or letters that are no text
            raise BadInput(f"This cannot be run: {error.errors(include_url=False)[0]['msg']}.") from error
        return result.for_user.body, result.exit_code or 0


class CallRunner:
    """Runs one turn's calls and stores what came of them. `limit` is a result's cap in characters; `used_ids` are call
    ids that no new call may have."""

    def __init__(self, kit: Toolkit, sessions: SessionManager, limit: int, counter: TokenCounter) -> None:
        self._kit, self._sessions, self.limit, self._counter = kit, sessions, limit, counter
        self.used_ids: set[str] = set()
        self._sent: Sequence[ApiMessage] = ()
        self._guard = LoopGuard()
        self._running: dict[str, HeadTail] = {}
        self._seen: dict[str, int] = {}
        self._asking = asyncio.Lock()

    async def run(
        self, calls: list[ToolCall], problems: dict[str, str], sent: Sequence[ApiMessage] = ()
    ) -> AsyncGenerator[Event, None]:
        """Run them all; each result is stored before its `ToolFinished` goes up. Cancelled, calls that had begun still
        get theirs, with what was printed until then. `problems` maps a call's id to what is wrong with its arguments;
        `sent` is the request that asked for them: a result that it holds already need not be sent again."""
        self._sent = sent
        self._guard.begin_reply()
        self.used_ids.update(call.id for call in calls)
        tools = self._kit.tools
        for reads, neighbours in groupby(
            calls, lambda call: bool((tool := tools.get(call.name)) and tool.kind.is_read_only)
        ):
            together = list(neighbours)
            for batch in [together] if reads else [[call] for call in together]:  # what changes things goes alone
                async for event in self._run_batch(batch, problems):
                    yield event
                for line in self._kit.ctx.changes.take_notices() if self._kit.ctx.changes else ():
                    yield Notice(line, "warning")

    async def _run_batch(self, batch: list[ToolCall], problems: dict[str, str]) -> AsyncGenerator[Event, None]:
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._run_one(call, problems.get(call.id), happened.put_nowait)) for call in batch]
        for task in tasks:
            task.add_done_callback(lambda _: happened.put_nowait(None))
        running, stopped = len(tasks), False
        try:
            while running and not stopped:
                try:
                    event = await happened.get()
                except asyncio.CancelledError:
                    stopped = True
                    await _end(tasks)
                    continue
                if event is not None:
                    yield event
                else:
                    running -= 1
            for task in tasks:
                if task.cancelled():  # before it had begun
                    continue
                call, summary, result = task.result()
                stopped = stopped or result.cancelled
                if summary:
                    yield ToolFinished(call, summary, result)
            if stopped:
                raise asyncio.CancelledError
        finally:
            await _end(tasks)

    async def _run_one(self, call: ToolCall, problem: str | None, tell: Callable[[Event], None]) -> _Outcome:
        kept, begun = HeadTail(), ""

        def started(call: ToolCall, summary: str) -> None:
            nonlocal begun
            begun, self._running[call.id] = summary, kept
            tell(ToolStarted(call, summary))

        kit = self._kit
        ctx = replace(kit.ctx, report=lambda text: tell(ToolProgress(call.id, text)), output=kept, started=started)
        ctx.spent = lambda usage, cost: tell(UsageReported(usage, cost))
        try:
            result, summary = await execute(call, kit.tools, ctx, kit.permissions, self._ask, problem=problem)
        except asyncio.CancelledError:  # the call says by now how far it came
            whole = call.result or INTERRUPTED_RESULT
            self._record(call, whole)
            title = f"stopped by the user after {(call.duration_ms or 0) / 1000:.0f} s"
            shown = Display(title, strip_terminal_codes(kept.text()))
            return call, begun, ToolResult(False, whole, shown, cancelled=True)
        finally:
            self._running.pop(call.id, None)
        notes = [self._guard.record(call, result.for_model), *kit.ctx.jobs.pop_notices()]
        self._record(call, result.for_model, "\n".join(note for note in notes if note))
        return call, summary, result

    def _record(self, call: ToolCall, whole: str, note: str = "") -> None:
        """Commit what the model gets of a result, with a note to it, and all of it where that is more."""
        text, was_cut = truncate_result(whole, self.limit, call.id)
        if line := unchanged_notice(call, text, self._sent):
            text, was_cut = line, True
        call.result = f"{text}\n\n{note}" if note else text
        call.tokens = self._counter.count(call.result) if self._counter.label else None
        self._sessions.record_call(call, whole if was_cut else None)

    def printed(self) -> list[tuple[int, str, str]]:
        """What running calls have printed, of those that printed something since this was last asked: the call's key in
        the store, its id, the text."""
        grown = {name: kept for name, kept in self._running.items() if kept.size != self._seen.get(name, 0)}
        self._seen |= {name: kept.size for name, kept in grown.items()}
        keys = {name: self._sessions.open_call(name) for name in grown}
        return [(key, name, grown[name].text()) for name, key in keys.items() if key is not None]

    async def going_on(self) -> bool:
        """Whether the turn may go on: False when it goes round in circles and nobody wants that."""
        return await self._guard.may_continue(self._ask)

    async def _ask(self, request: AskRequest) -> Decision:
        async with self._asking:  # one question at a time, however many calls run
            return await self._kit.ask(request)


async def _end(tasks: list[asyncio.Task[_Outcome]]) -> None:
    """Cancel what still runs, and wait until it has tidied up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
