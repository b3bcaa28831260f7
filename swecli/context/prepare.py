"""Builds a turn's first request: system message with the epoch's head, window of completed interactions, query."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from swecli.context.brought_back import brings_back, without_brought_back
from swecli.context.keyed_messages import SYSTEM_KEY, normalize_keyed, strip_keys
from swecli.context.notes import (
    known_strategies,
    strategy_notes,
    strategy_number,
    strip_old_strategies,
)
from swecli.context.situation import changed_situation
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.window import Opening
from swecli.models.api_message import UserMessage, text_of, with_fields
from swecli.models.context import (
    BEGIN,
    KEY,
    Edits,
    Epoch,
    Reduction,
    add_keys,
    interaction_of,
    key_of,
)
from swecli.models.message import IMAGES, ApiMessage, ChatMessage, Image
from swecli.models.notes import (
    BroughtBackNote,
    Note,
    SituationNote,
    disclaim_block,
    note_lines,
    with_notes,
)
from swecli.models.session import Session
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class RequestInput:
    """All inputs of a request."""

    session: Session  # without the query's own message, with every interaction of its window loaded
    enhanced_query: str  # the query with the contents of its @files
    head: HeadParts  # with the strategies selected for the query
    notes: tuple[Note, ...]  # appended to the query
    opening: Opening | None = None  # the new epoch that begins; None: the current one lasts
    images: tuple[Image, ...] = ()  # attached to the query
    situation: tuple[SituationNote, ...] = ()  # appended if the request does not hold them already


@dataclass(frozen=True, slots=True)
class Segment:
    """A named part of a request: system, instructions, playbook, summary, `turn 7`, query, `brought back 3`. `text` is
    for display."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request before its first step."""

    keyed_messages: list[ApiMessage]  # with the keys that edits address them by (see `Edits`)
    segments: tuple[Segment, ...]
    brought_back: tuple[Segment, ...]  # of turns that the query quotes
    tokens: int  # without tools: those of the segments, and a few for frames
    query: str  # with its @files, as it is stored
    notes: tuple[Note, ...]  # that follow the query
    strategy_ids: tuple[str, ...]  # of the strategies that the model knows
    window: tuple[int, int]  # first and last completed interaction; first > last: none
    removed_count: int  # interactions that leave the window
    first_new: int  # the first interaction that was not sent like this before; 0: the system message was not either
    epoch_row: Reduction | None = None  # of the epoch that begins; None: the current one lasts

    @property
    def messages(self) -> list[ApiMessage]:
        return strip_keys(self.keyed_messages)

    @property
    def enhanced(self) -> str:
        """The query as the model reads it, notes included."""
        return with_notes(self.query, self.notes)


def _system(text: str) -> ApiMessage:
    return {"role": "system", "content": text, KEY: SYSTEM_KEY}


def _query(text: str, key: str, notes: Sequence[Note] = ()) -> UserMessage:
    query: UserMessage = {"role": "user", "content": text, KEY: key}
    if notes:
        query["notes"] = list(notes)
    return query


@dataclass(frozen=True, slots=True)
class ComposedRequest:
    """The messages of a request, not yet measured."""

    inputs: RequestInput
    epoch: Epoch
    edits: Sequence[Edits]  # of the epoch
    keyed_messages: list[ApiMessage]
    query: ApiMessage
    notes: tuple[Note, ...]  # that follow the query
    strategy_ids: tuple[str, ...]  # of the strategies that the model knows

    def measure(self, counter: TokenCounter) -> PreparedRequest:
        """Measure the request and its parts."""
        inputs = self.inputs
        session = inputs.session
        epoch_before = session.context.epoch
        messages = self.keyed_messages
        segments = [
            Segment(name, counter.count(text), text) for name, text in inputs.head.split(self.epoch)
        ]
        brought_back = tuple(_measure_brought_back(self.notes, counter))
        # the query without what repairs it
        query = without_brought_back([self.query])[0]
        segments += measure_messages(self.epoch, messages[1:-1], query, counter)
        first_before = session.window_start if epoch_before is None else epoch_before.first
        return PreparedRequest(
            keyed_messages=messages,
            segments=tuple(segments),
            brought_back=brought_back,
            tokens=counter.count_messages(messages),
            query=inputs.enhanced_query,
            notes=self.notes,
            strategy_ids=self.strategy_ids,
            window=(self.epoch.first, session.completed),
            removed_count=max(0, self.epoch.first - first_before),
            first_new=self._find_first_new(),
            epoch_row=self._measure_epoch(counter),
        )

    def _find_first_new(self) -> int:
        session = self.inputs.session
        if self.inputs.opening is not None:
            return 0
        for newest in session.group_by_interaction(1):
            if any(brings_back(api_message) for api_message in newest[0].to_api()):
                return session.completed
        return session.completed + 1

    def _measure_epoch(self, counter: TokenCounter) -> Reduction | None:
        """Return the row to store for the epoch that begins; None if the current one lasts."""
        session = self.inputs.session
        opening = self.inputs.opening
        if opening is None:
            return None
        method = BEGIN
        before = 0
        if session.context.epoch is not None:
            method = "window"
            before = counter.count_messages(past_request(session))
        return Reduction(
            how=method,
            interaction=session.completed + 1,
            before=before,
            after=counter.count_messages(_drop_last_stub(self.keyed_messages[:-1])),
            detail=opening.reason,
            epoch=self.epoch,
            edits=self.edits[0],
        )


