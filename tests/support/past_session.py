"""Stored sessions with messages of known sizes, read as the history of a replay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from swecli.context.replay.history import History
from swecli.context.tokens import _PER_CALL, PER_MESSAGE, PER_REQUEST, TokenCounter
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Bullet
from swecli.models.session import Session

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
FIXED = 2_000  # tokens of the system message, with its overhead
ANSWER, RESULT = 200, 1_000  # tokens of a reply and of a result, with their overhead
CALL = PER_MESSAGE + _PER_CALL + 2  # tokens of an empty reply that calls `f` with {}


def text(tokens: int, name: object = "") -> str:
    """Return a text of that many tokens, at four characters each."""
    return f"{name} ".ljust(tokens * 4, "x")[: tokens * 4]


def timestamp(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


class SessionBuilder:
    """Builds a stored session whose messages have the given sizes, one call at a time."""

    def __init__(self) -> None:
        self.session = Session("s", "/w")

    def ask(self, seconds: float) -> SessionBuilder:
        self.session.add_message(
            ChatMessage(Role.USER, text(50, seconds), created_at=timestamp(seconds))
        )
        return self

    def reply(
        self, seconds: float, *results: int, tokens: int = ANSWER, **more: Any
    ) -> SessionBuilder:
        """Append a reply, with one call per size in `results` (in tokens)."""
        count = len(self.session.messages)
        made = [
            ToolCall(f"c{n}-{count}", "f", {}, result=text(size - PER_MESSAGE, f"{count} {n}"))
            for n, size in enumerate(results)
        ]
        content = "" if results else text(tokens - PER_MESSAGE, count)
        self.session.add_message(
            ChatMessage(Role.ASSISTANT, content, made, created_at=timestamp(seconds), **more)
        )
        return self

    def turns(self, *seconds: float, tokens: int = ANSWER) -> SessionBuilder:
        """Append a question at each of these times, each answered one second later."""
        for second in seconds:
            self.ask(second).reply(second + 1, tokens=tokens)
        return self

    def add_bullets(self, *seconds: float) -> SessionBuilder:
        made = [
            Bullet(f"P-{n}", "use " * 40, created_at=timestamp(second))
            for n, second in enumerate(seconds, 1)
        ]
        self.session.playbook.bullets = {bullet.id: bullet for bullet in made}
        return self

    def build_history(self) -> History:
        prompt = text(FIXED - PER_MESSAGE - PER_REQUEST)
        past = History.read(self.session, 200_000, ())
        return replace(past, counter=TokenCounter("none"), prompt=prompt)
