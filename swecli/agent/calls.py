"""The calls of one reply: asked for in order, run together where they only read, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from swecli.agent.loop_guard import LoopGuard
from swecli.agent.repeats import Repeats
from swecli.context.tokens import TokenCounter
from swecli.models.events import Event, ToolFinished, ToolProgress, ToolStarted
from swecli.models.message import ToolCall
from swecli.models.tool import Ask, AskRequest, Decision, ToolResult
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext
from swecli.tools.execute import execute
from swecli.tools.limits import cap
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

Outcome = tuple[ToolCall, str, ToolResult]


class CallRunner:
    """Runs one turn's calls with the session's tools, permissions and store.

    `limit` is a result's cap in characters; `guard` watches for circles.
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
        repeats: Repeats,
    ) -> None:
        self._tools, self._ctx, self._permissions, self._sessions = tools, ctx, permissions, sessions
        self.limit, self._counter, self._repeats = limit, counter, repeats
        self.guard = LoopGuard()
        self._asking = asyncio.Lock()
        self._ask_user = ask

    async def run(self, calls: list[ToolCall], problems: dict[str, str]) -> AsyncGenerator[Event, None]:
        """Run them all. Each result is stored before its `ToolFinished` goes up.

        `problems` maps a call's id to what is wrong with its arguments.
        """
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
        return tool is not None and tool.permission == "allow"

    async def _run_batch(self, batch: list[ToolCall], problems: dict[str, str]) -> AsyncGenerator[Event, None]:
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._run_one(call, problems.get(call.id), happened.put_nowait)) for call in batch]
        for task in tasks:
            task.add_done_callback(lambda _: happened.put_nowait(None))
        running = len(tasks)
        try:
            while running:
                if (event := await happened.get()) is not None:
                    yield event
                else:
                    running -= 1
            for task in tasks:
                yield ToolFinished(*task.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_one(self, call: ToolCall, problem: str | None, tell: Callable[[Event], None]) -> Outcome:
        ctx = replace(self._ctx, report=lambda text: tell(ToolProgress(call.id, text)))
        try:
            result, summary = await execute(
                call,
                self._tools,
                ctx,
                self._permissions,
                self._ask,
                problem=problem,
                started=lambda started, line: tell(ToolStarted(started, line)),
            )
        except asyncio.CancelledError:
            self._sessions.record_call(call)  # it says by now how far it came
            raise
        text, was_cut = cap(result.for_model, self.limit, call.id)
        if line := self._repeats.shortened(call, text):
            text, was_cut = line, True
        note = self.guard.take(call, result.for_model)
        call.result = f"{text}\n\n{note}" if note else text
        call.tokens = self._counter.count(call.result) if self._counter.label else None
        self._sessions.record_call(call, result.for_model if was_cut else None)
        return call, summary, result

    async def going_on(self) -> bool:
        """Whether the turn may go on: False when it goes round in circles and nobody wants that."""
        return await self.guard.going_on(self._ask)

    async def _ask(self, request: AskRequest) -> Decision:
        async with self._asking:  # one question at a time, however many calls run
            return await self._ask_user(request)
