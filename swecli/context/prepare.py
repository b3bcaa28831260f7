"""Builds a turn's first request: system message with the epoch's head, window of completed interactions, query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swecli.context.epochs import (
    SYSTEM_KEY,
    Opening,
    edited,
    interaction_of,
    key_of,
    lawful,
    plain,
    sized,
    without_old_strategies,
)
from swecli.context.query import known_since, strategy_lines, strategy_notes, with_notes
from swecli.context.system_message import HeadParts, compose, render_summary
from swecli.context.tokens import TokenCounter
from swecli.context.validate import legal
from swecli.models.context import BEGIN, KEY, Edits, Epoch, Reduction, add_keys, merge_edits
from swecli.models.message import HEAD_OPENS, IMAGES, ApiMessage, ChatMessage, Image, Role
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.session import Session
from swecli.models.window import WindowSpec


@dataclass(frozen=True, slots=True)
class RequestInput:
    """All that a request is built from. `session` is without the query's own message, with every interaction of its
    window loaded; `query` as typed, `enhanced_query` as sent, with the contents of its @files; `head` what the system
    message says, with the strategies chosen for the query; `notes` one line each, put behind the query; `window` as the
    user set it; `images` go with the query. With `opening` an epoch begins, with None the present one goes on."""

    session: Session
    query: str
    enhanced_query: str
    head: HeadParts
    notes: tuple[str, ...]
    window: WindowSpec
    opening: Opening | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a request: system, instructions, playbook, summary, `interaction 7`, query. `text` is for the eye."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request before its first step. `keyed` are its messages with their keys (see `context/epochs.py`); `shown` the
    ids of the strategies that the model knows then; `enhanced` the query as it is sent and stored; `window` the first
    and last completed interaction in it (none: the first is larger); `removed` counts those that leave now; `opened` is
    the row of the epoch that begins with it, None where it only adds. `tokens` is the whole without tools: the
    segments, and a small rest for frames."""

    keyed: list[ApiMessage]
    segments: tuple[Segment, ...]
    tokens: int
    enhanced: str
    shown: tuple[str, ...]
    window: tuple[int, int]
    removed: int
    opened: Reduction | None = None

    @property
    def messages(self) -> list[ApiMessage]:
        """The request as it is sent."""
        return plain(self.keyed)

    @property
    def kept(self) -> int:
        """Completed interactions in the request."""
        return self.window[1] - self.window[0] + 1


def prepare_messages(
    session: Session | None,
    system_prompt: str,
    query: str,
    enhanced_query: str,
    window_size: int | None = None,
    max_strategies: int = 30,
    *,
    keys: bool = False,
) -> list[ApiMessage]:
    """System message with the playbook, the last interactions, and the query as it is sent; legal. Knows no epochs.

    `session` is None for a conversation that has not begun; its last message, when it is this very query without an
    answer, is the running turn: sent once, not counted. `enhanced_query` is the query with the contents of its @files;
    `window_size` is the number of completed interactions, None for the session's own; a negative one is a ValueError.
    With `keys` each message has its key, and an unanswered query is an interaction like any other."""
    if session is None:
        return legal([_message(Role.SYSTEM, system_prompt), _message(Role.USER, enhanced_query)])
    last = session.messages[-1] if session.messages and not keys else None
    running = (
        last is not None
        and last.role is Role.USER
        and (last.content in (query, enhanced_query) or last.sent == enhanced_query)
    )
    completed = session.completed - running
    if window_size is None:
        window_size = completed - sized(session.window, query).first_kept(completed, session.window_start) + 1
    window = session.to_api_messages(window_size + running if window_size >= 0 else window_size, keys=keys)
    playbook = session.get_playbook().as_context(max_strategies=max_strategies)
    asked = _message(Role.USER, enhanced_query)
    messages = [_message(Role.SYSTEM, system_prompt + playbook), *window[: len(window) - running], asked]
    if not keys:
        return legal(messages)
    messages[0][KEY], asked[KEY] = SYSTEM_KEY, f"{completed + 1}.0"
    return lawful(messages)


def build_request(given: RequestInput, counter: TokenCounter) -> PreparedRequest:
    """The request for a query, with what each part weighs: the request before it and more, as long as its epoch lasts;
    `opened` is the row to store when it does not. Changes nothing."""
    session, state, completed = given.session, given.session.context, given.session.completed
    epoch, edits = state.epoch, state.edits
    if given.opening is not None:
        epoch = _begun(given, given.opening)
        edits = [merge_edits(edits, epoch.first, state.pins)]
    assert epoch is not None, "without an epoch one begins"
    *past, asked = _sent(session, epoch, edits, given.query, given.enhanced_query)
    known = known_since(epoch.strategies, _user_texts(past))
    chosen = {bullet.id: bullet.content for bullet in given.head.strategies}
    live = [bullet.id for bullet in session.get_playbook().live_bullets({*known, *chosen})]
    enhanced = with_notes(given.enhanced_query, [*strategy_notes(known, chosen, live), *given.notes])
    asked = asked | {"content": enhanced} | ({IMAGES: list(given.images)} if given.images else {})
    messages, opened = lawful([*past, asked]), None
    if given.opening is not None:
        how, why = given.opening.how, given.opening.why
        before = counter.count_messages(past_request(session)) if how != BEGIN else 0
        after = counter.count_messages(_before_query(past))
        opened = Reduction(how, completed + 1, 0, before, after, why, epoch, edits[0])
    left = session.window_start if state.epoch is None else state.epoch.first
    segments = _segments_of(epoch, given.head.system_prompt, messages[:-1], counter)
    return PreparedRequest(
        keyed=messages,
        segments=(*segments, _weighed("query", [asked], counter)),
        tokens=counter.count_messages(messages),
        enhanced=enhanced,
        shown=tuple(sorted((set(known) | set(chosen)) & set(live), key=lambda name: int(name.removeprefix("P-")))),
        window=(epoch.first, completed),
        removed=max(0, epoch.first - left),
        opened=opened,
    )


