"""How a turn went, from its signals."""

from __future__ import annotations

from typing import Any

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import CallDigest, PreviousTurn, TurnDigest
from swecli.playbook.outcome import Verdict, topic, verdict_on_previous, verdict_on_turn


def run(command: str, code: int) -> CallDigest:
    return CallDigest(f"c{command}{code}", "run_command", {"command": command}, ok=code == 0, exit_code=code)


def digest(*calls: CallDigest, query: str = "do it", **known: Any) -> TurnDigest:
    return TurnDigest("s", 2, query, calls=calls, **known)


def test_tests_that_change_sides_are_sure() -> None:
    edit = CallDigest("e", "edit_file", {"path": "a.py"})
    assert verdict_on_turn(digest(run("pytest", 1), edit, run("pytest", 0))) == Verdict(True, 1.0, "transition")
    assert verdict_on_turn(digest(run("pytest", 0), edit, run("pytest", 1))) == Verdict(False, 1.0, "transition")


def test_an_exit_code_tells_half_and_talk_tells_nothing() -> None:
    assert verdict_on_turn(digest(run("make", 0))) == Verdict(True, 0.5, "command")
    assert verdict_on_turn(digest()) == Verdict()


def test_the_users_mark_is_sure_whatever_the_calls_say() -> None:
    assert verdict_on_turn(digest(run("make", 0), mark="bad", why="slow")) == Verdict(False, 1.0, "mark")


def test_the_opening_words_judge_the_turn_before() -> None:
    said = digest(query="no, that was wrong", previous=PreviousTurn("q", "a"))
    assert verdict_on_previous(said) == Verdict(False, 1.0, "correction")
    assert verdict_on_turn(said) == Verdict()


def test_the_topic_is_that_of_what_was_cited() -> None:
    book = SessionPlaybook()
    book.add("one", section="tests")
    assert topic(digest(cited=("P-1", "P-9")), book) == "tests"
    assert topic(digest(), book) == "general"
