"""A stored session sent once more, to nobody, by the product's own turns: what they would send, and what happens."""

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
from swecli.context.budget import MAX_CHARACTERS, is_lean
from swecli.context.replay.history import History, PastStep, PastTurn, read_history
from swecli.context.replay.run import Assumed, Sent, SentTurn
from swecli.context.system_message import load_prompt, system_prompt
from swecli.context.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from swecli.llm.profile import Profile
from swecli.models.errors import SwecliError
from swecli.models.events import Event, ToolFinished
from swecli.models.message import (
    INTERRUPTED_RESULT,
    ApiMessage,
    AskRequest,
    CallDelta,
    Decision,
    ModelChunk,
    ModelRequest,
    ToolCall,
    ToolResult,
)
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.tools.base import ToolContext
from swecli.tools.execute import ToolRegistry
from swecli.tools.permissions import Permissions
from swecli.tools.schemas import lean_specs

ASSUMED_WINDOW = MAX_CHARACTERS // CHARACTERS_PER_TOKEN  # tokens, of a model whose window is unknown
_ENDLESS = 1_000_000  # steps of a turn


def read_past(session: Session, settings: Settings, context_window: int, instructions: str = "") -> History:
    """A session, all of it loaded, with the texts that a model of that window (in tokens) is sent. Raises BadInput."""
    specs, condense = ToolRegistry.discover().specs(), settings.custom_condensing_prompt or load_prompt("condense")
    tools = lean_specs(specs) if is_lean(context_window) else specs
    history = read_history(session, TokenCounter(), system_prompt(context_window), condense, tools)
    return replace(history, instructions=instructions)


def replay_turns(history: History, assumed: Assumed, settings: Settings) -> list[tuple[SentTurn, list[Event]]]:
    """The turns as the product itself takes them, in a store of their own, with what happened in each."""

    async def replay() -> list[tuple[SentTurn, list[Event]]]:
        with closing(open_database(":memory:")) as database:
            return [one async for one in ReplayAgent(history, assumed, settings, SessionManager(database)).replay()]

    return asyncio.run(replay())


class _PastModel:
    """Answers as the session's model did, with a text of the assumed size where a summary is asked for. `sent` are the
    running turn's requests until now, `step` the newest of them, `at` its time (seconds since 1970)."""

    def __init__(self, history: History, assumed: Assumed) -> None:
        self.name = history.session.model or "replay/session"
        self.profile = Profile(assumed.context_window, assumed.prices.max_output, images=True, offline=True)
        self._history, self._assumed, self._left = history, assumed, deque[PastStep]()
        self.sent: list[Sent] = []
        self.step = PastStep(0.0)

    def begin(self, turn: PastTurn) -> None:
        """Another turn."""
        self._left, self.sent, self.step = deque(turn.steps), [], turn.steps[0]

    def now(self) -> datetime:
        """The time as it was."""
        return datetime.fromtimestamp(self.step.at, UTC)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """The next answer. Raises SwecliError where the turn ended before it."""
        if request.purpose == "condense":
            counter = self._history.counter
            summary = self._assumed.summary(counter.count_messages(request.messages))
            self.sent.append(Sent(self.step.at, request.messages, counter.count(summary), condense=True))
            yield ModelChunk(text=summary, stop="stop")
            return
        if not self._left:
            raise SwecliError("The turn was interrupted here.")
        self.step = self._left.popleft()
        reply = self.step.reply
        self.sent.append(Sent(self.step.at, request.messages, self._history.output(reply)))
        if reply is None:
            raise SwecliError("The turn ended before an answer.")
        yield ModelChunk(text=reply.content, reasoning=reply.reasoning, blocks=reply.blocks)
        for place, call in enumerate(reply.tool_calls):
            yield ModelChunk(call=CallDelta(place, call.id, call.name, json.dumps(call.parameters)))
        yield ModelChunk(stop="tool_calls" if reply.tool_calls else "stop")


class _StoredCalls(CallRunner):
    """Gives each call the result that it had, and then the lines that the user put into the turn."""

    def __init__(self, agent: ReplayAgent, limit: int) -> None:
        super().__init__(agent.kit, agent.sessions, limit, agent.counter)
        self._agent = agent

    async def run(
        self, calls: list[ToolCall], problems: dict[str, str], sent: Sequence[ApiMessage] = ()
    ) -> AsyncGenerator[Event, None]:
        step = self._agent.past.step
        self.used_ids.update(call.id for call in calls)
        for call, had in zip(calls, step.reply.tool_calls if step.reply else (), strict=False):
            call.error = had.error
            result = INTERRUPTED_RESULT if had.result is None else had.result
            self._record(call, result)
            yield ToolFinished(call, call.name, ToolResult(not had.error, result))
        for line in step.steered:
            self._agent.steer(line)


class ReplayAgent(Agent):
    """An agent on the turns of a stored session. They are stored in `sessions`, an empty store of their own; no tool
    runs, and nothing leaves the process."""

    def __init__(self, history: History, assumed: Assumed, settings: Settings, sessions: SessionManager) -> None:
        self.past, self._history, self._window = _PastModel(history, assumed), history, assumed.window
        settings = replace(settings, max_turns=_ENDLESS, max_budget_usd=None, holdout=0)
        settings = replace(settings, window=assumed.window, cache_minutes=round(assumed.ttl / 60))
        root, prompt = Path(history.session.working_directory), history.prompt
        builder = RequestBuilder(
            sessions, settings, root, prompt, instructions=lambda: history.instructions, clock=self.past.now
        )
        kit = Toolkit(ToolRegistry.discover(), Permissions(), ToolContext(root), _deny)
        super().__init__(self.past, kit, builder)
        self.counter = history.counter

    def runner(self, limit: int) -> CallRunner:
        """Calls that are not made."""
        return _StoredCalls(self, limit)

    async def replay(self) -> AsyncIterator[tuple[SentTurn, list[Event]]]:
        """Send all turns, in their order: each with what happened."""
        past = self._history.session
        session = self.sessions.start(past.working_directory, self.model.name, window=self._window)
        for turn in self._history.turns:
            before = self.past.now()
            self.past.begin(turn)
            if turn.window is not None:
                self.sessions.set_window(turn.window)
            if session.context.asked_at is not None:  # the store has the time of today
                session.context.asked_at = before
            new = (bullet for bullet in self._history.known_at(turn) if bullet.id not in session.playbook.bullets)
            session.playbook.bullets |= {bullet.id: replace(bullet, created_at=datetime.now(UTC)) for bullet in new}
            query = Query(turn.query, sent=turn.sent, images=turn.images)
            events = [event async for event in self.run(self.builder.prepare(query, self.past, self.counter))]
            reductions = sum(event.type in ("context_reduced", "window_applied") for event in events)
            epoch = session.context.epoch
            held = range(epoch.first if epoch else 1, session.interactions)
            visible = sum(not session.context.is_cut(number) for number in held)
            yield SentTurn(turn.number, tuple(self.past.sent), visible, reductions), events


async def _deny(request: AskRequest) -> Decision:
    return Decision(False, reason="nothing is run in a replay")
