"""A running turn: its state, its requests to the model, and its only way to the store. Retained facts are extracted
from each message before any reduction."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from swecli.agent.calls import CallRunner
from swecli.agent.request_builder import Turn
from swecli.context.budget import RequestSize
from swecli.context.system_message import extract_facts
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.reply import ReplyBuilder, Retry, stream_with_retry
from swecli.llm.written_calls import take_written_calls
from swecli.models.api_message import calls_of
from swecli.models.context import BEGIN, Reduction, add_keys
from swecli.models.errors import ContextFull, StoreError, SwecliError
from swecli.models.events import (
    ContextReduced,
    Event,
    Notice,
    ReasoningDelta,
    StepRetried,
    TextDelta,
    WindowApplied,
)
from swecli.models.message import (
    INTERRUPTED_RESULT,
    STEER,
    ApiMessage,
    ChatMessage,
    ModelReply,
    ModelRequest,
    RequestRecord,
    Role,
    ToolCall,
    Usage,
)
from swecli.store.records import UnfinishedTurn
from swecli.store.session_manager import SessionManager

_AUTOSAVE_INTERVAL = 1.0  # seconds
_TITLE_PROMPT = (
    "Give a conversation that begins as follows a title: at most six words, in its own language, without quotes. "
    "Answer with the title alone.\n\n"
)
_TITLE_TURNS, _TITLE_TOKENS = 3, 300  # a session with more turns gets no generated title
_MAX_QUESTION, _MAX_TITLE = 2_000, 60  # characters
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class ModelStep:
    """One request, with retries, and its reply. `partial` is the text so far; `reply` and `duration_ms` (wall time) are
    set when `run` has ended. New calls get ids that are neither in `used_ids` nor in the request."""

    model: ChatModel
    request: ModelRequest
    used_ids: Collection[str] = frozenset()
    attempts: int = 5
    partial: str = ""
    reply: ModelReply = field(default_factory=ModelReply)
    duration_ms: int = 0

    async def run(self) -> AsyncGenerator[Event, None]:
        """Stream the reply. Raises ProviderError after the last retry."""
        started = time.monotonic()
        sent_ids = (call["id"] for message in self.request.messages for call in calls_of(message))
        builder = ReplyBuilder(taken={*sent_ids, *self.used_ids})
        chunks = stream_with_retry(self.model, self.request, attempts=self.attempts)
        async with aclosing(chunks):
            async for item in chunks:
                if isinstance(item, Retry):
                    builder.reset()
                    self.partial = ""
                    if not item.notice:
                        yield StepRetried(item.attempt, item.wait, item.reason, item.restart)
                    elif item.reason:
                        yield Notice(item.reason, "warning")
                    continue
                builder.add(item)
                if item.reasoning:
                    yield ReasoningDelta(item.reasoning)
                if text := item.text + item.refusal:
                    self.partial += text
                    yield TextDelta(text)
        self.reply = take_written_calls(builder.build(), self.request.tools)
        self.duration_ms = round((time.monotonic() - started) * 1000)

    async def finish(self) -> ModelReply:
        """Return the reply without yielding events. Raises ProviderError."""
        async for _ in self.run():
            pass
        return self.reply


@dataclass(frozen=True, slots=True)
class StepPlace:
    """The place of a request: a step of an interaction (0: between turns) on `query`. After the provider `refused` the
    request as too long no summary is requested: that request would be refused too."""

    interaction: int
    step: int
    query: str
    refused: bool = False


Effect = Reduction | RequestRecord | str


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request that fits, unless `failure` is set. The turn continues from `keyed`, so that later requests only
    append. `effects` holds, in their order, reductions to store before sending, usage of summaries, and warnings for
    the user. `counted` is our own token count of the request, tools included."""

    request: ModelRequest
    keyed: list[ApiMessage]
    size: RequestSize
    counted: int
    effects: tuple[Effect, ...] = ()
    failure: ContextFull | None = None


