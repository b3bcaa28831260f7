"""The calls of one reply: asked for in order, run together where they only read, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace

from swecli.agent.loop_guard import LoopGuard, repeated
from swecli.context.tokens import TokenCounter
from swecli.models.events import Event, ToolFinished, ToolProgress, ToolStarted
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
from swecli.tools.base import ToolContext
from swecli.tools.execute import execute
from swecli.tools.limits import HeadTail, cap, readable
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

Outcome = tuple[ToolCall, str, ToolResult]


@dataclass(frozen=True, slots=True)
class Printed:
    """What a call that still runs has printed; `key` is the call's in the store."""

    call_id: str
    key: int
    text: str


class CallRunner:
    """Runs one turn's calls with the session's tools, permissions and store.

    `limit` is a result's cap in characters; `guard` watches for circles; `used_ids` are call ids that no new
    call may have.
    """

    def __init__(
        self,
        tools: ToolRegistry,
        ctx: ToolContext,
        permissions: Permissions,
        ask: Ask,
        sessions: SessionManager,
        limit: int,
        counter: TokenCounter,
    ) -> None:
        self._tools, self._ctx, self._permissions, self._sessions = tools, ctx, permissions, sessions
        self.limit, self._counter = limit, counter
        self.used_ids: set[str] = set()
        self._sent: Sequence[ApiMessage] = ()
        self.guard = LoopGuard()
        self._running: dict[str, HeadTail] = {}
        self._seen: dict[str, int] = {}
        self._asking = asyncio.Lock()
        self._ask_user = ask

    async def run(
        self, calls: list[ToolCall], problems: dict[str, str], sent: Sequence[ApiMessage] = ()
    ) -> AsyncGenerator[Event, None]:
        """Run them all. Each result is stored before its `ToolFinished` goes up.

        When that is cancelled, calls that had begun still get their `ToolFinished`, with what was printed until then;
        then CancelledError goes on. `problems` maps a call's id to what is wrong with its arguments;
        `sent` is the request that asked for them, where a result that it holds already need not be sent again.
        """
        self._sent = sent
        self.guard.begin_reply()
        self.used_ids.update(call.id for call in calls)
        for batch in self._batches(calls):
            async for event in self._run_batch(batch, problems):
                yield event

    def _batches(self, calls: list[ToolCall]) -> list[list[ToolCall]]:
        """Neighbours that only read go together; what changes things goes alone."""
        batches: list[list[ToolCall]] = []
        reading = False
        for call in calls:
            reads = self._only_reads(call)
            if reads and reading:
                batches[-1].append(call)
            else:
                batches.append([call])
            reading = reads
        return batches

    def _only_reads(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.kind.reads

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

    async def _run_one(self, call: ToolCall, problem: str | None, tell: Callable[[Event], None]) -> Outcome:
        kept, begun = HeadTail(), ""

        def started(call: ToolCall, summary: str) -> None:
            nonlocal begun
            begun, self._running[call.id] = summary, kept
            tell(ToolStarted(call, summary))

        ctx = replace(self._ctx, report=lambda text: tell(ToolProgress(call.id, text)), output=kept, started=started)
        try:
            result, summary = await execute(
                call,
                self._tools,
                ctx,
                self._permissions,
                self._ask,
                problem=problem,
            )
        except asyncio.CancelledError:  # the call says by now how far it came
            whole = call.result or INTERRUPTED_RESULT
            text, was_cut = cap(whole, self.limit, call.id)
            self._record(call, text, whole if was_cut else None)
            title = f"stopped by the user after {(call.duration_ms or 0) / 1000:.0f} s"
            shown = Display(title, readable(kept.text()))
            return call, begun, ToolResult(False, whole, shown, cancelled=True)
        finally:
            self._running.pop(call.id, None)
        text, was_cut = cap(result.for_model, self.limit, call.id)
        if line := repeated(call, text, self._sent):
            text, was_cut = line, True
        note = self.guard.take(call, result.for_model)
        self._record(call, f"{text}\n\n{note}" if note else text, result.for_model if was_cut else None)
        return call, summary, result

    def _record(self, call: ToolCall, text: str, whole: str | None) -> None:
        """Commit what the model gets of a result, and all of it where that is more."""
        call.result = text
        call.tokens = self._counter.count(text) if self._counter.label else None
        self._sessions.record_call(call, whole)

    def printed(self) -> list[Printed]:
        """What running calls have printed, of those that printed something since this was last asked."""
        grown = {name: kept for name, kept in self._running.items() if kept.size != self._seen.get(name, 0)}
        self._seen |= {name: kept.size for name, kept in grown.items()}
        keys = {name: self._sessions.open_call(name) for name in grown}
        return [Printed(name, key, grown[name].text()) for name, key in keys.items() if key is not None]

    async def going_on(self) -> bool:
        """Whether the turn may go on: False when it goes round in circles and nobody wants that."""
        return await self.guard.going_on(self._ask)

    async def _ask(self, request: AskRequest) -> Decision:
        async with self._asking:  # one question at a time, however many calls run
            return await self._ask_user(request)


async def _end(tasks: list[asyncio.Task[Outcome]]) -> None:
    """Cancel what still runs, and wait until it has tidied up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
