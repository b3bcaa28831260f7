"""Describe a session in lines: when it is resumed, and in the list to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from swecli.models.ages import format_age
from swecli.models.counts import pluralize
from swecli.models.money import format_dollars
from swecli.repl.render.excerpt import Limit, start_of

if TYPE_CHECKING:
    from swecli.models.session import Session, SessionInfo
    from swecli.repl.render.screen import Screen

# what tells which question it was, also of a pasted log
_QUESTION = Limit(lines=12, characters=1_000)


def show_session(screen: Screen, session: Session) -> None:
    """Print the session's name, its last query and its last answer."""
    turns = pluralize(session.interactions, "turn")
    age = format_age(session.updated_at)
    screen.note(f"session {session.name} · {turns} · last used {age}")
    groups = session.group_by_interaction()
    if not groups:
        return
    question, *replies = groups[-1]
    labels = "".join(f" {image['label']}" for image in question.images or ())
    excerpt = start_of(question.content, _QUESTION)
    screen.line(f"> {excerpt.text}{labels}", "head")
    if excerpt.hidden_below:
        screen.note(f"… {excerpt.hidden_below}")
    answers = [message for message in replies if message.role == "assistant" and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")


def format_session(info: SessionInfo) -> str:
    """Return title, turns and age of a session, for a list."""
    title = info.shown_title or info.id
    return f"{title[:60]} · {pluralize(info.interactions, 'turn')} · {format_age(info.updated_at)}"


def describe_session(info: SessionInfo, ending: Mapping[str, str]) -> list[str]:
    """Return the first and last query, the last answer, and model, cost and id of a session. `ending` has the last
    message of each role."""
    lines = [f"> {info.first_query}"]
    last_query = ending.get("user", "")
    if last_query and not last_query.startswith(info.first_query[:40]):
        lines.append(f"> {last_query}")
    lines.append(ending.get("assistant", ""))
    lines.append(f"{info.model} · {format_dollars(info.cost)} · {info.id}")
    return lines
