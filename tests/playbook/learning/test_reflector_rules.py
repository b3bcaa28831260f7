"""The rules: from what happened to tags and new bullets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import CallDigest, PreviousTurn, TurnDigest
from swecli.playbook.learning.proposals import Reflection
from swecli.playbook.learning.reflector_rules import ExecutionReflector

EDIT = CallDigest("e", "edit_file", {"path": "a.py"})


def run(command: str, code: int = 0, head: str = "", **more: Any) -> CallDigest:
    fields = {"ok": code == 0, "exit_code": code, "head": head, "id": "r"} | more
    return CallDigest(name="run_command", parameters={"command": command}, **fields)


def playbook() -> SessionPlaybook:
    book = SessionPlaybook()
    book.add("Run tests with pytest -q")
    book.add("Use tabs for indentation in Python files")
    book.add("The staging server listens on port 9090")
    return book


def turn(query: str = "go on", calls: Sequence[CallDigest] = (), **more: Any) -> TurnDigest:
    more = {"shown": ("P-1", "P-2", "P-3")} | more
    return TurnDigest("s", 2, query, calls=tuple(calls), **more)


def reflect(digest: TurnDigest, **settings: Any) -> Reflection:
    return ExecutionReflector(**settings).reflect(digest, playbook())


def tags(reflection: Reflection) -> dict[str, str]:
    return {t.bullet_id: t.tag for t in reflection.tags}


def before(cited: Sequence[str] = (), **more: Any) -> PreviousTurn:
    more = {"query": "change the file", "answer": "It is done.", "shown": ("P-1", "P-2", "P-3")} | more
    return PreviousTurn(cited=tuple(cited), **more)


def test_cited_bullets_of_a_turn_that_worked_are_helpful_and_the_shown_neutral() -> None:
    found = reflect(turn(calls=[run("pytest -q", 1), EDIT, run("pytest -q")], cited=("P-1",)))
    assert tags(found) == {"P-1": "helpful", "P-2": "neutral", "P-3": "neutral"}
    assert found.tags[0].weight == 1.0
    assert found.tags[0].evidence[0].quote == "pytest -q went from failing to passing"


def test_cited_bullets_of_a_turn_that_failed_are_harmful() -> None:
    found = reflect(turn(calls=[EDIT, run("pytest -q", 1, "1 failed")], cited=("P-1", "P-2")))
    assert tags(found) == {"P-1": "harmful", "P-2": "harmful", "P-3": "neutral"}


def test_tests_that_fail_where_nothing_was_edited_blame_no_strategy() -> None:
    found = reflect(turn(calls=[run("pytest -q", 1, "1 failed")], cited=("P-1",)))
    assert tags(found)["P-1"] == "neutral"
    assert found.blameless
    assert found.friction


def test_many_failures_in_one_turn_count_once() -> None:
    calls = [EDIT, *[run("python a.py", 1)] * 4]
    found = [t for t in reflect(turn(calls=calls, cited=("P-1",))).tags if t.bullet_id == "P-1"]
    assert [t.tag for t in found] == ["harmful"]


def test_good_and_bad_of_the_same_weight_decide_nothing() -> None:
    calls = [run("make a", 2), EDIT, run("make a"), run("make b"), EDIT, run("make b", 2)]
    assert tags(reflect(turn(calls=calls, cited=("P-1",))))["P-1"] == "neutral"


def test_a_bullet_whose_command_is_the_wrong_one_here_is_harmful_although_another_worked() -> None:
    calls = [run("pytest -q", 127), run("python -m pytest -q")]
    for cited in (("P-1",), ()):
        found = reflect(turn(calls=calls, cited=cited))
        assert tags(found)["P-1"] == "harmful"
    assert "command not found" in found.tags[0].why


def test_a_turn_without_calls_leaves_shown_bullets_alone() -> None:
    assert reflect(turn()).tags == ()
    assert tags(reflect(turn(cited=("P-1",)))) == {"P-1": "neutral"}


def test_the_thresholds_can_be_set() -> None:
    digest = turn(calls=[run("pytest -q")], cited=("P-1",))
    assert tags(reflect(digest))["P-1"] == "helpful"
    assert tags(reflect(digest, min_confidence=0.8))["P-1"] == "neutral"
    assert tags(reflect(digest, min_tool_calls=2)) == {"P-1": "neutral"}


def test_a_bullet_the_answer_called_wrong_gets_no_credit() -> None:
    digest = turn(calls=[run("pytest -q")], cited=("P-1",), contradicted=("P-1",))
    assert tags(reflect(digest))["P-1"] == "neutral"


def test_what_was_counted_for_the_turn_is_not_counted_again() -> None:
    digest = turn(calls=[run("pytest -q")], cited=("P-1",), tagged=frozenset({("P-1", "helpful")}))
    assert "P-1" not in tags(reflect(digest))


def test_a_correction_makes_the_bullets_cited_before_harmful() -> None:
    found = reflect(turn("no, that was wrong", previous=before(["P-1"])))
    (tag,) = found.tags
    assert (tag.bullet_id, tag.tag, tag.why, tag.about) == ("P-1", "harmful", "you said it was wrong", "previous")
    assert (tag.evidence[0].quote, tag.evidence[0].trust) == ("no, that was wrong", "user")
    assert found.friction
    assert found.user_said == "no, that was wrong"


def test_without_a_citation_only_the_bullet_that_fits_best_is_blamed() -> None:
    previous = before(query="fix the indentation of the Python files", answer="I used tabs for indentation.")
    assert tags(reflect(turn("no, that was wrong", previous=previous))) == {"P-2": "harmful"}


def test_without_any_fitting_bullet_none_is_blamed_and_that_is_said() -> None:
    found = reflect(turn("no, that was wrong", previous=before()))
    assert found.tags == ()
    assert "no strategy was involved" in found.lines[0]


def test_a_bullet_the_user_names_is_the_one() -> None:
    assert tags(reflect(turn("no, P-3 is out of date", previous=before(["P-1"])))) == {"P-3": "harmful"}


def test_a_correction_counts_once_for_its_turn() -> None:
    previous = before(["P-1"], tagged=frozenset({("P-1", "harmful")}))
    found = reflect(turn("no, that was wrong", previous=previous))
    assert found.tags == ()
    assert "already" in found.lines[0]


def test_a_correction_without_an_earlier_turn_tags_nothing() -> None:
    found = reflect(turn("no, that was wrong"))
    assert (found.tags, found.lines) == ((), ())


def test_a_no_to_a_question_is_no_correction() -> None:
    assert reflect(turn("no", previous=before(["P-1"], answer="Shall I go on?"))).tags == ()


def test_praise_makes_the_bullets_cited_before_helpful_and_no_others() -> None:
    assert tags(reflect(turn("thanks, that worked", previous=before(["P-1"])))) == {"P-1": "helpful"}
    assert reflect(turn("thanks, that worked", previous=before())).tags == ()
    assert reflect(turn("thanks", previous=before(["P-1"]))).tags == ()


def test_what_the_user_blames_gets_no_credit_in_the_turn_that_answers_them() -> None:
    digest = turn("no, that was wrong", [run("pytest -q")], cited=("P-1",), previous=before(["P-1"]))
    assert sorted((t.tag, t.about) for t in reflect(digest).tags if t.bullet_id == "P-1") == [
        ("harmful", "previous"),
        ("neutral", "turn"),
    ]


def test_a_mark_judges_the_marked_turn_and_nothing_else() -> None:
    digest = turn("always use tabs", [EDIT, run("pytest -q", 1)], cited=("P-1",), mark="good")
    found = reflect(digest)
    assert tags(found) == {"P-1": "helpful"}
    assert found.adds == ()
    assert not found.novel


def test_a_bad_mark_blames_the_cited_or_the_best_fitting() -> None:
    assert tags(reflect(turn(cited=("P-1",), mark="bad"))) == {"P-1": "harmful"}
    digest = turn("fix the indentation in Python files", answer="tabs it is", mark="bad")
    assert tags(reflect(digest)) == {"P-2": "harmful"}
    found = reflect(turn("hello", mark="bad"))
    assert "no strategy" in found.lines[0]


def test_a_mark_that_was_counted_is_not_counted_again() -> None:
    found = reflect(turn(cited=("P-1",), mark="bad", tagged=frozenset({("P-1", "harmful")})))
    assert found.tags == ()


def test_the_reason_of_a_bad_mark_can_teach() -> None:
    (add,) = reflect(turn(mark="bad", why="use spaces, not tabs")).adds
    assert (add.content, add.trust) == ("Use spaces, not tabs", "user")


def test_a_taught_strategy_is_added_in_the_users_words_with_their_evidence() -> None:
    (add,) = reflect(turn("List the files. Remember that tests run with pytest -x.")).adds
    assert (add.content, add.scope, add.trust, add.section) == ("Tests run with pytest -x", "project", "user", "tests")
    (evidence,) = add.evidence
    assert evidence.quote == "Remember that tests run with pytest -x."
    assert (evidence.source, evidence.session_id, evidence.interaction) == ("teaching", "s", 2)


def test_a_correction_with_content_teaches_it() -> None:
    (add,) = reflect(turn("no, that was wrong: use tabs", previous=before())).adds
    assert (add.content, add.trust, add.replaces) == ("Use tabs", "user", True)
    (add,) = reflect(turn("don't use print, use logging", previous=before())).adds
    assert (add.content, add.kind) == ("Don't use print, use logging", "pitfall")


@pytest.mark.parametrize("query", ["no, that was wrong: fix line 3", "no, the other file", "that didn't work, use foo"])
def test_a_correction_about_one_case_teaches_nothing(query: str) -> None:
    assert reflect(turn(query, previous=before())).adds == ()


def test_a_refusal_harms_the_bullet_behind_it_and_its_reason_teaches() -> None:
    refused = run("pytest -q", 0, ok=False, denied=True, decision="user", reason="use make check instead")
    found = reflect(turn(calls=[refused, run("ls")], cited=("P-1", "P-3")))
    assert tags(found) == {"P-1": "harmful", "P-3": "helpful", "P-2": "neutral"}
    (add,) = found.adds
    assert (add.content, add.trust, add.evidence[0].source) == ("Use make check instead", "user", "denial")


def test_a_bare_refusal_teaches_nothing() -> None:
    refused = run("rm -rf build", 0, ok=False, denied=True, decision="user", reason="not now")
    assert reflect(turn(calls=[refused])).adds == ()


@pytest.mark.parametrize(
    ("digest", "friction"),
    [
        (turn("list files", [CallDigest("l", "list_files")]), False),
        (turn("hello"), False),
        (turn(calls=[CallDigest("r", "read_file", ok=False, error="no")]), False),
        (turn(calls=[CallDigest("r", "read_file", {"path": str(i)}, ok=False, error="no") for i in range(2)]), True),
        (turn(calls=[run("python a.py", 1)]), True),
        (turn("no, that was wrong", previous=before()), True),
        (turn("thanks, that worked", previous=before()), False),
        (turn(outcome="loop"), True),
        (turn(calls=[run("pytest -q", 1), EDIT, run("pytest -q")]), True),
    ],
)
def test_friction_is_a_failure_a_retry_a_loop_a_refusal_or_a_correction(digest: TurnDigest, friction: bool) -> None:
    assert reflect(digest).friction is friction


def test_the_first_success_of_a_kind_is_new() -> None:
    assert reflect(turn(calls=[run("cargo test")])).novel
    assert not reflect(turn(calls=[run("pytest")])).novel  # a bullet speaks of it
    assert not reflect(turn(calls=[run("cargo test")], previous=before(calls=(run("cargo test"),)))).novel
    assert not reflect(turn(calls=[run("cargo test", 1)])).novel


def test_the_same_turn_gives_the_same_proposals() -> None:
    digest = turn("no, that was wrong: use tabs", [run("pytest -q")], cited=("P-1",), previous=before(["P-2"]))
    assert reflect(digest) == reflect(digest)
