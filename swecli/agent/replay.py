"""Replays a stored session through the product's own turns, without sending anything."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from swecli.agent.agent import Agent
from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.request_builder import Query, RequestBuilder
from swecli.config.settings import Settings
from swecli.context.budget import is_lean
from swecli.context.replay.history import History, PastStep, PastTurn
from swecli.context.replay.requests import Assumptions, ReplayedTurn, SentRequest
from swecli.llm.profile import Profile
from swecli.models.errors import SwecliError
from swecli.models.events import Event, ToolFinished
from swecli.models.message import (
    INTERRUPTED_RESULT,
    ApiMessage,
    CallDelta,
    CallStatus,
    ModelChunk,
    ModelRequest,
    ToolCall,
    ToolResult,
)
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.tools.offers import lean_specs

_MAX_STEPS = 1_000_000  # of a turn: no limit


def read_past(session: Session, context_window: int, instructions: str = "") -> History:
    """Read a completely loaded session for a model with that window in tokens. Raises BadInput if it has no turn."""
    specs = Toolkit.for_replay(Path(session.working_directory)).tools.specs()
    tools = lean_specs(specs) if is_lean(context_window) else specs
    return History.read(session, context_window, tools, instructions)


def replay_turns(
    history: History, assumed: Assumptions, settings: Settings
) -> list[tuple[ReplayedTurn, list[Event]]]:
    """Replay the turns with the product's own agent in a temporary store; return each with its events."""

    async def replay() -> list[tuple[ReplayedTurn, list[Event]]]:
        with closing(open_database(":memory:")) as database:
            agent = _ReplayAgent(history, assumed, settings, SessionManager(database))
            return [turn async for turn in agent.replay()]

    return asyncio.run(replay())


class _PastModel:
    """Returns the session's stored answers, and texts of the assumed size as summaries."""

    def __init__(self, history: History, assumed: Assumptions) -> None:
        self.name = history.session.model or "replay/session"
        self.profile = Profile(
            assumed.context_window, assumed.max_output, images=True, offline=True
        )
        self._history = history
        self._assumed = assumed
        self._pending = deque[PastStep]()
        self.sent: list[SentRequest] = []  # the requests of the running turn so far
        self.step = PastStep(0.0)  # the newest one

    def begin(self, turn: PastTurn) -> None:
        self._pending = deque(turn.steps)
        self.sent = []
        self.step = turn.steps[0]

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.step.sent_at, UTC)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the next stored answer. Raises SwecliError if the turn ended before it."""
        if request.purpose == "condense":
            counter = self._history.counter
            summary = self._assumed.summary(counter.count_messages(request.messages))
            self.sent.append(
                SentRequest(
                    self.step.sent_at, request.messages, counter.count(summary), condense=True
                )
            )
            yield ModelChunk(text=summary, stop="stop")
            return
        if not self._pending:
            raise SwecliError("The turn was interrupted here.")
        self.step = self._pending.popleft()
        reply = self.step.reply
        self.sent.append(
            SentRequest(self.step.sent_at, request.messages, self._history.count_output(reply))
        )
        if reply is None:
            raise SwecliError("The turn ended before an answer.")
        yield ModelChunk(text=reply.content, reasoning=reply.reasoning, blocks=reply.blocks)
        for index, call in enumerate(reply.tool_calls):
            yield ModelChunk(call=CallDelta(index, call.id, call.name, json.dumps(call.parameters)))
        yield ModelChunk(stop="tool_calls" if reply.tool_calls else "stop")


class _StoredCalls(CallRunner):
    """Returns the stored result of each call, then sends the lines that the user added to the turn."""

    def __init__(self, agent: _ReplayAgent, limit: int) -> None:
        super().__init__(agent.toolkit, agent.sessions, limit, agent.counter)
        self._agent = agent

    async def run(
        self,
        calls: list[ToolCall],
        problems: dict[str, str],
        sent_messages: Sequence[ApiMessage] = (),
    ) -> AsyncGenerator[Event, None]:
        step = self._agent.past.step
        self.used_ids.update(call.id for call in calls)
        for call, stored_call in zip(
            calls, step.reply.tool_calls if step.reply else (), strict=False
        ):
            call.status = stored_call.status
            call.error = stored_call.error
            call.effects = stored_call.effects
            result = INTERRUPTED_RESULT if stored_call.result is None else stored_call.result
            self._record(call, result)
            has_finished = stored_call.status is CallStatus.FINISHED
            yield ToolFinished(call, call.name, ToolResult(has_finished, result))
        for line in step.steered:
            self._agent.steer(line)


class _ReplayAgent(Agent):
    """An agent that replays a stored session into `sessions`, an empty store. No tool runs, nothing is sent."""

    def __init__(
        self, history: History, assumed: Assumptions, settings: Settings, sessions: SessionManager
    ) -> None:
        self.past = _PastModel(history, assumed)
        self._history = history
        self._window = assumed.window
        settings = replace(settings, max_turns=_MAX_STEPS, max_budget_usd=None)
        settings = replace(settings, window=assumed.window, cache_minutes=round(assumed.ttl / 60))
        root = Path(history.session.working_directory)
        prompt = history.prompt
        builder = RequestBuilder(
            sessions,
            settings,
            root,
            prompt,
            instructions=lambda: history.instructions,
            clock=self.past.now,
        )
        super().__init__(self.past, Toolkit.for_replay(root), builder, counter=history.counter)

    def make_runner(self, limit: int) -> CallRunner:
        return _StoredCalls(self, limit)

    async def replay(self) -> AsyncIterator[tuple[ReplayedTurn, list[Event]]]:
        """Replay all turns in their order; yield each with its events."""
        past = self._history.session
        session = self.sessions.start(past.working_directory, self.model.name, window=self._window)
        for turn in self._history.turns:
            before = self.past.now()
            self.past.begin(turn)
            if turn.window is not None:
                self.sessions.set_window(turn.window)
            if session.context.asked_at is not None:  # the store recorded today's time
                session.context.asked_at = before
            bullets = session.playbook.bullets
            for bullet in self._history.bullets_at(turn):
                if bullet.id not in bullets:
                    bullets[bullet.id] = replace(bullet, created_at=datetime.now(UTC))
            for earlier in turn.brought_back:
                self.sessions.context.bring_back(session, earlier)
            query = Query(
                turn.query, sent_text=turn.sent_text, images=turn.images, situation=turn.situation
            )
            prepared = self.builder.prepare(query, self.past, self.counter)
            events = [event async for event in self.run(prepared)]
            epoch = session.context.epoch
            numbers = range(epoch.first if epoch else 1, session.interactions)
            result = ReplayedTurn(
                number=turn.number,
                requests=tuple(self.past.sent),
                visible=sum(not session.context.is_reduced(number) for number in numbers),
                reductions=sum(
                    event.type in ("context_reduced", "window_applied") for event in events
                ),
            )
            yield result, events
