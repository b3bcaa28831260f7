"""Test what is recorded of the turns of a day's work with a test runner: what fixed, broke, refused and undid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.playbook import Delta, Op
from swecli.store.undo_records import UNDO_PARTS
from tests.support.runtime import NO, YES, User, calls, make_runtime, run_turn

pytestmark = pytest.mark.slow

RUNNER = """#!/bin/sh
shift
files="${*:-tests/*}"
if grep -q red $files; then echo "1 failed, 2 passed in 0.1s"; exit 1; fi
echo "3 passed in 0.1s"
"""
LYING = "#!/bin/sh\necho '12 passed in 0.1s'\ngrep -q green tests/core\n"
SUITE = "bin/pytest -q"
NARROW = f"{SUITE} tests/termui"


def run(command: str, **more: str) -> Any:
    return calls(("run_command", {"command": command, **more}))


def edit(path: str, old: str, new: str) -> Any:
    return calls(("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]}))


def day(replies: list[Any], runner: str = RUNNER) -> Runtime:
    """Return a runtime in a workspace with two files of tests, the first one failing, and a strategy on how to run
    them."""
    for folder in ("bin", "tests"):
        Path(folder).mkdir()
    Path("bin/pytest").write_text(runner)
    Path("bin/pytest").chmod(0o755)
    Path("tests/core").write_text("red")
    Path("tests/termui").write_text("green")
    runtime = make_runtime(replies, User([YES, NO]), mode="auto", reflect_with_model=False)
    taught = Op("ADD", fields={"content": f"Run the tests with `{SUITE}`", "scope": "project"})
    runtime.sessions.playbook.apply(Delta("taught", (taught,), "user"), runtime.sessions.session)
    return runtime


def outcome(runtime: Runtime, number: int) -> tuple[bool | None, str]:
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, number)
    assert turn is not None
    return turn.good, turn.reason


def counts(runtime: Runtime) -> tuple[int, int]:
    bullet = runtime.sessions.session.playbook.bullets["P-1"]
    return bullet.helpful, bullet.harmful


def undo(runtime: Runtime, number: int) -> None:
    history = runtime.history
    assert history is not None
    history.undo(number, UNDO_PARTS, history.plan(number))
    runtime.resume(runtime.sessions.session.id)


FIX = [
    run(f"{SUITE} 2>&1 | tail -40"),
    edit("tests/core", "red", "green"),
    run(f"{SUITE} | tail -5"),
    ".",
]
FEATURE = [
    edit("tests/termui", "green", "red"),
    run(NARROW),
    edit("tests/termui", "red", "green"),
    run(SUITE),
    ".",
]
RENAME = [
    run(SUITE),
    edit("tests/core", "green", "renamed"),
    run(f"{SUITE}; no-such-linter --version"),
    "Renamed.",
]
RATE = [
    edit("tests/termui", "green", "red"),
    run(NARROW),
    run(f"{SUITE} -k rate; sleep 25", access="write"),
    "As you wish.",
]
AGAIN = [run(NARROW), "Green."]


async def test_a_fix_seen_through_pipes_went_from_failing_to_passing() -> None:
    runtime = day([*FIX])
    await run_turn(runtime, "fix the bug")
    assert outcome(runtime, 1) == (True, f"{SUITE} went from failing to passing")
    assert counts(runtime)[1] == 0


async def test_a_feature_whose_narrow_failure_a_wide_run_covers_is_good() -> None:
    runtime = day([*FIX, *FEATURE, *AGAIN])
    for query in ("fix the bug", "add the feature", "run its tests"):
        await run_turn(runtime, query)
    assert outcome(runtime, 2)[0] is True
    assert outcome(runtime, 3) == (True, f"{NARROW} passes"), "nothing was failing any more"


async def test_a_rename_with_a_green_suite_is_good_though_a_command_after_it_is_missing() -> None:
    runtime = day([*FIX, *RENAME])
    await run_turn(runtime, "fix the bug")
    await run_turn(runtime, "rename it")
    good, reason = outcome(runtime, 2)
    assert good is True
    assert reason.endswith("still passes")


async def test_a_run_refused_for_a_sleep_is_not_the_fault_of_the_strategy_and_is_gone_after_undo() -> (
    None
):
    runtime = day([*FIX, *RATE, *AGAIN])
    await run_turn(runtime, "fix the bug")
    before = counts(runtime)
    runtime.set_mode("ask")
    await run_turn(runtime, "show the rate")
    assert counts(runtime)[1] == 0
    assert outcome(runtime, 2)[0] is False
    undo(runtime, 2)
    assert counts(runtime) == before
    runtime.set_mode("auto")
    await run_turn(runtime, "run the tests of termui")
    why = "it was failing only in the turn that was undone"
    assert outcome(runtime, 2) == (True, f"{NARROW} passes"), why
    assert counts(runtime) == before


async def test_undo_of_a_turn_that_broke_the_tests_leaves_no_failing_check() -> None:
    runtime = day([run(SUITE), "1 passed.", edit("tests/core", "green", "red"), run(SUITE), "Broken.",
                   run(SUITE), "1 passed."])  # fmt: skip
    Path("tests/core").write_text("green")
    await run_turn(runtime, "run the tests")
    await run_turn(runtime, "subtract instead")
    assert outcome(runtime, 2) == (False, f"{SUITE} went from passing to failing")
    undo(runtime, 2)
    assert Path("tests/core").read_text() == "green"
    await run_turn(runtime, "run the tests again")
    assert outcome(runtime, 2) == (True, f"{SUITE} passes")
    assert counts(runtime) == (0, 0)


@pytest.mark.parametrize("command", [SUITE, f"{SUITE} 2>&1 | tail -2"])
async def test_a_summary_that_says_all_passed_does_not_hide_a_failing_status(command: str) -> None:
    replies = [
        run(command),
        "Green.",
        edit("tests/core", "green", "red"),
        run(command),
        "12 passed.",
    ]
    runtime = day(replies, LYING)
    Path("tests/core").write_text("green")
    await run_turn(runtime, "run the tests")
    await run_turn(runtime, "change it")
    assert outcome(runtime, 2) == (False, f"{SUITE} went from passing to failing")
