"""Messages with keys: how a request is put together from what is stored, how a change of it is written down, and what a
summary or a truncation makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from swecli.context.query import without_strategies
from swecli.context.system_message import HeadParts, compose
from swecli.context.validate import legal
from swecli.models.context import KEY, Edits, Epoch, folded, note_key
from swecli.models.context import interaction_of as number_of
from swecli.models.message import ApiMessage
from swecli.models.session import Session

SYSTEM_KEY = "s"
CONDENSE = "condense"


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
    # A question that nobody answered yet is no part of what came before.
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
    edits = folded([*session.context.edits, Edits(cut.dropped)], interaction, session.context.pins)
    stay = [message for message in messages if interaction_of(message) in (*pins, interaction)]
    return epoch, edits, lawful(edited(under(epoch, stay), [Edits(cut.dropped)]))


def turns(messages: list[ApiMessage], running: int) -> str:
    """Which interactions these messages are of: `T3 to T9`, or the running one's steps."""
    numbers = sorted({interaction_of(message) for message in messages} - {0, running})
    if not numbers:
        return f"earlier steps of T{running}"
    return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"
