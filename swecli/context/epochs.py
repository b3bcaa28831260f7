"""Epochs: message keys, edits, the effects of a summary, and the conditions under which a turn begins a new epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from swecli.context.query import strip_strategy_notes
from swecli.context.system_message import HeadParts, compose
from swecli.context.tokens import TokenCounter
from swecli.context.validate import normalize
from swecli.models.context import KEY, Edits, Epoch, merge_edits, note_key
from swecli.models.context import interaction_of as interaction_of_key
from swecli.models.message import ApiMessage
from swecli.models.session import Session
from swecli.models.window import DEFAULT_SLACK, WindowSpec

SYSTEM_KEY = "s"
HALF = "it takes half of what is allowed"
CONDENSE = "condense"
_LARGE_WORK, _LARGE_SIZE = ("refactor", "implement", "design"), 7
_FEW_WORDS, _SMALL_SIZE = 5, 3
_TOKENS_PER_SLACK = 4_000  # of a request's limit, for each interaction of slack


def key_of(message: ApiMessage) -> str:
    """Return the message's key, or "" if it has none."""
    return str(message.get(KEY, ""))


def interaction_of(message: ApiMessage) -> int:
    """Return the number of the interaction a message belongs to; 0 for the system message."""
    return interaction_of_key(key_of(message))


def strip_keys(messages: Iterable[ApiMessage]) -> list[ApiMessage]:
    """Return the messages without their keys, as they are sent."""
    return [{name: value for name, value in message.items() if name != KEY} for message in messages]


