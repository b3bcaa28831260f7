"""Messages with keys: how a request is put together from what is stored, and how a change of it is written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swecli.context.validate import legal
from swecli.models.context import KEY, Edits, note_key
from swecli.models.context import interaction_of as number_of
from swecli.models.message import ApiMessage

SYSTEM_KEY = "s"


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
        current = _edited(current, one)
    return current


def _edited(messages: list[ApiMessage], edits: Edits) -> list[ApiMessage]:
    gone = set(edits.drop)
    out: list[ApiMessage] = []
    inserted: dict[str, list[ApiMessage]] = {}
    for key, message in edits.insert:
        inserted.setdefault(key, []).append(message)
    for message in messages:
        key = key_of(message)
        out += inserted.get(key, ())
        if key not in gone:
            out.append(message | edits.replace[key] if key in edits.replace else message)
    return out


def changes(before: Sequence[ApiMessage], after: Sequence[ApiMessage]) -> Edits:
    """What leads from one list of keyed messages to another, the system message apart; what is new in `after` stands
    before something old."""
    old = {key_of(message): message for message in before}
    kept = {key_of(message) for message in after}
    replaced: dict[str, ApiMessage] = {}
    inserted: list[tuple[str, ApiMessage]] = []
    waiting: list[ApiMessage] = []
    for message in after:
        key = key_of(message)
        if key not in old:
            waiting.append(message)
            continue
        inserted += [(key, new) for new in waiting]
        waiting = []
        if key != SYSTEM_KEY and old[key] != message:
            replaced[key] = {name: value for name, value in message.items() if old[key].get(name) != value}
    dropped = tuple(key for key in old if key not in kept)
    return Edits(dropped, replaced, tuple(inserted))
