"""Describe a session in lines: when it is resumed, and in the list to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from swecli.models.counts import pluralize
from swecli.repl.render.excerpt import Limit, start_of
from swecli.repl.render.formatting import format_age, format_dollars

if TYPE_CHECKING:
    from swecli.models.session import Session, SessionInfo
    from swecli.repl.render.screen import Screen

_QUESTION = Limit(
    lines=12, characters=1_000
)  # what tells which question it was, also of a pasted log


def show_session(screen: Screen, session: Session) -> None:
    """Print the session's name, its last query and its last answer."""
    turns = pluralize(session.interactions, "turn")
    last = format_age(session.updated_at)
    screen.note(f"session {session_name(session)} · {turns} · last used {last}")
    groups = session.group_by_interaction()
    if not groups:
        return
    question, *replies = groups[-1]
    labels = "".join(f" {image['label']}" for image in question.images or ())
    part = start_of(question.content, _QUESTION)
    screen.line(f"> {part.text}{labels}", "head")
    if part.more:
        screen.note(f"… {part.more}")
    answers = [message for message in replies if message.role == "assistant" and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")


def session_name(session: Session) -> str:
    """Return the session's title, or the beginning of its id."""
    return session.title or session.id[:13]


def format_session(info: SessionInfo) -> str:
    """Return title, turns and age of a session, for a list."""
    words = info.shown_title or info.id
    return f"{words[:60]} · {pluralize(info.interactions, 'turn')} · {format_age(info.updated_at)}"


def describe_session(info: SessionInfo, ending: Mapping[str, str]) -> list[str]:
    """Return the first and last query, the last answer, and model, cost and id of a session."""
    lines = [f"> {info.first_query}"]
    last = ending.get("user", "")
    if last and not last.startswith(info.first_query[:40]):
        lines.append(f"> {last}")
    lines.append(ending.get("assistant", ""))
    lines.append(f"{info.model} · {format_dollars(info.cost)} · {info.id}")
    return lines