@dataclass(slots=True)
class TurnState:
    """The running turn, written only by the loop. `messages` are keyed; `place` is the key number of the next message;
    `step` is the request being answered. `cost` is in US dollars, None once a part of it is unknown."""

    query: str
    interaction: int
    messages: list[ApiMessage]
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    text: str = ""
    open_calls: list[ToolCall] = field(default_factory=list)
    denied: list[ToolCall] = field(default_factory=list)
    place: int = 1
    pauses: int = 0
    step: ModelStep | None = None

    @property
    def partial(self) -> str:
        """The text of an answer that is not stored yet."""
        return self.step.partial if self.step else ""

    def add(self, message: ChatMessage) -> None:
        """Append a stored message and the results of its calls to the request."""
        new = add_keys(message.to_api(), self.interaction, self.place)
        self.messages, self.place = [*self.messages, *new], self.place + len(new)

    def spend(self, usage: Usage, cost: float | None) -> None:
        self.usage = self.usage + usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """Stores one session's turns."""

    sessions: SessionManager
    counter: TokenCounter

    def begin(self, turn: Turn) -> tuple[TurnState, list[Event]]:
        """Store the user's message and the epoch that begins with it. Returns the turn's state and events to report."""
        request, context = turn.request, self.sessions.context
        size, encoding = self.counter.count(request.enhanced), self.counter.label
        images, sent = list(turn.images) or None, request.enhanced
        message = self.sessions.begin_interaction(
            turn.query, sent, images=images, tokens=size, encoding=encoding
        )
        session, number, opened = self.sessions.session, message.interaction, request.opened
        if opened is not None:
            context.add(session, opened)
        context.keep(session, extract_facts(message))
        query = add_keys(message.to_api(), number)
        state = TurnState(turn.query, number, [*request.keyed[:-1], *query])
        if request.removed:
            first, last = request.window
            return state, [WindowApplied(request.removed, last - first + 1)]
        return state, [_reduced_event(opened)] if opened is not None and opened.how != BEGIN else []

    def store(self, effect: Effect) -> Event | None:
        """Store an effect of fitting a request. Returns the event to report, if any."""
        if isinstance(effect, str):
            return Notice(effect, "warning")
        if isinstance(effect, RequestRecord):
            self.sessions.record_request(effect)
            return None
        self.sessions.context.add(self.sessions.session, effect)
        return _reduced_event(effect)

    def store_reply(self, reply: ModelReply) -> ChatMessage:
        """Store a complete reply with its token count."""
        text = reply.text or reply.refusal
        message = ChatMessage(
            Role.ASSISTANT, text, reply.calls, reasoning=reply.reasoning, blocks=reply.blocks
        )
        message.tokens, message.encoding = self.counter.count(message.content), self.counter.label
        return self.sessions.append(message)

    def store_steering(self, line: str) -> ChatMessage:
        """Store a line that the user sent to the running turn."""
        return self.sessions.append(ChatMessage(Role.USER, line, status=STEER))

    def store_facts(self, message: ChatMessage) -> None:
        """Store the retained facts of a message; of a reply when its calls are finished."""
        self.sessions.context.keep(self.sessions.session, extract_facts(message))

    def settle(self, state: TurnState) -> None:
        """Store what an interrupted or failed turn left: the partial answer, and a result for every open call."""
        if state.partial:
            self.sessions.append(ChatMessage(Role.ASSISTANT, state.partial, status="partial"))
        for call in state.open_calls:
            if call.result is None:
                call.result, call.error = INTERRUPTED_RESULT, "interrupted"
                self.sessions.record_call(call)

    def finish(self, outcome: str, turn: Turn, text: str) -> None:
        """Store a turn's outcome; its reflection is pending from now on."""
        shown, choice = turn.request.shown, turn.selection.to_json()
        cited = [bullet for bullet in shown if f"[{bullet}]" in text]
        self.sessions.finish_interaction(outcome, shown=shown, cited=cited, choice=choice)
        self.sessions.unload_old_turns()

    async def generate_title(self, model: ChatModel) -> None:
        """Generate a title for a new session without one from its first question. Does nothing if the request fails."""
        session = self.sessions.session
        question = next(
            (m.content for m in session.messages if m.is_query and m.content.strip()), ""
        )
        if session.title or session.interactions > _TITLE_TURNS or not question:
            return
        messages: list[ApiMessage] = [
            {"role": "user", "content": _TITLE_PROMPT + question[:_MAX_QUESTION]}
        ]
        request = ModelRequest(model.name, messages, max_tokens=_TITLE_TOKENS, purpose="title")
        step = ModelStep(model, request, attempts=1)
        try:
            reply = await step.finish()
        except SwecliError:
            return
        if self.sessions.current_session is not session:
            return
        if reply.usage is not None:
            spent = (reply.usage, reply.cost, step.duration_ms)
            self.store(RequestRecord(model.name, "title", session.interactions, 0, *spent))
        title = " ".join(reply.text.split()).strip("\"'`“”«».")
        if title and len(title) <= _MAX_TITLE and not session.title:
            self.sessions.rename(title)

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
        stored = ""
        while (session := self.sessions.current_session) is not None:
            await asyncio.sleep(_AUTOSAVE_INTERVAL)
            outputs, partial = calls.changed_outputs(), state.partial
            if partial == stored and not outputs:
                continue
            after = session.messages[-1].id if session.messages else None
            changed = None if partial == stored else partial
            unfinished = UnfinishedTurn(
                session.id, session.interactions, changed, after or 0, outputs
            )
            try:
                # in a thread: a slow disk must not block the stream
                await asyncio.to_thread(self.sessions.save_unfinished, unfinished)
            except StoreError as error:  # the finished message is stored, or fails, by itself
                _log.warning("could not store the unfinished turn: %s", error)
            stored = partial


def _reduced_event(row: Reduction) -> Event:
    return ContextReduced(row.how, row.before, row.after, row.detail)
