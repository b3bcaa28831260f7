"""Test that an undo is stored before it changes a file: on a full disk, beside another program, and when it is cut
off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, StoreError
from swecli.models.events import ToolFinished
from swecli.undo.restore import restore_files
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply

ROOT = Path(__file__).parents[2]
ALL = ("files", "conversation", "window", "playbook")


def shell(command: str) -> Reply:
    return calls(("run_command", {"command": command}))


async def runtime_with(*turns: Reply) -> Runtime:
    replies = [part for turn in turns for part in (turn, "done")]
    runtime = make_runtime(replies, mode="auto", reflect_with_model=False)
    for number in range(1, len(turns) + 1):
        await run_turn(runtime, f"turn {number}")
    return runtime


async def two_files() -> Runtime:
    Path("log.txt").write_text("before\n")
    return await runtime_with(shell("echo new > f1.txt; echo line >> log.txt"))


def contents() -> dict[str, str]:
    return {path.name: path.read_text() for path in Path.cwd().iterdir()}


@contextmanager
def full_disk(runtime: Runtime) -> Iterator[None]:
    """Let the database have no page more than it has."""
    connection = runtime.sessions.database.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (most,) = connection.execute("PRAGMA max_page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA max_page_count = {most}")


@contextmanager
def read_only(runtime: Runtime) -> Iterator[None]:
    """Let the database refuse every change."""
    connection = runtime.sessions.database.connection
    connection.execute("PRAGMA query_only = 1")
    try:
        yield
    finally:
        connection.execute("PRAGMA query_only = 0")


AFTER = {"f1.txt": "new\n", "log.txt": "before\nline\n"}
BEFORE = {"log.txt": "before\n"}


async def test_on_a_full_disk_an_undo_changes_nothing_and_works_when_there_is_room() -> None:
    # so many that their undo needs another page
    runtime = await runtime_with(shell("for n in $(seq 100); do echo $n > made-$n; done"))
    after = contents()
    ctx = ScriptedContext(runtime)
    with full_disk(runtime), pytest.raises(StoreError, match="No space is left"):
        await ctx.type("/undo")
    assert contents() == after
    await ctx.type("/undo")
    assert contents() == {}
    await ctx.type("/redo")
    assert contents() == after
    runtime.close()


async def test_an_undo_or_redo_that_cannot_be_stored_changes_no_file() -> None:
    runtime = await two_files()
    ctx = ScriptedContext(runtime)
    with read_only(runtime), pytest.raises(StoreError, match="cannot be written"):
        await ctx.type("/undo")
    assert contents() == AFTER
    await ctx.type("/undo")
    assert contents() == BEFORE
    with read_only(runtime), pytest.raises(StoreError, match="cannot be written"):
        await ctx.type("/redo")
    assert contents() == BEFORE
    await ctx.type("/redo")
    assert contents() == AFTER
    runtime.close()


async def test_an_undo_whose_end_cannot_be_stored_is_whole_and_can_be_redone() -> None:
    runtime = await two_files()
    connection = runtime.sessions.database.connection

    def restore_and_fill(*given: object) -> object:
        done = restore_files(*given)  # type: ignore[arg-type]
        connection.execute("PRAGMA query_only = 1")
        return done

    history = runtime.history
    assert history is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swecli.undo.history.restore_files", restore_and_fill)
        result = history.undo(1, ALL, history.plan(1))
    assert contents() == BEFORE
    assert any("its end could not be stored" in line for line in result.problems)
    connection.execute("PRAGMA query_only = 0")
    runtime.resume(runtime.session.id)
    await ScriptedContext(runtime).type("/redo")
    assert contents() == AFTER
    runtime.close()


KILLED = """
import asyncio, os, signal
from swecli.undo.versions import FileVersions
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

restore = FileVersions.restore
left = [{files}]

def restore_some(*given):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    restore(*given)

FileVersions.restore = restore_some
runtime = make_runtime(resume="", mode="auto")
asyncio.run(ScriptedContext(runtime).type("{line}"))
"""


def kill_during(line: str, files: int) -> None:
    """Run a command in another process, which is killed when it has restored that many files."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(line=line, files=files)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("files", [0, 1])
