"""Signals of success and failure, with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from swecli.playbook.digest import CallDigest, PreviousTurn, TurnDigest
from swecli.playbook.signals import ONLY_SEEN, WEIGHTS, Signal, signals_of

EDIT = CallDigest("e", "edit_file", {"path": "a.py"})


def run(command: str, code: int = 0, head: str = "", **more: Any) -> CallDigest:
    fields = {"ok": code == 0, "exit_code": code, "head": head, "id": "r"} | more
    return CallDigest(name="run_command", parameters={"command": command}, **fields)


def of(
    calls: Sequence[CallDigest] = (), query: str = "go on", earlier: Sequence[CallDigest] = (), **more: Any
) -> list[Signal]:
    previous = PreviousTurn(query="before", answer="It is done.", calls=tuple(earlier))
    return signals_of(TurnDigest("s", 2, query, calls=tuple(calls), previous=previous, **more))


def brief(signals: list[Signal]) -> list[tuple[str, str, float]]:
    return [(s.name, s.direction, s.weight) for s in signals]


PASS, FAIL = ("transition", "good", 1.0), ("transition", "bad", 1.0)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([run("pytest -q", 1), EDIT, run("pytest -q")], [PASS]),
        ([run("pytest -q"), EDIT, run("pytest -q", 1)], [FAIL]),
        ([run("pytest -q"), run("pytest -q", 1)], [("transition", "bad", ONLY_SEEN)]),
        ([run("pytest tests/a.py", 1), EDIT, run("pytest")], [PASS]),
        (
            [run("pytest", 1), EDIT, run("pytest tests/a.py")],
            [("command", "bad", 0.5), ("command", "good", 0.5)],
        ),
        ([run("pytest", 1), EDIT, run("python -m pytest -q")], [PASS]),
        ([run("make build", 2), EDIT, run("make build")], [PASS]),
        ([run("cd x && make build", 2), EDIT, run("make build")], [PASS]),
        ([run("pytest", 1), EDIT, run("pytest"), EDIT, run("pytest", 1)], [("command", "bad", 0.5)]),
        ([run("pytest"), EDIT, run("pytest", 1), EDIT, run("pytest")], [("command", "good", 0.5)]),
        ([run("pytest -q")], [("command", "good", 0.5)]),
        ([run("pytest -q", 1, "1 failed")], [("command", "bad", ONLY_SEEN)]),
        ([EDIT, run("pytest -q", 1, "1 failed")], [("command", "bad", 0.5)]),
        ([run("pytest --bad", 4, "unrecognized arguments: --bad")], [("command", "bad", 0.5)]),
        ([run("pytest -q"), run("ls")], [("command", "good", 0.5)]),
        ([run("python app.py", 1)], [("command", "bad", 0.5)]),
        ([run("python app.py", 1), run("ls")], [("command", "good", 0.5)]),
        ([run("grep foo a", 1)], []),
        ([run("pytest | tail -1", 0, "2 failed")], [("command", "bad", ONLY_SEEN)]),
        ([run("pytest", 0, finished=False)], []),
        ([], []),
        ([CallDigest("l", "list_files")], []),
    ],
)
def test_commands_tell_how_they_went(calls: list[CallDigest], expected: list[tuple[str, str, float]]) -> None:
    assert brief(of(calls)) == expected


def test_a_transition_is_seen_across_two_turns() -> None:
    assert brief(of([EDIT, run("pytest")], earlier=[run("pytest", 1)])) == [PASS]
    assert brief(of([EDIT, run("pytest", 1)], earlier=[run("pytest")])) == [FAIL]


def test_what_only_the_turn_before_ran_is_not_counted_again() -> None:
    assert of([], earlier=[run("pytest", 1), run("pytest")]) == []


def test_a_transition_names_its_command_and_call() -> None:
    (signal,) = of([run("pytest -q", 1, id="c1"), EDIT, run("pytest -q", id="c2")])
    assert signal.why == "pytest -q went from failing to passing"
    assert signal.call_id == "c2"


def test_the_same_call_with_the_same_result_is_a_loop() -> None:
    calls = [CallDigest(f"c{i}", "read_file", {"path": "a"}, head="x") for i in range(3)]
    assert brief(of(calls)) == [("loop", "bad", 0.5)]


def test_two_of_them_are_no_loop_and_edits_between_are_work() -> None:
    read = CallDigest("c", "read_file", {"path": "a"}, head="x")
    assert of([read, read]) == []
    assert of([read, EDIT, read, EDIT, read]) == []


def test_changing_results_are_no_loop_but_changing_durations_are() -> None:
    assert [s.name for s in of([run("git status", 0, t) for t in ("a", "b", "c")])] == ["command"]
    assert "loop" in [s.name for s in of([run("make x", 0, f"done in {t}s") for t in ("0.1", "0.22", "3")])]


def test_a_failed_call_sent_again_unchanged_is_a_retry() -> None:
    assert "retry" in [s.name for s in of([run("python a.py", 1), run("python a.py", 1)])]
    assert "retry" not in [s.name for s in of([run("python a.py", 1), EDIT, run("python a.py")])]
    read = CallDigest("c", "read_file", {"path": "a"}, ok=False, error="no such file")
    assert "retry" in [s.name for s in of([read, read])]


def test_a_turn_stopped_for_looping_says_so() -> None:
    assert brief(of(outcome="loop")) == [("loop", "bad", 0.5)]


def test_a_refusal_by_the_user_counts_and_one_by_a_mode_does_not() -> None:
    refused = run("rm -rf x", 0, denied=True, ok=False, reason="use git clean", decision="user", finished=True)
    (signal,) = of([refused])
    assert (signal.name, signal.weight, signal.quote) == ("denial", 1.0, "use git clean")
    for who in ("mode", "rule", "headless", "session"):
        assert of([run("rm x", 0, denied=True, ok=False, decision=who)]) == []


def test_a_failed_tool_is_friction_without_a_verdict() -> None:
    assert brief(of([CallDigest("c", "read_file", {"path": "a"}, ok=False, error="no")])) == [("stumble", "bad", 0.2)]


@pytest.mark.parametrize(
    ("query", "name", "direction"),
    [
        ("no, that was wrong", "correction", "bad"),
        ("undo that", "undo", "bad"),
        ("that didn't work", "complaint", "bad"),
        ("thanks, that worked", "praise", "good"),
        ("thanks", "thanks", "good"),
    ],
)
def test_the_users_words_judge_the_turn_before(query: str, name: str, direction: str) -> None:
    (signal,) = of(query=query)
    assert (signal.name, signal.direction, signal.about) == (name, direction, "previous")
    assert signal.quote


def test_a_mark_stands_alone() -> None:
    calls = [run("pytest", 1), EDIT, run("pytest")]
    (signal,) = of(calls, query="no, that was wrong", mark="bad", why="it deleted my file")
    assert (signal.name, signal.direction, signal.weight, signal.about) == ("mark", "bad", 1.0, "turn")
    assert "it deleted my file" in signal.why


def test_every_signal_has_a_weight_by_its_name() -> None:
    assert all(0 < weight <= 1 for weight in WEIGHTS.values())
    assert WEIGHTS["model"] < WEIGHTS["command"] < WEIGHTS["transition"] == WEIGHTS["correction"]
