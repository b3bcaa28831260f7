"""Builds a turn's first request: system message with the epoch's head, window of completed interactions, query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from swecli.context.epochs import Moment, Move, due, sized
from swecli.context.head import compose, missing
from swecli.context.keyed import SYSTEM_KEY, edited, interaction_of, keyed, lawful, plain
from swecli.context.notes import strategy_notes, told_since, with_notes, without_strategies
from swecli.context.segments import Segment, segments_of, weighed
from swecli.context.tokens import TokenCounter
from swecli.context.validate import legal
from swecli.models.context import BEGIN, KEY, Edits, Epoch, Reduction, folded
from swecli.models.message import ApiMessage, ChatMessage, Role
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.models.window import WindowSpec

Groups = list[tuple[int, list[ChatMessage]]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request before its first step, and what it is made of.

    `keyed` are its messages with their keys (see `context/keyed.py`); `shown` are the ids of the strategies that the
    model knows then; `enhanced` is the query as it is sent, to be stored with it; `window` names the first and the
    last completed interaction in it (the first is larger than the last when there is none); `removed` counts the
    interactions that leave the window now; `opens` is the row of the epoch that begins with it, None where it only
    adds to the request before; `move` says why. `tokens` is the whole without tools: the segments and a small rest
    for the messages' frames.
    """

    keyed: list[ApiMessage]
    segments: list[Segment]
    shown: list[str]
    enhanced: str
    window: tuple[int, int]
    removed: int
    tokens: int = 0
    opens: Reduction | None = None
    move: Move | None = None

    @property
    def messages(self) -> list[ApiMessage]:
        """The request as it is sent."""
        return plain(self.keyed)

    @property
    def kept(self) -> int:
        """Completed interactions in the request."""
        return self.window[1] - self.window[0] + 1


@dataclass(frozen=True, slots=True)
class Parts:
    """What a request is built from besides the session.

    `system_prompt` is static text, the same in every turn; `instructions` the project's, "" for none; `bullets` the
    strategies chosen for it; `notes` one line each, put behind the query: what changes from turn to turn;
    `digest` says what reviews found in the files at hand, for the head; `smallest` and `largest` bound the size of an
    `auto` window.
    """

    system_prompt: str
    instructions: str = ""
    bullets: Sequence[Bullet] = ()
    notes: Sequence[str] = ()
    digest: str = ""
    moment: Moment = field(default_factory=Moment)
    smallest: int = 3
    largest: int = 10


def prepare_messages(
    session: Session | None,
    system_prompt: str,
    query: str,
    enhanced_query: str,
    window_size: int | None = None,
    max_strategies: int = 30,
) -> list[ApiMessage]:
    """The request for a query as plain messages: system with playbook, window, then the query as it is sent.

    Knows nothing of epochs: what it holds follows from the session's messages and its playbook alone.

    Args:
        session: None for a conversation that has not begun. When its last message is this very query without an
            answer, it is taken for the running turn: sent once, and not counted as one of the window.
        query: as typed.
        enhanced_query: as sent, with the contents of its @files.
        window_size: exactly that many completed interactions; None for the session's own window.

    Raises:
        ValueError: for a negative window_size.
    """
    if window_size is not None and window_size < 0:
        raise ValueError(f"window_size must not be negative, got {window_size}")
    if session is None:
        return legal([_system(system_prompt), _user(enhanced_query)])
    playbook = session.get_playbook().as_context(max_strategies=max_strategies)
    running = _is_running(session, query, enhanced_query)
    spec = session.window if window_size is None else WindowSpec(size=window_size)
    completed = _total(session) - running
    first = sized(spec, query).first_kept(completed, session.window_start)
    window = [api for _, group in _groups(session, first, completed) for message in group for api in message.to_api()]
    return legal([_system(system_prompt + playbook), *window, _user(enhanced_query)])


def prepare(session: Session, query: str, parts: Parts, counter: TokenCounter) -> Prepared:
    """The request for a query, with what it is made of and what each part weighs.

    The request before it and more, as long as its epoch lasts; `Prepared.opens` is the row to store when it does
    not. The session is not changed.

    Args:
        session: without the query's own message, and with every interaction of its window loaded.
        query: as it is sent, with the contents of its @files.
        counter: weighs the segments.
    """
    state, completed = session.context, _total(session)
    spec = sized(session.window, query, parts.smallest, parts.largest)
    held = _Held(session, state.epoch, completed, counter)
    move = due(state, session.window, spec, completed, parts.moment, held.tokens)
    epoch = _begun(session, move, parts) if move is not None else state.epoch
    assert epoch is not None, "without an epoch a move is due"
    edits = state.edits if move is None else [folded(state.edits, epoch.first, state.pins)]
    past = _past_of(session, epoch, completed, edits)
    told = told_since(epoch.strategies, said_in(past))
    chosen = {bullet.id: bullet.content for bullet in parts.bullets}
    live = [bullet.id for bullet in session.get_playbook().live()]
    enhanced = with_notes(query, [*strategy_notes(told, chosen, live), *parts.notes])
    asked = _user(enhanced) | {KEY: f"{completed + 1}.0"}
    messages = lawful([*past, asked])
    opens = None
    if move is not None:
        how = move.how
        opens = Reduction(how, completed + 1, detail=move.why, epoch=epoch, edits=edits[0], after=_past(past, counter))
        opens = replace(opens, before=held.request() if how != BEGIN else 0)
    return Prepared(
        keyed=messages,
        segments=[*segments_of(epoch, parts.system_prompt, messages[:-1], counter), weighed("query", [asked], counter)],
        shown=sorted((set(told) | set(chosen)) & set(live), key=lambda name: int(name.removeprefix("P-"))),
        enhanced=enhanced,
        window=(epoch.first, completed),
        removed=max(0, epoch.first - state.epoch.first) if state.epoch else max(0, epoch.first - session.window_start),
        tokens=counter.count_messages(messages),
        opens=opens,
        move=move,
    )