def compose_request(inputs: RequestInput) -> ComposedRequest:
    """Compose the request for a query. Changes nothing, and counts nothing.

    While an epoch lasts every request extends the one before it."""
    session = inputs.session
    state = session.context
    epoch = state.epoch
    edits: Sequence[Edits] = state.edits
    if inputs.opening is not None:
        epoch = _begin_epoch(inputs, inputs.opening.first)
        edits = [state.merge_edits(epoch.first)]
    assert epoch is not None, "without an epoch one begins"

    past = _epoch_messages(session, epoch, edits)
    earlier_strategies = known_strategies(epoch.strategies, past)
    selected = inputs.head.contents
    live = [
        bullet.id
        for bullet in session.get_playbook().live_bullets({*earlier_strategies, *selected})
    ]
    notes: list[Note] = [
        *strategy_notes(earlier_strategies, selected, live),
        *changed_situation(inputs.situation, past),
        *inputs.notes,
    ]
    notes = notes or disclaim_block(inputs.enhanced_query)
    query = _query(inputs.enhanced_query, f"{session.completed + 1}.0", notes)
    if inputs.images:
        query[IMAGES] = list(inputs.images)
    strategy_ids = (set(earlier_strategies) | set(selected)) & set(live)
    return ComposedRequest(
        inputs=inputs,
        epoch=epoch,
        edits=edits,
        keyed_messages=normalize_keyed([*past, query]),
        query=query,
        notes=tuple(notes),
        strategy_ids=tuple(sorted(strategy_ids, key=strategy_number)),
    )


def measure_messages(
    epoch: Epoch, window: Sequence[ApiMessage], query: ApiMessage, counter: TokenCounter
) -> Iterator[Segment]:
    """Measure the past interactions of a request, one by one, and its query."""
    for number in dict.fromkeys(interaction_of(message) for message in window):
        name = f"pinned {number}" if number in epoch.pins else f"turn {number}"
        messages = [message for message in window if interaction_of(message) == number]
        text = "\n".join(f"{message['role']}: {text_of(message)}" for message in messages)
        yield Segment(name, sum(counter.count_message(message) for message in messages), text)
    yield Segment("query", counter.count_message(query), text_of(query))


def _measure_brought_back(notes: Sequence[Note], counter: TokenCounter) -> Iterator[Segment]:
    """Measure the turns that a query quotes, one by one."""
    for note in notes:
        if isinstance(note, BroughtBackNote):
            tokens = sum(counter.count(line) for line in note_lines([note]))
            yield Segment(f"brought back {note.turn}", tokens, note.text)


def past_request(session: Session, query: ChatMessage | None = None) -> list[ApiMessage]:
    """Return the keyed messages that the next request begins with if the current epoch continues; [] without one. With
    `query`, a message stored behind this session, return the whole first request of its turn."""
    epoch = session.context.epoch
    if epoch is None:
        return []
    past = _epoch_messages(session, epoch, session.context.edits)
    key = f"{session.completed + 1}.0"
    if query is not None:
        return normalize_keyed([*past, with_fields(query.to_api()[0], {KEY: key})])
    *past, _ = normalize_keyed([*past, _query("", key)])
    return _drop_last_stub(past)


def _begin_epoch(inputs: RequestInput, start: int) -> Epoch:
    """Return the new epoch, which begins at `start` or the first loaded interaction after it."""
    session = inputs.session
    completed = session.completed
    before = session.context.epoch
    loaded = session.to_api_messages(max(0, completed - start + 1), keys=True)
    first = interaction_of(loaded[0]) if loaded else completed + 1
    pins = tuple(pin for pin in session.context.pins if pin < first)
    summary = before.summary if before else ""
    return Epoch(
        first=first,
        system=inputs.head.compose(session, summary, {*pins, *range(first, completed + 2)}),
        strategies=inputs.head.contents,
        pins=pins,
        summary=summary,
        spec=str(session.window),
        began=completed + 1,
    )


def _epoch_messages(session: Session, epoch: Epoch, edits: Sequence[Edits]) -> list[ApiMessage]:
    """Return the keyed messages of an epoch's request before its query, not repaired unless they are edited: edits
    address messages as they were sent."""
    window = session.to_api_messages(max(0, session.completed - epoch.first + 1), keys=True)
    pinned = [message for pin in epoch.pins for message in _pinned_messages(session, pin)]
    messages = [_system(epoch.system), *without_brought_back([*pinned, *window])]
    if any(edits):
        query = _query("", f"{session.completed + 1}.0")
        *messages, _ = normalize_keyed([*messages, query])
    for edit in edits:
        messages = edit.apply(messages)
    return strip_old_strategies(messages, epoch.began)


def stored_turn(session: Session, number: int) -> list[ChatMessage]:
    """Return the messages of an interaction that is loaded, pinned or brought back."""
    messages = session.context.pinned.get(number)
    if messages:
        return messages
    first = bisect_left(session.messages, number, key=attrgetter("interaction"))
    end = bisect_right(session.messages, number, key=attrgetter("interaction"))
    return session.messages[first:end]


def _pinned_messages(session: Session, number: int) -> list[ApiMessage]:
    messages = stored_turn(session, number)
    return add_keys(
        (api_message for message in messages for api_message in message.to_api()), number
    )


def _drop_last_stub(past: list[ApiMessage]) -> list[ApiMessage]:
    """Drop the stub for a missing last answer, which is inserted only because a query follows."""
    is_stub = past and past[-1]["role"] == "assistant" and key_of(past[-1]).endswith("+")
    return past[:-1] if is_stub else past
