"""Epochs: the keys of messages, how a change of a request is written down, what a summary or a truncation makes of it;
and whether, as a turn begins, the window moves and a new epoch begins: the first of the two clocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from swecli.context.query import without_strategies
from swecli.context.system_message import HeadParts, compose
from swecli.context.tokens import TokenCounter
from swecli.context.validate import legal
from swecli.models.context import BEGIN, KEY, Edits, Epoch, merge_edits, note_key
from swecli.models.context import interaction_of as number_of
from swecli.models.message import ApiMessage
from swecli.models.session import Session
from swecli.models.window import DEFAULT_SLACK, WindowSpec

SYSTEM_KEY = "s"
CONDENSE = "condense"
_COLD = "the provider's cache is cold"
HALF = "it takes half of what is allowed"
_LARGE_WORK, _LARGE_SIZE = ("refactor", "implement", "design"), 7
_FEW_WORDS, _SMALL_SIZE = 5, 3
_ROOM_TO_GATHER = 4_000  # tokens of what a request may have, for each interaction of slack


def key_of(message: ApiMessage) -> str:
    """The message's key, "" where it has none."""
    return str(message.get(KEY, ""))


def interaction_of(message: ApiMessage) -> int:
    """The interaction that a message belongs to; 0 for the system message."""
    return number_of(key_of(message))


def plain(messages: Iterable[ApiMessage]) -> list[ApiMessage]:
    """The messages as they are sent."""
    return [{name: value for name, value in message.items() if name != KEY} for message in messages]