def past_request(session: Session) -> list[ApiMessage]:
    """All that the next request is sure to begin with, keyed: what is stored, as the present epoch sends it."""
    epoch = session.context.epoch
    return _before_query(_sent(session, epoch, session.context.edits, "", "")[:-1]) if epoch is not None else []


def first_request(session: Session, asked: ChatMessage) -> list[ApiMessage]:
    """The first request of a turn as its rows have it, [] without an epoch: `session` as it was before the query."""
    if (epoch := session.context.epoch) is None:
        return []
    sent = asked.content if asked.sent is None else asked.sent
    *past, query = _sent(session, epoch, session.context.edits, asked.content, sent)
    images = {IMAGES: list(asked.images)} if asked.images else {}
    return plain(lawful([*past, query | images]))


def known_strategies(epoch: Epoch, past: Iterable[ApiMessage], counter: TokenCounter) -> tuple[dict[str, str], int]:
    """What an epoch's request reports of the playbook before its query, `past` being what it begins with: contents by
    id, and the tokens of it all, of the head's part and of each note since."""
    sent = _user_texts(past)
    notes = "".join(f"{line}\n" for text in sent for line in strategy_lines(text))
    head = render_bullets(Bullet(name, content) for name, content in epoch.strategies.items())
    return known_since(epoch.strategies, sent), counter.count(head) + counter.count(notes)


def _begun(given: RequestInput, opening: Opening) -> Epoch:
    """The epoch that begins: from the first interaction on that is loaded."""
    session, completed, before = given.session, given.session.completed, given.session.context.epoch
    loaded = session.to_api_messages(max(0, completed - opening.first + 1), keys=True)
    first = interaction_of(loaded[0]) if loaded else completed + 1
    pins = tuple(pin for pin in session.context.pins if pin < first)
    summary = before.summary if before else ""
    return Epoch(
        first=first,
        system=compose(given.head, session, summary, {*pins, *range(first, completed + 2)}),
        strategies=given.head.contents,
        pins=pins,
        floor=min(before.floor, first) if before else 1,
        summary=summary,
        spec=str(given.window),
        began=completed + 1,
    )


def _sent(session: Session, epoch: Epoch, edits: Sequence[Edits], query: str, enhanced: str) -> list[ApiMessage]:
    """A request of an epoch, keyed, before its notes are put to the query."""
    size = max(0, session.completed - epoch.first + 1)
    messages = prepare_messages(session, epoch.system, query, enhanced, size, 0, keys=True)
    if epoch.pins:
        pinned = [message for pin in epoch.pins for message in _pinned(session, pin)]
        messages = lawful([messages[0], *pinned, *messages[1:]])
    *past, asked = edited(messages, edits)
    return [*without_old_strategies(past, epoch.began), asked]


def _pinned(session: Session, number: int) -> list[ApiMessage]:
    """A pinned interaction, keyed."""
    kept = session.context.pinned.get(number)
    if kept is not None:
        return add_keys((api for message in kept for api in message.to_api()), number)
    loaded = session.to_api_messages(session.completed - number + 1, keys=True)
    return [message for message in loaded if interaction_of(message) == number]


def _before_query(past: list[ApiMessage]) -> list[ApiMessage]:
    """Without the line that stands for a missing answer, put in only because a query follows."""
    stub = past and past[-1]["role"] == Role.ASSISTANT and key_of(past[-1]).endswith("+")
    return past[:-1] if stub else past


def _user_texts(messages: Iterable[ApiMessage]) -> list[str]:
    """What stands in the user messages, as it is sent."""
    return [str(message["content"]) for message in messages if message["role"] == "user"]


def _message(role: Role, text: str) -> ApiMessage:
    return {"role": role.value, "content": text}


def _segments_of(epoch: Epoch, system_prompt: str, messages: list[ApiMessage], counter: TokenCounter) -> list[Segment]:
    """The system message by its parts, and the window by its interactions."""
    static, opens, head = epoch.system.partition(HEAD_OPENS)
    rest = static.removeprefix(system_prompt)
    playbook = render_bullets(Bullet(name, content) for name, content in epoch.strategies.items())
    summary = render_summary(epoch.summary)
    kept = opens + head.replace(playbook, "", 1).replace(summary, "", 1)
    named = [("system", static[: len(static) - len(rest)]), ("instructions", rest), ("playbook", playbook)]
    named += [("summary", summary), ("kept from earlier", kept if kept != HEAD_OPENS else "")]
    found = [Segment(name, counter.count(text), text) for name, text in named if text]
    for number in dict.fromkeys(interaction_of(message) for message in messages[1:]):
        name = f"pinned {number}" if number in epoch.pins else f"interaction {number}"
        found.append(_weighed(name, [m for m in messages[1:] if interaction_of(m) == number], counter))
    return found


def _weighed(name: str, messages: Sequence[ApiMessage], counter: TokenCounter) -> Segment:
    """Messages as one part; of a query, only its own text is shown."""
    lines = "\n".join(f"{m['role']}: {m['content'] or ''}" for m in messages)
    text = str(messages[0]["content"]) if name == "query" else lines
    return Segment(name, sum(counter.count_message(message) for message in messages), text)
