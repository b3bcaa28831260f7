"""Turns that the user brings back: the note that quotes one behind a query, and requests of later turns without it."""

from __future__ import annotations

from collections.abc import Iterable

from swecli.models.api_message import ApiMessage, calls_of, images_of, notes_of, with_fields
from swecli.models.message import ChatMessage
from swecli.models.notes import BroughtBackNote, Note


def quote_turn(number: int, messages: Iterable[ChatMessage]) -> BroughtBackNote:
    """Return the note that quotes a turn: what was said, the calls, and their results as they were sent. Its notes on
    folder, mode and strategies are out of date, and a picture is only named."""
    lines: list[str] = []
    for message in messages:
        for api_message in message.to_api():
            lines += _quote_message(api_message)
    return BroughtBackNote(number, "\n".join(lines))


def _quote_message(message: ApiMessage) -> list[str]:
    lines: list[str] = []
    author = "result" if message["role"] == "tool" else message["role"]
    if message.get("content"):
        lines.append(f"{author}: {message['content']}")
    lines += [f"picture, not sent again: {image['name']}" for image in images_of(message)]
    for call in calls_of(message):
        function = call["function"]
        lines.append(f"call: {function['name']} {function['arguments']}")
    return lines


def without_brought_back(messages: Iterable[ApiMessage]) -> list[ApiMessage]:
    """Return messages of past turns as later requests send them: what a turn brought back was for that turn."""
    return [_without_note(message) for message in messages]


def brings_back(message: ApiMessage) -> bool:
    """Return whether a query brings an earlier turn back."""
    return any(isinstance(note, BroughtBackNote) for note in notes_of(message))


def _without_note(message: ApiMessage) -> ApiMessage:
    if not brings_back(message):
        return message
    kept_notes: list[Note] = [
        note for note in notes_of(message) if not isinstance(note, BroughtBackNote)
    ]
    return with_fields(message, {"notes": kept_notes})
