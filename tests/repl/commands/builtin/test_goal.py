"""Test `/goal` and `/undo goal` in a session."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from swecli.models.errors import BadInput, UsageError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply

GOAL = "/goal test -f done"


def run_of(command: str) -> Reply:
    return calls(("run_command", {"command": command, "access": "write"}))


def make_context(*replies: Any, **settings: Any) -> ScriptedContext:
    return ScriptedContext(make_runtime([*replies], mode="edits", **settings))


def git(*words: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


async def test_a_line_a_turn_says_what_failed_what_changed_and_what_it_cost() -> None:
    context = make_context("I cannot.", run_of("touch done"), "Now.")
    printed = await context.type(f"{GOAL} || {{ echo no such file; exit 1; }}")
    shown = [line for line in printed.splitlines() if line.startswith(("before", "turn", "goal"))]
    assert shown == [
        "before the first turn · not met: no such file",
        "turn 1 of 20 · not met: no such file · no file changed · $0.00 so far",
        "turn 2 of 20 · passed twice in a row · changed done (new) · $0.00 so far",
        "goal met · 2 turns · $0.00",
    ]
    assert context.learned == [1, 2]


async def test_a_goal_needs_a_command() -> None:
    context = make_context()
    with pytest.raises(UsageError, match="The goal is empty"):
        await context.type("/goal")


async def test_a_line_of_the_user_joins_the_running_turn_of_a_goal() -> None:
    context = make_context("I cannot.")

    def answer(_: object) -> str:
        context.runtime.agent.steer("and be quick")
        return "I cannot."

    context.runtime.agent.model._replies = [answer, run_of("touch done"), "Now."]  # type: ignore[attr-defined]
    await context.type(GOAL)
    queries = [message for message in context.runtime.session.messages if message.role == "user"]
    assert [query.content for query in queries][1] == "and be quick"


@pytest.mark.slow
async def test_undo_takes_a_goal_of_twelve_turns_back() -> None:
    Path("app.py").write_text("0\n")
    replies: list[Any] = ["Hello."]
    for number in range(1, 12):
        replies += [run_of(f"echo {number} >> app.py"), "Not yet."]
    context = make_context(*replies, run_of("touch done"), "Now.")
    await run_turn(context.runtime, "hello", learn=False)
    assert "goal met · 12 turns" in await context.type(GOAL)
    printed = await context.type("/undo goal")
    assert 'Undone: "/goal test -f done" and 11 later turns (2 files' in printed
    assert Path("app.py").read_text() == "0\n"
    assert not Path("done").exists()
    assert context.runtime.session.interactions == 1
    assert context.draft == GOAL
    await context.type("/redo")
    assert Path("done").exists()
    assert context.runtime.session.interactions == 13
    assert "Undone" in await context.type("/undo goal")


async def test_undo_takes_back_a_part_of_a_goal() -> None:
    context = make_context(run_of("touch done"), "Now.")
    await context.type(GOAL)
    assert "Undone, files only" in await context.type("/undo goal files")
    assert not Path("done").exists()
    assert context.runtime.session.interactions == 1


async def test_what_still_stands_of_a_goal_is_named() -> None:
    git("init", "-q", "-b", "main")
    Path("app.py").write_text("0\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    commit = "git -c user.name=A -c user.email=a@example.org commit -qam half"
    context = make_context(
        run_of(f"echo 1 > app.py; {commit}"), "Half.", run_of("touch done"), "Now.", sandbox="off"
    )
    await context.type(GOAL)
    assert git("rev-list", "--count", "HEAD") == "2"
    printed = await context.type("/undo goal")
    assert "stays: git reset --soft HEAD~1" in printed
    assert Path("app.py").read_text() == "0\n"


async def test_undo_of_a_goal_names_turns_that_would_go_with_it() -> None:
    context = make_context(run_of("touch done"), "Now.", "Hello.")
    await context.type(GOAL)
    await run_turn(context.runtime, "hello", learn=False)
    with pytest.raises(
        BadInput, match="The last goal is T1, and 1 later turn would go with it"
    ) as raised:
        await context.type("/undo goal")
    assert raised.value.hint == "/rewind T1 undoes both."
    assert Path("done").exists()


async def test_undo_says_that_there_is_no_goal() -> None:
    context = make_context("Hello.")
    await run_turn(context.runtime, "hello", learn=False)
    with pytest.raises(BadInput, match="There is no goal to undo"):
        await context.type("/undo goal")


async def test_of_two_goals_the_newer_one_is_undone_first() -> None:
    replies = (run_of("touch done"), "Now.", run_of("touch more"), "More.")
    context = make_context(*replies)
    await context.type(GOAL)
    await context.type("/goal test -f more")
    await context.type("/undo goal")
    assert (Path("done").exists(), Path("more").exists()) == (True, False)
    await context.type("/undo goal")
    assert not Path("done").exists()


async def test_after_an_undo_of_its_last_turn_the_rest_of_a_goal_can_be_undone() -> None:
    context = make_context(run_of("touch half"), "Half.", run_of("touch done"), "Now.")
    await context.type(GOAL)
    await context.type("/undo")
    assert (Path("half").exists(), Path("done").exists()) == (True, False)
    await context.type("/undo goal")
    assert not Path("half").exists()
    assert context.runtime.session.interactions == 0


async def test_a_goal_that_is_met_already_leaves_what_can_be_redone() -> None:
    context = make_context(run_of("touch done"), "Now.")
    await run_turn(context.runtime, "make it", learn=False)
    await context.type("/undo")
    assert not Path("done").exists()
    await context.type("/goal true")
    await context.type("/redo")
    assert Path("done").exists()
