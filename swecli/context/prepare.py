"""Builds a turn's first request: system message with the epoch's head, window of completed interactions, query."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from swecli.context.epochs import (
    Opening,
    OpeningConditions,
    known_strategies,
    strategy_notes,
    strip_old_strategies,
    with_notes,
)
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.validate import SYSTEM_KEY, normalize_keyed, strip_keys
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
from swecli.models.message import IMAGES, ApiMessage, ChatMessage, Image, Role
from swecli.models.session import Session


@dataclass(frozen=True, slots=True)
class RequestInput:
    """All inputs of a request.

    `session` excludes the query's own message and has every interaction of its window loaded; `enhanced_query` is the
    query with the contents of its @files; `head` holds the strategies selected for the query; each note is one line
    appended to the query; `images` are attached to it. With `opening` a new epoch begins, otherwise the current one
    lasts."""

    session: Session
    enhanced_query: str
    head: HeadParts
    notes: tuple[str, ...]
    opening: Opening | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A named part of a request: system, instructions, playbook, summary, `interaction 7`, query. `text` is for
    display."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request before its first step.

    `keyed` are its messages with their keys (see `Edits`); `tokens` counts them without tools: the segments
    and a small remainder for frames; `enhanced` is the query as sent and stored; `shown` are the ids of the strategies
    known to the model; `window` is the first and last completed interaction (first > last: none); `removed` counts the
    interactions that leave the window; `opened` is the row of the epoch that begins, or None."""

    keyed: list[ApiMessage]
    segments: tuple[_Segment, ...]
    tokens: int
    enhanced: str
    shown: tuple[str, ...]
    window: tuple[int, int]
    removed: int
    opened: Reduction | None = None

    @property
    def messages(self) -> list[ApiMessage]:
        return strip_keys(self.keyed)


def prepare_messages(
    session: Session | None,
    system_prompt: str,
    query: str,
    enhanced_query: str,
    window_size: int | None = None,
    max_strategies: int = 30,
) -> list[ApiMessage]:
    """Return the keyed messages of a valid request: system message with the playbook, last interactions, query.

    `session` is None for a new conversation; `enhanced_query` is the query with the contents of its @files.
    `window_size` is the number of interactions to send, all of them completed. If it is None the session's setting
    applies, and a last message that is this very query without an answer is the running turn: sent once and not
    counted. Raises ValueError if `window_size` is negative."""
    session, running = session or Session(id=""), 0
    completed = session.completed
    if window_size is None:
        last = session.messages[-1] if session.messages else None
        if last is not None and last.role is Role.USER:
            running = int(last.content in (query, enhanced_query) or last.sent == enhanced_query)
        completed -= running
        first = (
            OpeningConditions()
            .resolve(session.window, query)
            .first_kept(completed, session.window_start)
        )
        window_size = completed - first + 1 + running
    window = session.to_api_messages(window_size, keys=True)
    system = system_prompt + session.get_playbook().as_context(max_strategies=max_strategies)
    asked = _message(Role.USER, enhanced_query, f"{completed + 1}.0")
    return normalize_keyed(
        [_message(Role.SYSTEM, system, SYSTEM_KEY), *window[: len(window) - running], asked]
    )


def _message(role: Role, text: str, key: str) -> ApiMessage:
    return {"role": role.value, "content": text, KEY: key}


