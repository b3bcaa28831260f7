"""A turn as it is stored: the loop's only way to the store. What must outlive every reduction is read out of each
message as it comes, before anything is taken out; and a session's title, which the small model is asked for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from swecli.agent.calls import CallRunner
from swecli.agent.request_builder import Turn
from swecli.agent.turn import Fitted, Happened, ModelStep, TurnState
from swecli.context.retained_facts import from_answer, from_calls, from_query
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.context import BEGIN, KEY, Reduction
from swecli.models.errors import StoreError, SwecliError
from swecli.models.events import ContextReduced, Event, Notice, WindowApplied
from swecli.models.message import (
    INTERRUPTED_RESULT,
    STEER,
    ApiMessage,
    ChatMessage,
    ModelReply,
    ModelRequest,
    RequestRecord,
    Role,
)
from swecli.models.session import Session
from swecli.store.records import UnfinishedTurn
from swecli.store.session_manager import SessionManager
from swecli.tools.execute import interrupted_text
from swecli.tools.limits import truncate_result

_EVERY = 1.0  # seconds
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """Stores one session's turns."""

    sessions: SessionManager
    counter: TokenCounter

    def open(self, turn: Turn) -> tuple[TurnState, list[Event]]:
        """Store the user's message, and the epoch that begins with it; the turn as it begins, and what there is to
        report."""
        request, selection, context = turn.request, turn.selection, self.sessions.context
        size, encoding = self.counter.count(request.enhanced), self.counter.label
        images, sent = list(turn.images) or None, request.enhanced
        message = self.sessions.begin_interaction(turn.query, sent, images=images, tokens=size, encoding=encoding)
        session, number = self.session, message.interaction
        if selection.withheld:
            self.sessions.playbook.turns.note(session.id, number, withheld=selection.withheld)
        if request.opened is not None:
            context.add(session, request.opened)
        context.keep(session, from_query(message.content, number))
        asked = [api | {KEY: f"{number}.0"} for api in message.to_api()]
        state, opened = TurnState(turn.query, number, [*request.keyed[:-1], *asked]), request.opened
        if request.removed:
            return state, [WindowApplied(request.removed, request.kept)]
        return state, [_reported(opened)] if opened is not None and opened.how != BEGIN else []

    def take(self, fitted: Fitted) -> list[Event]:
        """Store what was done to make a request fit, before it is sent; what there is to report."""
        return [event for one in fitted.happened if (event := self.store(one)) is not None]

    def store(self, happened: Happened) -> Event | None:
        """Store one thing that happened, before it is reported."""
        if isinstance(happened, Notice):
            return happened
        if isinstance(happened, RequestRecord):
            self.sessions.record_request(happened)
            return None
        self.sessions.context.add(self.session, happened)
        return _reported(happened)

    def reply(self, reply: ModelReply) -> ChatMessage:
        """Store a whole reply, with its tokens, so that they are never counted again."""
        message = ChatMessage(
            Role.ASSISTANT, reply.text or reply.refusal, reply.calls, reasoning=reply.reasoning, blocks=reply.blocks
        )
        message.tokens, message.encoding = self.counter.count(message.content), self.counter.label
        return self.sessions.append(message)

    def steer(self, line: str) -> ChatMessage:
        """Store a line that the user put into the running turn, and what it binds the assistant to."""
        message = self.sessions.append(ChatMessage(Role.USER, line, status=STEER))
        facts = [fact for fact in from_query(line, message.interaction) if fact.kind != "request"]
        self.sessions.context.keep(self.session, facts)
        return message

    def keep_facts(self, message: ChatMessage) -> None:
        """Keep what a reply, with the calls it made and what became of them, says that must outlive it."""
        number = message.interaction
        facts = [*from_answer(message.content, number), *from_calls(message.tool_calls, number)]
        self.sessions.context.keep(self.session, facts)

    def settle(self, state: TurnState) -> None:
        """Keep what an interrupted or failed turn had: the partial answer, and a result for every open call."""
        if state.partial:
            self.sessions.append(ChatMessage(Role.ASSISTANT, state.partial, status="partial"))
        for call in state.open_calls:
            if call.result is None:
                call.result, call.error = INTERRUPTED_RESULT, "interrupted"
                self.sessions.record_call(call)

    def finish(self, outcome: str, turn: Turn, text: str) -> None:
        """Store how a turn ended with that answer: its reflection is pending from now on."""
        shown, choice = turn.request.shown, turn.selection.to_json()
        self.sessions.finish_interaction(outcome, shown=shown, cited=cited(text, shown), choice=choice)

    @property
    def session(self) -> Session:
        """The one in use."""
        session = self.sessions.current_session
        assert session is not None, "a turn runs in a session"
        return session


