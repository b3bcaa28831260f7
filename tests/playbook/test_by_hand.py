"""What the user writes into the playbook: clean, once, and with the user's words as its evidence."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import AppliedDelta, Bullet
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
