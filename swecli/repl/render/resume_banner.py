"""Where a session stands: its last exchange, for someone who comes back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.message import Role
from swecli.models.session import Session
from swecli.repl.render.formatting import age

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.repl.render.screen import Screen


def greet(screen: Screen, runtime: Runtime) -> None:
    """What only the loaded program can say: notices, and where a resumed session stands."""
    for notice in runtime.notices:
        screen.warn(notice)
    session = runtime.sessions.current_session
    if runtime.start.resume is not None and session is not None:
        show_session(screen, session)
        screen.line()


def session_name(session: Session) -> str:
    """Its title, or the beginning of its id."""
    return session.title or session.id[:13]


def show_session(screen: Screen, session: Session) -> None:
    """Print which session this is, the last question and the last answer."""
    turns = "1 turn" if session.interactions == 1 else f"{session.interactions} turns"
    screen.note(f"session {session_name(session)} · {turns} · last used {age(session.updated_at)}")
    groups = list(session.by_interaction())
    if not groups:
        return
    question, *replies = groups[-1]
    screen.line(f"> {question.content}", "head")
    said = [message for message in replies if message.role is Role.ASSISTANT and message.content]
    if said:
        screen.markdown(said[-1].content)
    if not said or said[-1].status == "partial":
        screen.note("this turn was not finished")