def past_request(session: Session, epoch: Epoch | None = None) -> list[ApiMessage]:
    """All that the next request is sure to begin with, keyed: what is stored, as the present epoch sends it."""
    state = session.context
    epoch = epoch or state.epoch
    if epoch is None:
        return []
    return _past_of(session, epoch, _total(session), state.edits)


def head_for(session: Session, parts: Parts, summary: str, sent: set[int]) -> str:
    """The system message of an epoch that sends the interactions in `sent` word for word."""
    kept = missing(session.context.survivors.values(), sent.__contains__, summary)
    return compose(parts.system_prompt, parts.instructions, parts.bullets, summary, kept, parts.digest)


def _begun(session: Session, move: Move, parts: Parts) -> Epoch:
    completed, before = _total(session), session.context.epoch
    loaded = _groups(session, move.first, completed)
    first = loaded[0][0] if loaded else completed + 1
    pins = tuple(pin for pin in session.context.pins if pin < first)
    sent = {*pins, *range(first, completed + 2)}
    summary = before.summary if before else ""
    return Epoch(
        first=first,
        system=head_for(session, parts, summary, sent),
        strategies={bullet.id: bullet.content for bullet in parts.bullets},
        pins=pins,
        floor=min(before.floor, first) if before else 1,
        summary=summary,
        spec=str(session.window),
        began=completed + 1,
    )


def _past_of(session: Session, epoch: Epoch, completed: int, edits: Sequence[Edits]) -> list[ApiMessage]:
    """What is sent before the query, keyed."""
    raw = lawful([_system(epoch.system) | {KEY: SYSTEM_KEY}, *_raw(session, epoch, completed)])
    return untold(edited(raw, edits), epoch.began)


def untold(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Keyed messages, those of interactions before `began` without what they told of strategies."""
    return [
        message | {"content": without_strategies(message["content"])}
        if message["role"] == "user" and interaction_of(message) < began and isinstance(message["content"], str)
        else message
        for message in messages
    ]


def said_in(messages: Iterable[ApiMessage]) -> list[str]:
    """What stands in the user messages, as it is sent."""
    return [str(message["content"]) for message in messages if message["role"] == "user"]


def _raw(session: Session, epoch: Epoch, completed: int) -> list[ApiMessage]:
    """The messages of an epoch's interactions, pinned ones first, with keys and before any edit."""
    pinned = [(pin, session.context.pinned.get(pin) or _group(session, pin)) for pin in epoch.pins]
    groups = [*pinned, *_groups(session, epoch.first, completed)]
    return [api for number, group in groups for api in keyed(group, number)]


@dataclass(slots=True)
class _Held:
    """The present request, weighed where somebody asks."""

    session: Session
    epoch: Epoch | None
    completed: int
    counter: TokenCounter
    _past: list[ApiMessage] | None = None

    def past(self) -> list[ApiMessage]:
        if self._past is None:
            self._past = past_request(self.session)
        return self._past

    def tokens(self) -> int:
        """Of the window alone."""
        return sum(self.counter.count_message(message) for message in self.past()[1:])

    def request(self) -> int:
        """Of all of it, without tools."""
        return _past(self.past(), self.counter)


def _past(messages: list[ApiMessage], counter: TokenCounter) -> int:
    return counter.count_messages(messages)


def _system(text: str) -> ApiMessage:
    return {"role": Role.SYSTEM.value, "content": text}


def _user(text: str) -> ApiMessage:
    return {"role": Role.USER.value, "content": text}


def _is_running(session: Session, query: str, enhanced_query: str) -> bool:
    if not session.messages or session.messages[-1].role is not Role.USER:
        return False
    last = session.messages[-1]
    return last.content in (query, enhanced_query) or last.sent == enhanced_query


def _total(session: Session) -> int:
    # Messages put into the list by hand have no numbers: they count by their place.
    return session.interactions or sum(message.role is Role.USER for message in session.messages)


def _group(session: Session, number: int) -> list[ChatMessage]:
    return next((group for at, group in _groups(session, number, _total(session)) if at == number), [])


def _groups(session: Session, first: int, last: int) -> Groups:
    """The interactions to send, read from the newest back: a long session costs no more than a short one."""
    found: Groups = []
    group: list[ChatMessage] = []
    number = _total(session)
    for message in reversed(session.messages):
        if number < first:
            break
        group.append(message)
        if message.role is Role.USER:
            if number <= last:
                found.append((number, group[::-1]))
            group = []
            number -= 1
    return found[::-1]