def lawful(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """`legal`, with a key for each message that it had to put in."""
    out: list[ApiMessage] = []
    before = ""
    for message in legal(list(messages)):
        before = key_of(message) or (SYSTEM_KEY if message["role"] == "system" else f"{before}+")
        out.append(message if KEY in message else message | {KEY: before})
    return out


def with_note_keys(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """Keys for the lines that a rung has put in: each has that of the message behind it, as a note."""
    out: list[ApiMessage] = []
    behind = ""
    for message in reversed(messages):
        if KEY not in message and behind:
            message = message | {KEY: note_key(behind)}
        behind = key_of(message)
        out.append(message)
    return out[::-1]


def edited(messages: Sequence[ApiMessage], edits: Iterable[Edits]) -> list[ApiMessage]:
    """The messages after these changes, one set after another."""
    current = list(messages)
    for one in edits:
        gone, out, inserted = set(one.drop), list[ApiMessage](), dict[str, list[ApiMessage]]()
        for key, message in one.insert:
            inserted.setdefault(key, []).append(message)
        for message in current:
            key = key_of(message)
            out += inserted.get(key, ())
            if key not in gone:
                out.append(message | one.replace[key] if key in one.replace else message)
        current = out
    return current


def changes(before: Sequence[ApiMessage], after: Sequence[ApiMessage]) -> Edits:
    """What leads from one list of keyed messages to another, the system message apart; what is new in `after` stands
    before something old."""
    old, kept = ({key_of(message): message for message in side} for side in (before, after))
    replaced, inserted, waiting = dict[str, ApiMessage](), list[tuple[str, ApiMessage]](), list[ApiMessage]()
    for message in after:
        key = key_of(message)
        if key not in old:
            waiting.append(message)
            continue
        inserted += [(key, new) for new in waiting]
        waiting = []
        if key != SYSTEM_KEY and old[key] != message:
            replaced[key] = {name: value for name, value in message.items() if old[key].get(name) != value}
    return Edits(tuple(key for key in old if key not in kept), replaced, tuple(inserted))


def without_old_strategies(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Keyed messages, those of interactions before `began` without what they told of strategies."""
    return [
        message | {"content": without_strategies(message["content"])}
        if message["role"] == "user" and interaction_of(message) < began
        else message
        for message in messages
    ]


def under(epoch: Epoch, messages: list[ApiMessage]) -> list[ApiMessage]:
    """Keyed messages as an epoch sends them: behind its system message."""
    system = {"role": "system", "content": epoch.system, KEY: SYSTEM_KEY}
    rest = (message for message in messages if key_of(message) != SYSTEM_KEY)
    return without_old_strategies([system, *rest], epoch.began)


def recomposed(session: Session, parts: HeadParts, interaction: int) -> Epoch:
    """The present epoch with a system message that keeps what leaves the request in that interaction, and of it."""
    was = present_epoch(session)
    system = compose(parts, session, was.summary, session.context.pins)
    return replace(was, system=system, strategies=parts.contents, began=interaction + 1)


def present_epoch(session: Session) -> Epoch:
    """The session's epoch: there is one as soon as its first turn has begun."""
    assert session.context.epoch is not None, "nothing is reduced before the first request"
    return session.context.epoch


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a summary cuts a request: `asked` is what it is made of, `gone` what it takes the place of; the keys in
    `dropped` are steps of the running turn that go with the older interactions."""

    asked: list[ApiMessage]
    gone: list[ApiMessage]
    dropped: tuple[str, ...]


def cut_for_summary(messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]) -> Cut | None:
    """What of a request a summary would stand for; None when that is nothing. The running turn keeps its user message
    and its newest step, pinned interactions all of theirs."""
    running = [message for message in messages if interaction_of(message) == interaction]
    places = [place for place, message in enumerate(running) if message["role"] == "assistant"]
    dropped = tuple(key_of(message) for message in running[1 : places[-1]]) if places else ()
    older = [m for m in messages[1:] if interaction_of(m) != interaction and interaction_of(m) not in pins]
    if not dropped and not older:
        return None
    # A question that nobody answered yet is not part of what came before.
    asked = messages[:-1] if running and not places else messages
    return Cut(asked, [*older, *(message for message in running if key_of(message) in dropped)], dropped)


def summed_up(
    session: Session, messages: list[ApiMessage], cut: Cut, summary: str, parts: HeadParts, interaction: int
) -> tuple[Epoch, Edits, list[ApiMessage]]:
    """The epoch that a summary begins, the edits that hold in it, and its messages."""
    pins = tuple(pin for pin in session.context.pins if pin < interaction)
    system = compose(parts, session, summary, pins if cut.dropped else {*pins, interaction})
    numbers = (str(session.window), interaction + 1)
    epoch = Epoch(interaction, system, parts.contents, pins, interaction, summary, *numbers)
    edits = merge_edits([*session.context.edits, Edits(cut.dropped)], interaction, session.context.pins)
    stay = [message for message in messages if interaction_of(message) in (*pins, interaction)]
    return epoch, edits, lawful(edited(under(epoch, stay), [Edits(cut.dropped)]))


def turns(messages: list[ApiMessage], running: int) -> str:
    """Which interactions these messages are of: `T3 to T9`, or the running one's steps."""
    numbers = sorted({interaction_of(message) for message in messages} - {0, running})
    if not numbers:
        return f"earlier steps of T{running}"
    return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"


@dataclass(frozen=True, slots=True)
class Moment:
    """What a turn's beginning depends on besides the session. `cold`: the provider's cache is gone; `allowed`: tokens a
    request may have, None where unknown; `reopen`: why a new epoch must begin, "" when it need not; `smallest` and
    `largest` bound the size of an `auto` window."""

    cold: bool = False
    allowed: int | None = None
    reopen: str = ""
    smallest: int = 3
    largest: int = 10


@dataclass(frozen=True, slots=True)
class Opening:
    """A new epoch: its first interaction, what it is called in its row, and why."""

    first: int
    how: str
    why: str


def adaptive_window_size(query: str, default: int = 5, min_size: int = 3, max_size: int = 10) -> int:
    """Interactions to keep for `query`: 7 for large work (by key words, so that "implement OAuth" is not small), 3 for
    a few words, else `default`; within `min_size` and `max_size`, the upper one winning."""
    size = _SMALL_SIZE if len(query.split()) < _FEW_WORDS else default
    if any(word in query.lower() for word in _LARGE_WORK):
        size = _LARGE_SIZE
    return min(max(size, min_size), max_size)


def sized(spec: WindowSpec, query: str = "", moment: Moment | None = None) -> WindowSpec:
    """The window for a query: `auto` by the query's words; with less slack where the model's window is small."""
    moment = moment or Moment()
    if spec.mode == "auto":
        size = adaptive_window_size(query, min_size=moment.smallest, max_size=moment.largest)
        return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)
    room = spec.slack if moment.allowed is None else moment.allowed // _ROOM_TO_GATHER
    return replace(spec, slack=min(spec.slack, room))


def largest(spec: WindowSpec, moment: Moment) -> int:
    """Interactions that a window of `sized` may hold before it is cut back; `auto` is cut only at its upper bound: a
    query that needs less is not a reason to break the prefix, one that needs more finds what is there."""
    return max(moment.largest, spec.size) if spec.mode == "auto" else spec.size + spec.slack


def opening(
    session: Session,
    window: WindowSpec,
    query: str,
    moment: Moment,
    past: Sequence[ApiMessage],
    counter: TokenCounter,
) -> Opening | None:
    """The epoch to begin with the next turn, None to go on in the present one. `window` as the user set it; `query` as
    sent sizes an `auto` one; `past`, the present request without it, counts where the window may take half of
    `allowed`: then it is cut if at least a half leaves."""
    state, epoch, completed = session.context, session.context.epoch, session.completed
    spec = sized(window, query, moment)
    if epoch is None:
        return Opening(replace(spec, slack=0).first_kept(completed), BEGIN, "the session begins")
    if epoch.spec != str(window):
        return _moved(epoch, spec.first_kept(completed, epoch.first), f"the window is {window} now", asked=True)
    if moment.reopen:
        return Opening(epoch.first, "window", moment.reopen)
    older = {pin for pin in state.pins if pin < epoch.first}
    if not older <= set(epoch.pins) or any(state.is_edited(pin) for pin in state.pins):
        return Opening(epoch.first, "window", "a pinned interaction comes back")
    if completed < state.hold_turns or spec.mode == "full":
        return None
    held = completed - epoch.first + 1
    target = completed - spec.size + 1
    most = largest(spec, moment)
    if held > most:
        return _moved(epoch, target, f"more than {most} interactions")
    if held > spec.size and moment.cold:
        return _moved(epoch, target, _COLD)
    if held > spec.size and moment.allowed is not None:
        tokens, kept = (
            sum(counter.count_message(message) for message in past[1:] if interaction_of(message) >= first)
            for first in (0, target)
        )
        if tokens * 2 > moment.allowed and tokens >= kept * 2:  # what stays is billed in full once more
            return _moved(epoch, target, HALF)
    return None


def _moved(epoch: Epoch, target: int, why: str, *, asked: bool = False) -> Opening | None:
    """An epoch from `target` on; None when nothing moves. `asked`: the user changed the setting: an epoch begins in any
    case, so that it is noted."""
    if target == epoch.first and not asked:
        return None
    return Opening(max(1, target), "window", why)
