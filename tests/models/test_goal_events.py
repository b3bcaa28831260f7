"""Test the lines on a goal."""

from __future__ import annotations

from swecli.models.changed_files import ChangedFile, LineCounts
from swecli.models.goal_events import GoalChecked, GoalEnded, GoalOutcome


def check(**fields: object) -> str:
    values = {
        "turn": 3,
        "turns": 20,
        "command": "make",
        "passed": False,
        "exit_code": 2,
        "line": "Error 2",
        "files": (),
        "cost": 0.125,
    }
    return GoalChecked(**(values | fields)).describe()  # type: ignore[arg-type]


def end(outcome: GoalOutcome, **fields: object) -> str:
    return GoalEnded(outcome, "make", 3, 0.125, 1_000, **fields).describe()  # type: ignore[arg-type]


def test_a_check_says_what_failed_what_changed_and_the_price() -> None:
    files = (
        ChangedFile("a.py", "changed", ("tool",)),
        ChangedFile("b.py", "created", ("command",)),
        ChangedFile("build", "changed", ("command",), is_ignored=True),
    )
    assert check(files=files) == (
        "turn 3 of 20 · not met: Error 2 · changed a.py, b.py (new) · $0.12 so far"
    )


def test_an_unknown_price_is_not_shown_as_none() -> None:
    assert check(cost=None).endswith("no file changed · price not known so far")


def test_before_the_first_turn_nothing_has_changed_or_cost_anything() -> None:
    assert check(turn=0) == "before the first turn · not met: Error 2"


def test_a_command_that_flaps_says_so() -> None:
    assert "passed once, then failed: Error 2" in check(has_flapped=True)


def test_what_the_sandbox_may_have_caused_is_said() -> None:
    assert "perhaps because of the sandbox" in check(is_confined=True)


def test_of_many_files_that_lost_lines_the_first_are_named() -> None:
    lost = tuple(LineCounts(f"test_{number}.py", 3, 2) for number in range(8))
    line = end(GoalOutcome.MET, lost=lost)
    assert "these files were deleted or lost lines: test_0.py (1 line fewer), test_1.py" in line
    assert line.endswith("and 2 more")


def test_the_end_says_why_its_command_did_not_run() -> None:
    line = end(GoalOutcome.REFUSED, reason="The rule run(make*) forbids it.")
    assert line == (
        "goal not met: its command did not run: The rule run(make*) forbids it. · 3 turns · $0.12"
    )


def test_a_new_file_that_is_gone_again_has_lost_nothing() -> None:
    assert not LineCounts("new.py", None, None).is_smaller
    assert not LineCounts("longer.py", 1, 2).is_smaller
    assert LineCounts("gone.py", 0, None).is_smaller
