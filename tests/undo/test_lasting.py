"""Test that an undo names what it cannot take back, with a command that does, in real repositories with real jobs."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.store.undo_records import LastingChange
from swecli.undo.lasting import merge_changes
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(autouse=True)
def repository() -> None:
    git("init", "-q", "-b", "main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.org")
    Path(".gitignore").write_text("dist/\n.env\n")
    Path("a.txt").write_text("1\n")
    Path("lib.js").write_text("x\n")
    git("add", "-A")
    git("commit", "-qm", "first")


def shell(command: str, **more: object) -> Reply:
    return calls(("run_command", {"command": command, **more}))


async def runtime_with(*turns: Reply) -> Runtime:
    replies = [part for turn in turns for part in (turn, "done")]
    runtime = make_runtime(replies, mode="auto", sandbox="off", reflect_with_model=False)
    for number in range(1, len(turns) + 1):
        await run_turn(runtime, f"turn {number}")
    return runtime


async def undo(runtime: Runtime, line: str = "/undo") -> list[str]:
    """Return the lines on what stands."""
    printed = await ScriptedContext(runtime).type(line)
    return [row.removeprefix("! ") for row in printed.splitlines() if row.startswith("! ")]


def take_back(lines: list[str]) -> None:
    """Run the commands that the lines name, in their order."""
    for line in lines:
        _, _, command = line.rpartition(": ")
        subprocess.run(command, shell=True, check=True, capture_output=True)


async def test_a_commit_and_a_tag_are_named_with_commands_that_take_them_back() -> None:
    before = git("rev-parse", "HEAD")
    runtime = await runtime_with(shell("echo 2 > a.txt; git commit -qam x; git tag v9"))
    commit = git("rev-parse", "--short=7", "HEAD")
    lines = await undo(runtime)
    assert lines == [
        f"commit {commit} stays: git reset --soft HEAD~1",
        "tag v9 stays: git tag -d v9",
        "git's index still has the change: git reset -- a.txt",
    ]
    take_back(lines)
    assert (git("rev-parse", "HEAD"), git("tag"), git("status", "--short")) == (before, "", "")
    runtime.close()


async def test_the_first_commit_two_commits_and_one_below_another_have_commands_of_their_own() -> (
    None
):
    runtime = await runtime_with(
        shell("git commit -q --allow-empty -m 1; git commit -q --allow-empty -m 2")
    )
    [line] = await undo(runtime)
    assert line.startswith("commits ")
    assert line.endswith("stay: git reset --soft HEAD~2")
    await ScriptedContext(runtime).type("/redo")
    mine = git("rev-parse", "--short=7", "HEAD")
    git("commit", "-q", "--allow-empty", "-m", "of the user")
    lines = await undo(runtime)
    assert lines[0] == f"commit {mine} stays: git revert {mine}"
    runtime.close()


async def test_a_commit_that_the_user_took_back_is_not_named() -> None:
    runtime = await runtime_with(shell("echo 2 > a.txt; git commit -qam x"))
    git("reset", "-q", "--soft", "HEAD~1")
    git("reset", "-q")
    assert await undo(runtime) == []
    runtime.close()


async def test_a_move_in_the_index_is_named_and_can_be_reset() -> None:
    runtime = await runtime_with(shell("git mv lib.js find.js && sed -i s/x/y/ find.js"))
    lines = await undo(runtime)
    assert lines == ["git's index still has the changes: git reset -- find.js lib.js"]
    take_back(lines)
    assert git("status", "--short") == ""
    runtime.close()


async def test_another_branch_is_named_with_the_way_back() -> None:
    turn = "git switch -qc feature; echo n > n.txt; git add n.txt; git commit -qm n"
    runtime = await runtime_with(shell(turn))
    lines = await undo(runtime)
    assert [line.partition(":")[0] for line in lines] == [
        "HEAD stays at feature, it was at main",
        "branch feature stays",
        "git's index still has the change",
    ]
    take_back(lines)
    assert (git("branch", "--show-current"), git("branch", "--list", "feature")) == ("main", "")
    assert git("status", "--short") == ""
    runtime.close()


async def test_files_that_are_ignored_are_named() -> None:
    runtime = await runtime_with(shell("mkdir dist; echo 1 > dist/out.js; echo K > .env"))
    assert await undo(runtime) == ["ignored, not undone: .env, dist"]
    runtime.close()


async def test_what_copied_turns_changed_is_named_with_the_session_that_undoes_it() -> None:
    runtime = await runtime_with(shell("echo 2 > a.txt"), shell("echo y > lib.js"))
    original = runtime.session.id[:13]
    copy = runtime.sessions.fork(upto=1)
    runtime.resume(copy.id)
    copy_of_copy = runtime.sessions.fork()
    for session in (copy, copy_of_copy):
        runtime.resume(session.id)
        for line in ("/undo T1 a.txt", "/diff T1"):
            with pytest.raises(BadInput, match=f"T1 is a copy: .*/resume {original} goes there"):
                await ScriptedContext(runtime).type(line)
        assert await undo(runtime) == [f"a.txt: undone only in the original: /resume {original}"]
    runtime.resume(original)
    await undo(runtime, "/undo 2")
    assert Path("a.txt").read_text() == "1\n"
    runtime.close()


async def test_a_running_job_and_what_it_wrote_are_named_and_its_own_files_are_not_lost() -> None:
    ready = "until [ -e go ]; do sleep .05; done; echo built > out.txt; touch done; sleep 60"
    runtime = await runtime_with(shell(ready, background=True), shell("echo 3 > a.txt"))
    Path("go").touch()
    async with asyncio.timeout(30):
        while not Path("done").exists():
            await asyncio.sleep(0.05)
    assert await undo(runtime) == []  # the turn that started it is not undone
    lines = await undo(runtime)
    assert lines[0] == "job 1 still runs: /jobs stop 1"
    assert "out.txt" in lines[1]
    assert lines[1].endswith("written while job 1 ran, not undone")
    assert Path("out.txt").exists()
    await runtime.agent.ctx.commands.jobs.close()
    runtime.close()


async def test_the_next_request_says_what_stands_also_after_a_restart_and_until_a_redo() -> None:
    runtime = await runtime_with(shell("git commit -q --allow-empty -m 1"), shell("git tag v9"))
    await undo(runtime)
    await undo(runtime)
    runtime.close()
    again = make_runtime(["fine"], resume="", mode="auto", sandbox="off", reflect_with_model=False)
    sent = again.agent.prepare("and now?").request.enhanced
    assert "The user took back T1. Not taken back: commit " in sent
    assert "The user took back T2. Not taken back: tag v9 stays: git tag -d v9." in sent
    await ScriptedContext(again).type("/redo")
    sent = again.agent.prepare("and now?").request.enhanced
    assert "took back T1" not in sent
    assert "took back T2" in sent
    await run_turn(again, "go on")
    assert "took back" not in again.agent.prepare("and then?").request.enhanced
    again.close()


def test_changes_of_one_thing_are_joined_and_those_that_were_reversed_are_dropped() -> None:
    changes = [
        LastingChange("ref", "refs/tags/a", "", "1"),
        LastingChange("ref", "refs/tags/b", "", "1"),
        LastingChange("ref", "refs/tags/a", "1", "2"),
        LastingChange("ref", "refs/tags/b", "1", ""),
    ]
    assert merge_changes(changes) == [LastingChange("ref", "refs/tags/a", "", "2")]
