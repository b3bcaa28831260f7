"""Keyed messages: each has a key by which edits address it, and which is never sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from swecli.context.repair import normalize
from swecli.models.api_message import KEY, ApiMessage, MessageFields, as_sent, with_fields
from swecli.models.context import Edits, key_of

SYSTEM_KEY = "s"


def strip_keys(messages: Iterable[ApiMessage]) -> list[ApiMessage]:
    """Return the messages as they are sent: without their keys, and with the notes in their texts."""
    return [as_sent(message) for message in messages]


def normalize_keyed(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """Apply `normalize` to keyed messages; each message that it inserts gets a key."""
    normalized: list[ApiMessage] = []
    key = ""
    for message in normalize(messages):
        if KEY in message:
            key = key_of(message)
        else:
            key = SYSTEM_KEY if message["role"] == "system" else f"{key}+"
            message = with_fields(message, {KEY: key})
        normalized.append(message)
    return normalized


def diff_messages(before: Sequence[ApiMessage], after: Sequence[ApiMessage]) -> Edits:
    """Return the edits from one list of keyed messages to another, the system message excluded. New messages must
    precede old ones."""
    old = {key_of(message): message for message in before}
    kept_keys = {key_of(message) for message in after}
    replaced: dict[str, MessageFields] = {}
    inserted: list[tuple[str, ApiMessage]] = []
    pending: list[ApiMessage] = []
    for message in after:
        key = key_of(message)
        if key not in old:
            pending.append(message)
            continue
        inserted += [(key, new) for new in pending]
        pending = []
        if key != SYSTEM_KEY and old[key] != message:
            replaced[key] = _changed_fields(old[key], message)
    dropped = tuple(key for key in old if key not in kept_keys)
    return Edits(dropped, replaced, tuple(inserted))


def _changed_fields(before: ApiMessage, after: ApiMessage) -> MessageFields:
    changed_fields = {name: value for name, value in after.items() if before.get(name) != value}
    return cast("MessageFields", changed_fields)
