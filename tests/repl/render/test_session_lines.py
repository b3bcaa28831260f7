"""Test the lines that summarize a session."""

from __future__ import annotations

import io

from swecli.models.message import ChatMessage, Role
from swecli.models.session import Session
from swecli.repl.render.screen import Screen
from swecli.repl.render.session_lines import show_session
from tests.screen.emulated import TextSurface


def session_lines(session: Session) -> str:
    paper = io.StringIO()
    show_session(Screen(TextSurface(paper, 80), False), session)
    return paper.getvalue()


def test_the_last_query_and_answer_are_shown() -> None:
    session = Session("0123456789abcdef", title="teapots")
    for role, text in (
        (Role.USER, "first"),
        (Role.ASSISTANT, "1st"),
        (Role.USER, "last"),
        (Role.ASSISTANT, "**end**"),
    ):
        session.add_message(ChatMessage(role, text))
    lines = session_lines(session).splitlines()
    assert lines[0].startswith("session teapots · 2 turns · last used 0 s ago")
    assert lines[1:] == ["> last", "end"]


def test_of_a_pasted_log_the_first_lines_are_shown() -> None:
    session = Session("0123456789abcdef")
    session.add_message(ChatMessage(Role.USER, "\n".join(f"line {n}" for n in range(1, 141))))
    lines = session_lines(session).splitlines()
    assert lines[1] == "> line 1"
    assert lines[12:14] == ["line 12", "… 128 more lines"]


def test_an_unfinished_turn_is_shown_as_such() -> None:
    session = Session("0123456789abcdef")
    session.add_message(ChatMessage(Role.USER, "go"))
    assert "was not finished" in session_lines(session)


def test_an_empty_session_is_one_line() -> None:
    assert len(session_lines(Session("0123456789abcdef")).splitlines()) == 1


def test_a_session_without_a_title_is_named_by_its_id() -> None:
    assert Session("0123456789abcdef").name == "0123456789abc"
