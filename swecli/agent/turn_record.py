"""A turn as it is stored: the loop's only way to the store. What must outlive every reduction is read out of each
message as it comes, before anything is taken out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swecli.agent.fitted import Fitted, Happened
from swecli.agent.turn import Turn, TurnState
from swecli.context.retained_facts import from_answer, from_calls, from_query
from swecli.context.tokens import TokenCounter
from swecli.models.context import BEGIN, KEY, Reduction
from swecli.models.events import ContextReduced, Event, Notice, WindowApplied
from swecli.models.message import INTERRUPTED_RESULT, STEER, ApiMessage, ChatMessage, ModelReply, RequestRecord, Role
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn whose user message is stored: the keyed request with it, what there is to report, and the call ids that
    are in use in what may be sent again."""

    session_id: str
    interaction: int
    messages: list[ApiMessage]
    events: tuple[Event, ...]
    call_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """Stores one session's turns."""

    sessions: SessionManager
    counter: TokenCounter

    def open(self, turn: Turn) -> Opened:
        """Store the user's message, and the epoch that begins with it."""
        sent, withheld, row = turn.request.enhanced, turn.selection.withheld, turn.request.opened
        size, encoding = self.counter.count(sent), self.counter.label
        message = self.sessions.begin_interaction(turn.query, sent, tokens=size, encoding=encoding)
        session, number = self._session, message.interaction
        if withheld:
            self.sessions.playbook.turns.note(session.id, number, withheld=withheld, seed=turn.selection.seed)
        if row is not None:
            self.sessions.context.add(session, row)
        asked = [api | {KEY: f"{number}.0"} for api in message.to_api()]
        self.sessions.context.keep(session, from_query(message.content, number))
        messages = [*turn.request.keyed[:-1], *asked]
        return Opened(session.id, number, messages, tuple(_moved(turn)), frozenset(_call_ids(session)))

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
        self.sessions.context.add(self._session, happened)
        return reported(happened)

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
        self.sessions.context.keep(self._session, facts)
        return message

    def keep_facts(self, message: ChatMessage) -> None:
        """Keep what a reply, with the calls it made and what became of them, says that must outlive it."""
        number = message.interaction
        facts = [*from_answer(message.content, number), *from_calls(message.tool_calls, number)]
        self.sessions.context.keep(self._session, facts)

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
        shown = turn.request.shown
        choice = turn.selection.to_json()
        self.sessions.finish_interaction(outcome, shown=shown, cited=cited(text, shown), choice=choice)

    def notices(self) -> list[Notice]:
        """Lines of the database that were not reported yet."""
        return [Notice(line, "warning") for line in self.sessions.database.unreported()]

    @property
    def _session(self) -> Session:
        session = self.sessions.current_session
        assert session is not None, "a turn runs in a session"
        return session


def reported(row: Reduction) -> Event:
    """The event of a reduction."""
    return ContextReduced(row.how, row.before, row.after, row.detail)


def cited(text: str, shown: Sequence[str]) -> list[str]:
    """The bullets of `shown` that an answer names, `[P-7]`."""
    return [bullet for bullet in shown if f"[{bullet}]" in text]


def _moved(turn: Turn) -> Iterator[Event]:
    """What there is to report of the window as the turn begins."""
    request = turn.request
    if request.removed:
        yield WindowApplied(request.removed, request.kept)
    elif request.opened is not None and request.opened.how != BEGIN:
        yield reported(request.opened)


def _call_ids(session: Session) -> Iterator[str]:
    """The call ids in what a session may send again."""
    epoch = session.context.epoch
    for earlier in reversed(session.messages):
        if epoch is not None and earlier.interaction < epoch.first:
            break
        yield from (call.id for call in earlier.tool_calls)
    yield from (call.id for group in session.context.pinned.values() for one in group for call in one.tool_calls)