async def test_an_undo_and_a_redo_that_were_killed_are_finished_at_the_next_start(
    files: int,
) -> None:
    (await two_files()).close()
    kill_during("/undo", files)
    runtime = make_runtime(mode="auto")  # a new session in the same folder
    assert contents() == BEFORE
    assert any("a /undo that was cut off is finished now" in line for line in runtime.notices)
    runtime.close()
    kill_during("/redo", files)
    runtime = make_runtime(resume="", mode="auto")
    assert contents() == AFTER
    assert runtime.session.interactions == 1
    assert any("a /redo that was cut off is finished now" in line for line in runtime.notices)
    await ScriptedContext(runtime).type("/undo")
    assert contents() == BEFORE
    runtime.close()


async def test_a_file_that_changed_while_the_undo_began_is_left_and_named() -> None:
    runtime = await two_files()
    history = runtime.history
    assert history is not None
    plan = history.plan(1)
    Path("log.txt").write_text("of the user\n")
    result = history.undo(1, ALL, plan)
    assert contents() == {"log.txt": "of the user\n"}
    assert result.files == ["f1.txt"]
    assert any(
        line.startswith("log.txt is not restored: it was changed") for line in result.problems
    )
    runtime.close()


async def test_a_file_that_cannot_be_replaced_is_as_it_was_and_undone_later() -> None:
    Path("thing").write_text("a file\n")
    runtime = await runtime_with(shell("rm thing && mkdir thing && echo x > other"))
    Path("thing/kept").write_text("of the user\n")
    ctx = ScriptedContext(runtime)
    printed = await ctx.type("/undo")
    assert "thing is not restored" in printed
    assert Path("thing/kept").exists()
    assert not Path("other").exists()
    await ctx.type("/redo")
    Path("thing/kept").unlink()
    await ctx.type("/undo")
    assert Path("thing").read_text() == "a file\n"
    runtime.close()


async def test_turns_of_another_program_are_shown_before_they_can_be_undone() -> None:
    here = await runtime_with(shell("echo 1 > mine"))
    there = make_runtime(
        [shell("echo 2 > theirs"), "done"], resume="", mode="auto", reflect_with_model=False
    )
    await run_turn(there, "theirs")
    ctx = ScriptedContext(here)
    printed = await ctx.type("/undo")
    assert "T2 is of another swecli: theirs → done" in printed
    assert contents() == {"mine": "1\n", "theirs": "2\n"}
    await ctx.type("/undo")
    assert contents() == {"mine": "1\n"}
    printed = await ScriptedContext(there).type("/redo")
    assert "T2 was undone in another swecli: theirs" in printed
    assert contents() == {"mine": "1\n"}
    await ScriptedContext(there).type("/redo")
    assert contents() == {"mine": "1\n", "theirs": "2\n"}
    here.close()
    there.close()


async def test_nothing_is_undone_in_a_workspace_that_was_moved(tmp_path: Path) -> None:
    runtime = await two_files()
    moved = tmp_path / "moved"
    Path.cwd().rename(moved)
    with pytest.raises(BadInput, match="was removed or moved"):
        await ScriptedContext(runtime).type("/undo")
    assert not runtime.cwd.exists()
    assert (moved / "f1.txt").exists()
    runtime.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_command", {"command": "echo x > f"}),
        ("run_command", {"command": "sleep 60", "background": True}),
        ("write_file", {"path": "n.txt", "content": "x"}),
        ("edit_file", {"path": "a.py", "edits": [{"old_text": "x", "new_text": "y"}]}),
        ("search_files", {"pattern": "x"}),
    ],
)
async def test_a_call_in_a_workspace_that_was_moved_says_so_and_makes_no_new_one(
    tmp_path: Path, name: str, arguments: dict[str, object]
) -> None:
    runtime = make_runtime(
        [calls((name, arguments)), "done"], mode="auto", reflect_with_model=False
    )
    Path.cwd().rename(tmp_path / "moved")
    events = await run_turn(runtime, "go")
    [result] = [event.result.for_model for event in events if isinstance(event, ToolFinished)]
    assert "was removed or moved while swecli ran: nothing can be done in it" in result
    assert not [event for event in events if event.type in ("turn_failed", "notice")]
    assert not runtime.cwd.exists()
    runtime.close()