def build_request(inputs: RequestInput, counter: TokenCounter) -> PreparedRequest:
    """Build the request for a query and measure its parts. Changes nothing.

    While an epoch lasts every request extends the one before it; `opened` is the row to store when a new one begins."""
    session, state, completed = inputs.session, inputs.session.context, inputs.session.completed
    epoch, edits, opening = state.epoch, state.edits, inputs.opening
    if opening is not None:
        epoch = _begin_epoch(inputs, opening[0])
        edits = [state.merge_edits(epoch.first)]
    assert epoch is not None, "without an epoch one begins"
    *past, query = _epoch_messages(session, epoch, edits, inputs.enhanced_query)
    known = known_strategies(epoch.strategies, past)
    selected = inputs.head.contents
    live = [bullet.id for bullet in session.get_playbook().live_bullets({*known, *selected})]
    enhanced = with_notes(
        inputs.enhanced_query, [*strategy_notes(known, selected, live), *inputs.notes]
    )
    query = query | {"content": enhanced} | ({IMAGES: list(inputs.images)} if inputs.images else {})
    messages, opened = normalize_keyed([*past, query]), None
    if opening is not None:
        how, before = (
            (BEGIN, 0)
            if state.epoch is None
            else ("window", counter.count_messages(past_request(session)))
        )
        after = counter.count_messages(_drop_last_stub(past))
        opened = Reduction(how, completed + 1, 0, before, after, opening[1], epoch, edits[0])
    first_before = session.window_start if state.epoch is None else state.epoch.first
    segments = [
        _Segment(name, counter.count(text), text) for name, text in inputs.head.split(epoch)
    ]
    for number in dict.fromkeys(interaction_of(message) for message in messages[1:-1]):
        name = f"pinned {number}" if number in epoch.pins else f"interaction {number}"
        own = [message for message in messages[1:-1] if interaction_of(message) == number]
        segments.append(_measure_segment(name, own, counter))
    return PreparedRequest(
        keyed=messages,
        segments=(*segments, _measure_segment("query", [query], counter)),
        tokens=counter.count_messages(messages),
        enhanced=enhanced,
        shown=tuple(
            sorted(
                (set(known) | set(selected)) & set(live),
                key=lambda name: int(name.removeprefix("P-")),
            )
        ),
        window=(epoch.first, completed),
        removed=max(0, epoch.first - first_before),
        opened=opened,
    )


def past_request(session: Session, query: ChatMessage | None = None) -> list[ApiMessage]:
    """Return the keyed messages that the next request begins with if the current epoch continues; [] without one. With
    `query`, a message stored behind this session, return the whole first request of its turn."""
    if (epoch := session.context.epoch) is None:
        return []
    sent = query.to_api()[0] if query else {"content": ""}
    *past, last = _epoch_messages(session, epoch, session.context.edits, sent["content"])
    return normalize_keyed([*past, sent | last]) if query else _drop_last_stub(past)


def _begin_epoch(inputs: RequestInput, start: int) -> Epoch:
    """Return the new epoch, which begins at `start` or the first loaded interaction after it."""
    session, completed, before = (
        inputs.session,
        inputs.session.completed,
        inputs.session.context.epoch,
    )
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


def _epoch_messages(
    session: Session, epoch: Epoch, edits: Sequence[Edits], query: str
) -> list[ApiMessage]:
    """Return the keyed messages of an epoch's request, without notes on the query, which comes last."""
    messages = prepare_messages(
        session, epoch.system, query, query, max(0, session.completed - epoch.first + 1), 0
    )
    if epoch.pins:
        pinned = [message for pin in epoch.pins for message in _pinned_messages(session, pin)]
        messages = normalize_keyed([messages[0], *pinned, *messages[1:]])
    for one in edits:
        messages = one.apply(messages)
    *past, last = messages
    return [*strip_old_strategies(past, epoch.began), last]


def _pinned_messages(session: Session, number: int) -> list[ApiMessage]:
    first, last = (
        bisect_left(session.messages, n, key=lambda m: m.interaction) for n in (number, number + 1)
    )
    stored = session.context.pinned.get(number) or session.messages[first:last]
    return add_keys((api for message in stored for api in message.to_api()), number)


def _drop_last_stub(past: list[ApiMessage]) -> list[ApiMessage]:
    """Drop the stub for a missing last answer, which is inserted only because a query follows."""
    stub = past and past[-1]["role"] == Role.ASSISTANT and key_of(past[-1]).endswith("+")
    return past[:-1] if stub else past


def _measure_segment(name: str, messages: Sequence[ApiMessage], counter: TokenCounter) -> _Segment:
    """Measure messages as one segment; of a query only the text is displayed."""
    lines = "\n".join(f"{m['role']}: {m['content'] or ''}" for m in messages)
    text = str(messages[0]["content"]) if name == "query" else lines
    return _Segment(name, sum(counter.count_message(message) for message in messages), text)
