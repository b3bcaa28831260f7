"""What a model proposes must have to do with its turn: its quote stands there, and so does something it names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.digest import CallDigest, PreviousTurn, TurnDigest
from swecli.playbook.founded import unfounded
from swecli.playbook.words import content_words

OUTPUT = "ERROR: database on port 5433 refused the connection\n3 failed"
CALL = CallDigest(
    "c1", "run_command", {"command": "make check"}, ok=False, exit_code=2, head=OUTPUT, vocabulary=content_words(OUTPUT)
)
EDIT = CallDigest("c2", "edit_file", {"path": "a.py", "edits": [{"old": "spam", "new": "eggs"}]})
TURN = TurnDigest("s", 2, "why do the checks fail?", calls=(CALL, EDIT))


@pytest.mark.parametrize(
    ("content", "quote"),
    [
        ("Start the database before `make check`", "port 5433 refused the connection"),
        ("Databases listen on 5433 here", "database on port 5433"),
        ("Connections go through the proxy", "why do the checks fail?"),
        ("Replace spam by eggs in menus", "eggs"),
        ("`make check` exits with 2 without one", "exit 2"),
    ],
)
def test_what_the_turn_shows_has_ground(content: str, quote: str) -> None:
    assert unfounded(content, quote, TURN) == ""


@pytest.mark.parametrize(
    ("content", "quote", "why"),
    [
        ("Start the database before `make check`", "the user asked for it", "its evidence is not in this turn"),
        ("Start the database before `make check`", "", "its evidence is not in this turn"),
        ("Start the database before `make check`", "no quote given", "its evidence is not in this turn"),
        ("Strive to understand the bigger picture", "3 failed", "it is not about anything in this turn"),
        ("Use tools well", "3 failed", "it is not about anything in this turn"),
    ],
)
def test_what_it_does_not_show_has_none(content: str, quote: str, why: str) -> None:
    assert unfounded(content, quote, TURN) == why


def test_a_correction_speaks_of_the_turn_before() -> None:
    turn = TurnDigest("s", 3, "no, that was wrong", previous=PreviousTurn("build the wheel", calls=(CALL,)))
    assert unfounded("Wheels are built elsewhere", "build the wheel", turn) == ""


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_it_and_a_turn_without_words_is_no_ground(content: str, quote: str) -> None:
    assert unfounded(content, quote, TurnDigest("s", 1, ""))