def _reported(row: Reduction) -> Event:
    """The event of a reduction."""
    return ContextReduced(row.how, row.before, row.after, row.detail)


def cited(text: str, shown: Sequence[str]) -> list[str]:
    """The bullets of `shown` that an answer names, `[P-7]`."""
    return [bullet for bullet in shown if f"[{bullet}]" in text]


@asynccontextmanager
async def stored_as_it_comes(sessions: SessionManager, calls: CallRunner, state: TurnState) -> AsyncIterator[None]:
    """Inside the block, store the answer that streams and the output of commands that run, once a second: whoever kills
    the process loses no more than that."""
    saving = asyncio.create_task(_save(sessions, calls, state))
    try:
        yield
    finally:
        saving.cancel()  # a write that has begun goes on: it touches nothing that is finished


async def _save(sessions: SessionManager, calls: CallRunner, state: TurnState) -> None:
    stored = ""
    while (session := sessions.current_session) is not None:
        await asyncio.sleep(_EVERY)
        printed, partial = calls.printed(), state.partial
        if partial == stored and not printed:
            continue
        after = session.messages[-1].id if session.messages else None
        outputs: dict[int, tuple[str, str | None]] = {}
        for key, call_id, text in printed:
            whole = interrupted_text("swecli ended while this ran", text)
            kept, was_cut = truncate_result(whole, calls.limit, call_id)
            outputs[key] = (kept, whole if was_cut else None)
        now = UnfinishedTurn(
            session.id, session.interactions, None if partial == stored else partial, after or 0, outputs
        )
        try:
            # in a thread: the disk may take its time, and the stream must not wait for it
            await asyncio.to_thread(sessions.note_unfinished, now)
        except StoreError as error:  # what is finished later is stored or fails by itself
            _log.warning("what is not finished could not be stored: %s", error)
        stored = partial


_ASKED = (
    "Give a conversation that begins as follows a title: at most six words, in its own language, without quotes. "
    "Answer with the title alone.\n\n"
)
_TURNS = 3  # turns after which a session without a title is left as it is
_QUESTION, _LENGTH, _RESERVE = 2_000, 60, 300  # characters sent, characters of a title, tokens of the answer


def wants_title(session: Session | None) -> bool:
    """Whether nobody has named the session, and it has only begun."""
    return session is not None and not session.title and 1 <= session.interactions <= _TURNS


async def give_title(sessions: SessionManager, model: ChatModel) -> None:
    """Name the session in use after its first question, unless somebody does meanwhile. A failure leaves it unnamed."""
    session = sessions.current_session
    question = next((m.content for m in session.messages if m.is_query and m.content.strip()), "") if session else ""
    if session is None or not question:
        return
    messages: list[ApiMessage] = [{"role": "user", "content": _ASKED + question[:_QUESTION]}]
    request = ModelRequest(model.name, messages, max_tokens=_RESERVE, purpose="title")
    step = ModelStep(model, request, attempts=1)
    try:
        reply = await step.finish()
    except SwecliError:
        return
    if sessions.current_session is not session:
        return
    if reply.usage is not None:
        took = (reply.usage, reply.cost, step.duration_ms)
        sessions.record_request(RequestRecord(model.name, "title", session.interactions, 0, *took))
    title = " ".join(reply.text.split()).strip("\"'`“”«».")
    if title and len(title) <= _LENGTH and not session.title:
        sessions.rename(title)
