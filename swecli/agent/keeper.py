"""Keeps what must outlive every reduction: reads it out of each message as it comes, before anything is taken out."""

from __future__ import annotations

from swecli.agent.turn import Turn
from swecli.context.survivors import from_answer, from_calls, from_query
from swecli.context.tokens import TokenCounter
from swecli.models.message import ChatMessage
from swecli.store.session_manager import SessionManager


class Keeper:
    """Fills a session's survivors, and weighs its messages once."""

    def __init__(self, sessions: SessionManager, counter: TokenCounter) -> None:
        self._sessions, self._counter = sessions, counter

    def open(self, turn: Turn) -> ChatMessage:
        """Store the user's message; with it the turn begins."""
        size, left_out = self._counter.count(turn.sent), turn.ablation
        message = self._sessions.begin_interaction(turn.query, turn.sent, tokens=size, encoding=self._counter.label)
        if left_out.what and (session := self._sessions.current_session) is not None:
            known = {"ablation": left_out.what, "withheld": list(left_out.withheld), "seed": left_out.seed}
            self._sessions.playbook.turns.note(session.id, message.interaction, **known)
        return message

    def begin(self, message: ChatMessage) -> set[str]:
        """Take in what the user said; the call ids that are in use in what may be sent again."""
        session = self._sessions.current_session
        if session is None:
            return set()
        self._sessions.context.keep(session, from_query(message.content, message.interaction))
        epoch = session.context.epoch
        used: set[str] = set()
        for earlier in reversed(session.messages):
            if epoch is not None and earlier.interaction < epoch.first:
                break
            used.update(call.id for call in earlier.tool_calls)
        pinned = (one for group in session.context.pinned.values() for one in group)
        return used | {call.id for one in pinned for call in one.tool_calls}

    def take(self, message: ChatMessage) -> None:
        """Take in a reply, whole or cut off, with the calls it made and what became of them."""
        session = self._sessions.current_session
        if session is None:
            return
        found = [
            *from_answer(message.content, message.interaction),
            *from_calls(message.tool_calls, message.interaction),
        ]
        self._sessions.context.keep(session, found)

    def weigh(self, message: ChatMessage) -> None:
        """Note the tokens of a message's text, so that they are never counted again."""
        text = message.content if message.sent is None else message.sent
        message.tokens, message.encoding = self._counter.count(text), self._counter.label
