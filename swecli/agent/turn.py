"""The only way of a running turn to the store. Retained facts are extracted from each message before any reduction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from swecli.agent.calls import CallRunner
from swecli.agent.fitted_request import Effect
from swecli.agent.request_builder import Turn
from swecli.agent.turn_state import TurnState
from swecli.context.facts import extract_facts
from swecli.context.tokens import TokenCounter
from swecli.models.context import BEGIN, Reduction, add_keys
from swecli.models.errors import StoreError
from swecli.models.events import ContextReduced, Event, Notice, WindowApplied
from swecli.models.message import (
    STEER,
    ApiMessage,
    ChatMessage,
    ModelReply,
    RequestRecord,
    Role,
)
from swecli.models.notes import disclaim_block
from swecli.store.records import UnfinishedTurn
from swecli.store.session_manager import SessionManager
from swecli.values import dataclass

_AUTOSAVE_INTERVAL = 1.0  # seconds
_FEEDBACK = (
    "[A program that the user runs when you stop, a hook, does not let this turn end. It says:]"
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedTurn:
    """A turn whose first message is stored."""

    interaction: int
    messages: list[ApiMessage]  # of its first request, keyed
    events: tuple[Event, ...]  # what to report of its window


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """Stores one session's turns."""

    sessions: SessionManager
    counter: TokenCounter

    def begin(self, turn: Turn) -> OpenedTurn:
        """Store the user's message and the epoch that begins with it."""
        request = turn.request
        context = self.sessions.context
        message = self.sessions.begin_interaction(
            turn.query,
            request.query,
            notes=list(request.notes),
            images=list(turn.images) or None,
            ended_jobs=turn.ended_jobs,
            tokens=self.counter.count(request.enhanced),
            encoding=self.counter.label,
        )
        session = self.sessions.session
        number = message.interaction
        if request.strategy_ids:  # now, since a killed turn is reflected on too
            self.sessions.add_shown(request.strategy_ids)
        opened = request.epoch_row
        if opened is not None:
            context.add(session, opened)
        context.keep(session, extract_facts(message))
        context.leave_out(session, session.context.brought_back)  # the message quotes them
        query = add_keys(message.to_api(), number)
        events: tuple[Event, ...] = ()
        if request.removed_count:
            first, last = request.window
            events = (WindowApplied(request.removed_count, last - first + 1),)
        elif opened is not None and opened.how != BEGIN:
            events = (_reduced_event(opened),)
        return OpenedTurn(number, [*request.keyed_messages[:-1], *query], events)

    def store(self, effect: Effect) -> Event | None:
        """Store an effect of fitting a request. Returns the event to report, if any."""
        if isinstance(effect, RequestRecord):
            self.sessions.record_request(effect)
            return None
        return self.store_change(effect)

    def store_change(self, effect: Reduction | str) -> Event:
        """Store a reduction; a text is a warning for the user. Returns the event to report."""
        if isinstance(effect, str):
            return Notice(effect, "warning")
        self.sessions.context.add(self.sessions.session, effect)
        return _reduced_event(effect)

    def store_reply(self, reply: ModelReply) -> ChatMessage:
        """Store a complete reply with its token count."""
        text = reply.text or reply.refusal
        message = ChatMessage(
            Role.ASSISTANT, text, reply.calls, reasoning=reply.reasoning, blocks=reply.blocks
        )
        message.tokens = self.counter.count(message.content)
        message.encoding = self.counter.label
        return self.sessions.append(message)

    def store_steering(self, line: str) -> ChatMessage:
        """Store a line that the user sent to the running turn."""
        notes = disclaim_block(line)
        return self.sessions.append(ChatMessage(Role.USER, line, status=STEER, notes=notes))

    def store_feedback(self, text: str) -> ChatMessage:
        """Store what a hook says to the running turn: the model reads it where the user would speak, but the user has
        said nothing."""
        sent_text = f"{_FEEDBACK}\n{text}"
        return self.sessions.append(
            ChatMessage(Role.USER, sent=sent_text, status=STEER, notes=disclaim_block(sent_text))
        )

    def store_facts(self, message: ChatMessage) -> None:
        """Store the retained facts of a message; of a reply when its calls are finished."""
        self.sessions.context.keep(self.sessions.session, extract_facts(message))

    def settle(self, state: TurnState) -> None:
        """Store what an interrupted or failed turn left: the partial answer, and a result for every open call."""
        if state.partial:
            self.sessions.append(ChatMessage(Role.ASSISTANT, state.partial, status="partial"))
        for call in state.open_calls:
            if call.result is None:
                call.interrupt()
                self.sessions.record_call(call)

    def finish(self, outcome: str, turn: Turn, text: str) -> None:
        """Store a turn's outcome; its reflection is pending from now on."""
        strategies = turn.request.strategy_ids
        self.sessions.finish_interaction(
            outcome,
            shown_names=strategies,
            cited=[name for name in strategies if f"[{name}]" in text],
            choice=turn.selection.to_json(),
        )
        self.sessions.unload_old_turns()

    @asynccontextmanager
    async def autosave(self, calls: CallRunner, state: TurnState) -> AsyncIterator[None]:
        """Inside the block, store the partial answer and the output of running commands once a second, so that killing
        the process loses no more than that."""
        saving = asyncio.create_task(self._autosave(calls, state))
        try:
            yield
        finally:
            saving.cancel()  # a write in progress continues: it changes nothing that is finished

    async def _autosave(self, calls: CallRunner, state: TurnState) -> None:
        stored_text = ""
        while (session := self.sessions.current_session) is not None:
            await asyncio.sleep(_AUTOSAVE_INTERVAL)
            outputs = calls.changed_outputs()
            partial = state.partial
            if partial == stored_text and not outputs:
                continue
            after = session.messages[-1].id if session.messages else None
            changed_text = None if partial == stored_text else partial
            unfinished = UnfinishedTurn(
                session.id, session.interactions, changed_text, after or 0, outputs
            )
            try:
                # in a thread: a slow disk must not block the stream
                await asyncio.to_thread(self.sessions.save_unfinished, unfinished)
            except StoreError as error:  # the finished message is stored, or fails, by itself
                _log.warning("could not store the unfinished turn: %s", error)
            stored_text = partial


def _reduced_event(row: Reduction) -> Event:
    return ContextReduced(row.how, row.before, row.after, row.detail)
