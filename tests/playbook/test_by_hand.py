"""What the user writes into the playbook: clean, once, and with the user's words as its evidence."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import AppliedDelta, Bullet, State
from swecli.models.session import Session
from swecli.playbook.by_hand import adding, content_of, editing, removing


def test_a_taught_strategy_belongs_to_the_project_and_has_the_users_words_as_evidence() -> None:
    (op,) = adding(Session("s", project="/p", interactions=3), " answers \n are short ").ops
    assert (op.op, op.fields["content"], op.fields["scope"]) == ("ADD", "answers are short", "project")
    assert [(e.trust, e.quote, e.interaction) for e in op.evidence] == [("user", "answers are short", 3)]


def test_without_a_project_it_belongs_to_the_session() -> None:
    assert adding(Session("s"), "answers are short").ops[0].fields["scope"] == "session"


def test_a_secret_does_not_get_into_the_playbook() -> None:
    assert "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789" not in content_of(
        "use the key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    )


@pytest.mark.parametrize(("text", "said"), [("  ", "no words"), ("word " * 61, "at most 60 words")])
def test_too_little_and_too_much_are_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        content_of(text)


def test_a_change_sums_itself_up_in_one_line() -> None:
    bullet = Bullet("P-3", "old")
    session = Session("s")
    assert AppliedDelta(editing(session, bullet, "new"), {}).summary() == "update P-3"
    assert AppliedDelta(removing(session, bullet), {}).summary() == "remove P-3"
    assert AppliedDelta(adding(session, "new"), {}, added=("P-4",)).summary() == "add P-4"


def test_a_word_without_end_is_refused() -> None:
    with pytest.raises(BadInput, match="at most 600 characters, this has 20,000"):
        content_of("x" * 20_000)
    assert len(content_of("x" * 600)) == 600


def knowing(*contents: str, state: State = "active") -> Session:
    session = Session("s", project="/p")
    for content in contents:
        session.playbook.add(content, state=state)
    return session


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("run the tests with pytest -q", "Run the tests with pytest -q"),
        ("run all the tests with pytest -q before a commit", "run the tests with pytest -q before commits"),
        ("you may", "You may"),  # no word of it tells anything
    ],
)
def test_what_a_strategy_says_already_is_evidence_for_it(known: str, said: str) -> None:
    [op] = adding(knowing("keep it short", known), said).ops
    assert (op.op, op.bullet_id, op.fields) == ("UPDATE", "P-2", {"trust": "user"})
    assert [e.quote for e in op.evidence] == [said]
    [op] = adding(knowing(known, state="disabled"), said).ops
    assert op.fields["state"] == "active"


def test_what_says_more_takes_its_place_and_what_says_something_else_is_new() -> None:
    [op] = adding(knowing("run the tests with pytest"), "run the tests with pytest and coverage").ops
    assert (op.op, op.bullet_id, op.fields["content"]) == ("UPDATE", "P-1", "run the tests with pytest and coverage")
    [op] = adding(knowing("run the tests with pytest -q"), "run the tests with pytest -x").ops
    assert op.op == "ADD"


def test_the_opposite_is_linked_and_what_was_believed_is_set_aside() -> None:
    new, old = adding(knowing("use tabs for indentation"), "never use tabs for indentation").ops
    assert (new.op, [e.quote for e in new.evidence][1]) == ("ADD", "it contradicts P-1")
    assert (old.op, old.bullet_id) == ("QUARANTINE", "P-1")
    [op] = adding(knowing("use tabs for indentation", state="pinned"), "never use tabs for indentation").ops
    assert op.op == "ADD", "what is pinned stays until it is decided"
