"""Where a session stands: its last exchange, for someone who comes back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.finding import counted
from swecli.models.message import Role
from swecli.models.session import Session
from swecli.repl.render.formatting import age

if TYPE_CHECKING:
    from swecli.repl.render.screen import Screen


def session_name(session: Session) -> str:
    """Its title, or the beginning of its id."""
    return session.title or session.id[:13]


def show_session(screen: Screen, session: Session) -> None:
    """Print which session this is, the last question and the last answer."""
    turns, last = counted(session.interactions, "turn"), age(session.updated_at)
    screen.note(f"session {session_name(session)} · {turns} · last used {last}")
    groups = list(session.by_interaction())
    if not groups:
        return
    question, *replies = groups[-1]
    screen.line(f"> {question.content}", "head")
    answers = [message for message in replies if message.role is Role.ASSISTANT and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")