def normalize_keyed(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """Apply `normalize` to keyed messages; each message that it inserts gets a key."""
    out: list[ApiMessage] = []
    before = ""
    for message in normalize(list(messages)):
        before = key_of(message) or (SYSTEM_KEY if message["role"] == "system" else f"{before}+")
        out.append(message if KEY in message else message | {KEY: before})
    return out


def assign_note_keys(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """Give each message without a key the note key of the message that follows it."""
    out: list[ApiMessage] = []
    following = ""
    for message in reversed(messages):
        if KEY not in message and following:
            message = message | {KEY: note_key(following)}
        following = key_of(message)
        out.append(message)
    return out[::-1]


def apply_edits(messages: Sequence[ApiMessage], edits: Iterable[Edits]) -> list[ApiMessage]:
    """Apply sets of edits to keyed messages, one after another."""
    current = list(messages)
    for one in edits:
        dropped, out, inserted = set(one.drop), list[ApiMessage](), dict[str, list[ApiMessage]]()
        for key, message in one.insert:
            inserted.setdefault(key, []).append(message)
        for message in current:
            key = key_of(message)
            out += inserted.get(key, ())
            if key not in dropped:
                out.append(message | one.replace[key] if key in one.replace else message)
        current = out
    return current


def diff_messages(before: Sequence[ApiMessage], after: Sequence[ApiMessage]) -> Edits:
    """Return the edits from one list of keyed messages to another, the system message excluded. New messages must
    precede old ones."""
    old, kept = ({key_of(message): message for message in side} for side in (before, after))
    replaced, inserted, pending = dict[str, ApiMessage](), list[tuple[str, ApiMessage]](), list[ApiMessage]()
    for message in after:
        key = key_of(message)
        if key not in old:
            pending.append(message)
            continue
        inserted += [(key, new) for new in pending]
        pending = []
        if key != SYSTEM_KEY and old[key] != message:
            replaced[key] = {name: value for name, value in message.items() if old[key].get(name) != value}
    return Edits(tuple(key for key in old if key not in kept), replaced, tuple(inserted))


def strip_old_strategies(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Remove the strategy notes from keyed messages of interactions before `began`."""
    return [
        message | {"content": strip_strategy_notes(message["content"])}
        if message["role"] == "user" and interaction_of(message) < began
        else message
        for message in messages
    ]


def with_epoch(epoch: Epoch, messages: list[ApiMessage]) -> list[ApiMessage]:
    """Return keyed messages as an epoch sends them: with its system message, without older strategy notes."""
    system = {"role": "system", "content": epoch.system, KEY: SYSTEM_KEY}
    rest = (message for message in messages if key_of(message) != SYSTEM_KEY)
    return strip_old_strategies([system, *rest], epoch.began)


def rebuild_epoch(session: Session, parts: HeadParts, interaction: int) -> Epoch:
    """Return the current epoch with a new system message, whose head retains the facts of all unpinned interactions."""
    epoch = current_epoch(session)
    system = compose(parts, session, epoch.summary, session.context.pins)
    return replace(epoch, system=system, strategies=parts.contents, began=interaction + 1)


def current_epoch(session: Session) -> Epoch:
    """Return the session's epoch, which its first turn begins."""
    assert session.context.epoch is not None, "nothing is reduced before the first request"
    return session.context.epoch


@dataclass(frozen=True, slots=True)
class SummaryCut:
    """Messages to summarise: a summary of `asked` replaces `replaced`; `dropped` holds the keys of the running turn's
    messages among them."""

    asked: list[ApiMessage]
    replaced: list[ApiMessage]
    dropped: tuple[str, ...]


def find_summary_cut(messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]) -> SummaryCut | None:
    """Find the messages that a summary would replace; None if there are none. The running turn keeps its user message
    and its newest step, pinned interactions keep everything."""
    running = [message for message in messages if interaction_of(message) == interaction]
    places = [place for place, message in enumerate(running) if message["role"] == "assistant"]
    dropped = tuple(key_of(message) for message in running[1 : places[-1]]) if places else ()
    older = [m for m in messages[1:] if interaction_of(m) != interaction and interaction_of(m) not in pins]
    if not dropped and not older:
        return None
    # an unanswered query is not part of the conversation to summarise
    asked = messages[:-1] if running and not places else messages
    return SummaryCut(asked, [*older, *(message for message in running if key_of(message) in dropped)], dropped)


def apply_summary(
    session: Session, messages: list[ApiMessage], cut: SummaryCut, summary: str, parts: HeadParts, interaction: int
) -> tuple[Epoch, Edits, list[ApiMessage]]:
    """Return the epoch that begins with a summary, its edits and its messages."""
    pins = tuple(pin for pin in session.context.pins if pin < interaction)
    system = compose(parts, session, summary, pins if cut.dropped else {*pins, interaction})
    numbers = (str(session.window), interaction + 1)
    epoch = Epoch(interaction, system, parts.contents, pins, interaction, summary, *numbers)
    edits = merge_edits([*session.context.edits, Edits(cut.dropped)], interaction, session.context.pins)
    kept = [message for message in messages if interaction_of(message) in (*pins, interaction)]
    return epoch, edits, normalize_keyed(apply_edits(with_epoch(epoch, kept), [Edits(cut.dropped)]))


def format_turns(messages: list[ApiMessage], running: int) -> str:
    """Name the interactions of the messages: `T3 to T9`, or the running turn's steps."""
    numbers = sorted({interaction_of(message) for message in messages} - {0, running})
    if not numbers:
        return f"earlier steps of T{running}"
    return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"


@dataclass(frozen=True, slots=True)
class OpeningConditions:
    """What the start of a turn depends on besides the session. `cold`: the provider's cache has expired; `allowed`:
    maximum tokens of a request, None if unknown; `reopen`: why a new epoch must begin, or ""; `smallest` and `largest`
    bound an `auto` window."""

    cold: bool = False
    allowed: int | None = None
    reopen: str = ""
    smallest: int = 3
    largest: int = 10


@dataclass(frozen=True, slots=True)
class Opening:
    """A new epoch: its first interaction, and the reason."""

    first: int
    why: str


def adaptive_window_size(query: str, default: int = 5, min_size: int = 3, max_size: int = 10) -> int:
    """Return the number of interactions to keep for `query`: 7 for large work (by key words, so that "implement OAuth"
    is not small), 3 for a few words, else `default`; clamped to `min_size` and `max_size`, the latter winning."""
    size = _SMALL_SIZE if len(query.split()) < _FEW_WORDS else default
    if any(word in query.lower() for word in _LARGE_WORK):
        size = _LARGE_SIZE
    return min(max(size, min_size), max_size)


def resolve_window(spec: WindowSpec, query: str = "", conditions: OpeningConditions | None = None) -> WindowSpec:
    """Resolve the window for a query: `auto` gets a size from the query; a small model's window limits the slack."""
    conditions = conditions or OpeningConditions()
    if spec.mode == "auto":
        size = adaptive_window_size(query, min_size=conditions.smallest, max_size=conditions.largest)
        return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)
    slack = spec.slack if conditions.allowed is None else conditions.allowed // _TOKENS_PER_SLACK
    return replace(spec, slack=min(spec.slack, slack))


def max_held(spec: WindowSpec, conditions: OpeningConditions) -> int:
    """Return how many interactions a resolved window may hold before it moves. `auto` moves only at its upper bound: a
    query that needs fewer interactions is no reason to invalidate the cached prefix."""
    return max(conditions.largest, spec.size) if spec.mode == "auto" else spec.size + spec.slack


def next_opening(
    session: Session, query: str, conditions: OpeningConditions, past: Sequence[ApiMessage], counter: TokenCounter
) -> Opening | None:
    """Return the epoch that the next turn begins, or None if the current one continues.

    `query` as sent sizes an `auto` window; `past` is the current request without the query: if it takes more than half
    of the allowed tokens the window moves, provided that at least half of it leaves."""
    state, epoch, completed = session.context, session.context.epoch, session.completed
    spec = resolve_window(session.window, query, conditions)
    if epoch is None:
        return Opening(replace(spec, slack=0).first_kept(completed), "the session begins")
    if epoch.spec != str(session.window):  # an epoch begins in any case, so that the new setting is stored
        return Opening(spec.first_kept(completed, epoch.first), f"the window is {session.window} now")
    if conditions.reopen:
        return Opening(epoch.first, conditions.reopen)
    older = {pin for pin in state.pins if pin < epoch.first}
    if not older <= set(epoch.pins) or any(state.is_edited(pin) for pin in state.pins):
        return Opening(epoch.first, "a pinned interaction comes back")
    if completed < state.hold_turns or spec.mode == "full":
        return None
    held, target = completed - epoch.first + 1, completed - spec.size + 1
    most = max_held(spec, conditions)
    if held > most:
        return Opening(target, f"more than {most} interactions")
    if held > spec.size and conditions.cold:
        return Opening(target, "the provider's cache is cold")
    if held > spec.size and conditions.allowed is not None:
        tokens, kept = (
            sum(counter.count_message(message) for message in past[1:] if interaction_of(message) >= first)
            for first in (0, target)
        )
        if tokens * 2 > conditions.allowed and tokens >= kept * 2:  # the provider bills what stays in full again
            return Opening(target, HALF)
    return None
