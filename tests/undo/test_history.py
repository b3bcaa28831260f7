"""Test undo and redo of whole turns with real files, a real shell, a real database and a scripted model."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from swecli.models.events import Notice
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply
from tests.support.shell import environment, script

Snapshot = dict[str, tuple[int, bytes]]


def snapshot(root: Path | None = None) -> Snapshot:
    """Return every path below the working directory with its mode and its bytes."""
    top = root or Path.cwd()
    files: Snapshot = {}
    for path in sorted(top.rglob("*")):
        mode = path.lstat().st_mode
        data = b""
        if stat.S_ISREG(mode):
            data = path.read_bytes()
        elif stat.S_ISLNK(mode):
            data = os.fsencode(os.readlink(path))  # noqa: PTH115
        files[str(path.relative_to(top))] = (mode, data)
    return files


def shell(command: str) -> Reply:
    return calls(("run_command", {"command": command}))


def edit(path: str, old: str, new: str) -> Reply:
    return calls(("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]}))


def write(path: str, content: str) -> Reply:
    return calls(("write_file", {"path": path, "content": content}))


TEN = [
    edit("a.py", "one", "two"),
    write("deep/er/new.py", "print('new')\n"),
    shell("rm old.txt"),
    shell("mv a.py b.py && mkdir -p pkg && mv keep.txt pkg/kept.txt"),
    shell("sed -i s/two/three/ b.py && printf '\\000\\001' >> image.bin"),
    shell("chmod 755 tool.sh && rm image.bin && printf '\\377' > image.bin"),
    shell("ln -sf tool.sh link && mkdir empty && rm -r folder"),
    edit("b.py", "three", "four"),
    shell("rm -r deep && printf x > deep && rm tool.sh && mkdir tool.sh && touch tool.sh/inside"),
    Reply("nothing but words"),
]


def write_files() -> None:
    Path("a.py").write_text("one\n")
    Path("old.txt").write_text("gone soon\r\n")
    Path("keep.txt").write_text("kept")
    Path("image.bin").write_bytes(bytes(range(256)) * 10)
    Path("tool.sh").write_text("echo\n")
    Path("tool.sh").chmod(0o644)
    Path("link").symlink_to(".//nowhere")
    Path("folder/sub").mkdir(parents=True)
    Path("folder/sub/file").write_text("in a folder")
    Path("folder").chmod(0o750)


def replies(turns: list[Reply]) -> list[Reply | str]:
    return [part for turn in turns for part in ((turn, "done") if turn.calls else (turn,))]


async def ten_turns() -> tuple[Runtime, list[Snapshot]]:
    write_files()
    runtime, states = (
        make_runtime(replies(TEN), mode="auto", reflect_with_model=False),
        [snapshot()],
    )
    for number in range(1, 11):
        await run_turn(runtime, f"turn {number}")
        states.append(snapshot())
    return runtime, states


async def test_a_change_by_a_command_that_was_taken_for_harmless_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf gone > a.py\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    Path("a.py").write_text("one\n")
    look = replies([shell("ls -la")])
    runtime = make_runtime(look, mode="ask", sandbox="off", reflect_with_model=False)
    await run_turn(runtime, "look")
    assert Path("a.py").read_text() == "gone"
    await ScriptedContext(runtime).type("/undo")
    assert Path("a.py").read_text() == "one\n"
    runtime.close()


def queries(runtime: Runtime) -> list[str]:
    session = runtime.sessions.current_session
    assert session is not None
    return [message.content for message in session.messages if message.is_query]


@pytest.mark.slow
async def test_undo_of_ten_turns_restores_every_byte_and_redo_reapplies_them() -> None:
    runtime, states = await ten_turns()
    ctx = ScriptedContext(runtime)
    printed = await ctx.type("/undo 10")
    assert snapshot() == states[0]
    assert queries(runtime) == []
    assert "is not restored" not in printed
    assert ctx.draft == "turn 1"
    await ctx.type("/redo")
    assert snapshot() == states[10]
    assert queries(runtime) == [f"turn {n}" for n in range(1, 11)]
    runtime.close()


async def test_ten_turns_are_undone_and_redone_one_by_one() -> None:
    runtime, states = await ten_turns()
    ctx = ScriptedContext(runtime)
    for number in range(9, -1, -1):
        await ctx.type("/undo")
        assert snapshot() == states[number], number
    for number in range(1, 11):
        await ctx.type("/redo")
        assert snapshot() == states[number], number
    runtime.close()


@pytest.mark.slow
async def test_undo_and_redo_work_after_a_restart() -> None:
    runtime, states = await ten_turns()
    runtime.close()
    again = make_runtime(resume="", mode="auto")
    await ScriptedContext(again).type("/undo 7")
    assert snapshot() == states[3]
    assert queries(again) == ["turn 1", "turn 2", "turn 3"]
    again.close()
    third = make_runtime(resume="", mode="auto")
    await ScriptedContext(third).type("/redo")
    assert snapshot() == states[10]
    assert len(queries(third)) == 10
    third.close()


async def runtime_with(*turns: Reply, **settings: Any) -> Runtime:
    runtime = make_runtime(replies(list(turns)), mode="auto", reflect_with_model=False, **settings)
    for number in range(1, len(turns) + 1):
        await run_turn(runtime, f"turn {number}")
    return runtime


@pytest.mark.slow
async def test_a_new_turn_after_an_undo_discards_the_redo() -> None:
    Path("a").write_text("0")
    runtime = make_runtime(
        replies([shell("echo 1 > a"), shell("echo 2 > a"), shell("echo 3 > a")]), mode="auto"
    )
    await run_turn(runtime, "first")
    await run_turn(runtime, "second")
    ctx = ScriptedContext(runtime)
    await ctx.type("/undo")
    await run_turn(runtime, "third")
    assert queries(runtime) == ["first", "third"]
    with pytest.raises(BadInput, match="nothing to redo"):
        await ctx.type("/redo")
    assert Path("a").read_text() == "3\n"
    await ctx.type("/undo")
    assert Path("a").read_text() == "1\n"
    await ctx.type("/redo")
    assert Path("a").read_text() == "3\n"
    with pytest.raises(BadInput, match="nothing to redo"):
        await ctx.type("/redo")
    runtime.close()


@pytest.mark.parametrize("answer", ["1", "2", "3", None])
async def test_undo_asks_before_it_overwrites_a_file_changed_outside_the_session(
    answer: str | None,
) -> None:
    Path("mine").write_text("before")
    Path("theirs").write_text("before")
    runtime = await runtime_with(shell("echo turn | tee mine > theirs"))
    Path("theirs").write_text("by the user")
    ctx = ScriptedContext(runtime, answer)
    printed = await ctx.type("/undo")
    assert len(ctx.offered) == 1
    now = (Path("mine").read_text(), Path("theirs").read_text(), queries(runtime))
    if answer in ("3", None):
        assert now == ("turn\n", "by the user", ["turn 1"])
        assert "nothing was changed" in printed
        return
    is_kept = answer == "2"
    assert now == ("before", "by the user" if is_kept else "before", [])
    assert ("not restored, changed outside this session: theirs" in printed) == is_kept
    await ctx.type("/redo")
    assert Path("mine").read_text() == "turn\n"
    assert Path("theirs").read_text() == "by the user"
    runtime.close()


@pytest.mark.slow
async def test_undo_asks_about_a_file_that_the_user_changed_between_two_turns() -> None:
    runtime = await runtime_with(shell("echo 1 > a"))
    Path("a").write_text("the user's")
    runtime.agent.model = make_runtime(replies([shell("echo 2 >> a")])).agent.model
    await run_turn(runtime, "turn 2")
    ctx = ScriptedContext(runtime, None)
    await ctx.type("/undo 2")
    assert ctx.offered
    assert Path("a").read_text() == "the user's2\n"
    runtime.close()


async def test_without_a_terminal_undo_of_a_file_changed_outside_is_refused() -> None:
    Path("a").write_text("before")
    runtime = await runtime_with(shell("echo turn > a"))
    Path("a").write_text("by the user")
    history = runtime.history
    assert history is not None
    with pytest.raises(BadInput, match="Changed outside this session, nothing was undone: a"):
        history.undo(1, ("files", "conversation"), history.plan(1))
    assert Path("a").read_text() == "by the user"
    assert queries(runtime) == ["turn 1"]
    runtime.close()


@pytest.mark.parametrize(
    ("part", "content", "left"),
    [
        ("files", "before", 1),
        ("conversation", "turn\n", 0),
        ("window", "turn\n", 1),
        ("playbook", "turn\n", 1),
    ],
)
async def test_files_conversation_window_and_playbook_are_undone_and_redone_separately(
    part: str, content: str, left: int
) -> None:
    Path("a").write_text("before")
    runtime = await runtime_with(shell("echo turn > a"))
    ctx = ScriptedContext(runtime)
    await ctx.type("/window full")
    await ctx.type(f"/undo {part}")
    session = runtime.sessions.current_session
    assert session is not None
    assert (Path("a").read_text(), len(queries(runtime))) == (content, left)
    assert str(session.window) == ("5+3" if part == "window" else "full")
    await ctx.type("/redo")
    session = runtime.sessions.current_session
    assert session is not None
    assert (Path("a").read_text(), len(queries(runtime)), str(session.window)) == (
        "turn\n",
        1,
        "full",
    )
    runtime.close()


async def test_undo_removes_the_strategies_of_a_turn_and_they_can_be_learned_again() -> None:
    taught = calls(
        (
            "remember",
            {"text": "Use tabs in this project", "quote": "Always use tabs in this project"},
        )
    )
    runtime = make_runtime([taught, "ok", taught, "ok"], mode="auto", reflect_with_model=False)
    query = "Always use tabs in this project"
    await run_turn(runtime, query, learn=False)
    live = [b.content for b in runtime.sessions.current_session.playbook.bullets.values()]  # type: ignore[union-attr]
    assert live
    ctx = ScriptedContext(runtime)
    assert "strategies: P-1" in await ctx.type("/undo")
    assert not runtime.sessions.current_session.playbook.bullets  # type: ignore[union-attr]
    await ctx.type("/redo")
    again = [b.content for b in runtime.sessions.current_session.playbook.bullets.values()]  # type: ignore[union-attr]
    assert again == live
    await ctx.type("/undo")
    await run_turn(runtime, query, learn=False)
    assert [b.content for b in runtime.sessions.current_session.playbook.bullets.values()] == live  # type: ignore[union-attr]
    runtime.close()


async def test_after_an_undo_the_next_request_contains_only_the_remaining_turns() -> None:
    runtime = await runtime_with(write("one", "1"), write("two", "2"))
    await ScriptedContext(runtime).type("/undo")
    turn = runtime.agent.prepare("and now?")
    text = str(turn.request.messages)
    assert "turn 1" in text
    assert "turn 2" not in text
    runtime.agent.model = make_runtime(["fine"]).agent.model
    await run_turn(runtime, "and now?")
    assert queries(runtime) == ["turn 1", "and now?"]
    session = runtime.sessions.current_session
    assert session is not None
    assert session.interactions == 2
    runtime.close()


@pytest.mark.slow
async def test_a_file_over_the_size_limit_is_reported_when_it_changes_and_by_undo() -> None:
    Path("big.bin").write_bytes(b"\0" * 50_000_000)
    Path("small").write_text("s")
    runtime = make_runtime(replies([shell("printf x >> big.bin; echo t > small")]), mode="auto")
    events = await run_turn(runtime, "grow it")
    lines = [event.text for event in events if isinstance(event, Notice)]
    assert any("big.bin" in line and "too large" in line for line in lines), lines
    printed = await ScriptedContext(runtime).type("/undo")
    assert "big.bin is not restored: it was too large" in printed
    assert Path("big.bin").stat().st_size == 50_000_001
    assert Path("small").read_text() == "s"
    runtime.close()


async def test_undo_keeps_and_reports_a_folder_that_contains_ignored_files() -> None:
    Path(".gitignore").write_text("*.log\n")
    runtime = await runtime_with(shell("mkdir out && echo x > out/a && echo y > out/b.log"))
    printed = await ScriptedContext(runtime).type("/undo")
    assert "out is not restored: Directory not empty" in printed
    assert not Path("out/a").exists()
    assert Path("out/b.log").read_text() == "y\n"
    runtime.close()


async def test_undo_does_not_write_through_a_symbolic_link_that_replaced_a_folder(
    tmp_path: Path,
) -> None:
    Path("src").mkdir()
    Path("src/a").write_text("before")
    runtime = await runtime_with(shell("echo turn > src/a"))
    outside = tmp_path / "outside"
    Path("src").rename(outside)
    Path("src").symlink_to(outside)
    printed = await ScriptedContext(runtime).type("/undo")
    assert "src/a is not restored: its folder is a symbolic link" in printed
    assert (outside / "a").read_text() == "turn\n"
    runtime.close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/undo 0", "'0' is not a number of turns to undo: this session has 1"),
        ("/undo 99", "'99' is not a number of turns to undo: this session has 1"),
        ("/undo x", "'x' is not a number of turns"),
        ("/undo 1 2", "'1 2' is more than one turn or part"),
        ("/rewind T9", "There is no turn T9 in this session"),
        ("/redo 2", "/redo takes no arguments"),
        ("/redo", "nothing to redo"),
        ("/diff T99", "There is no turn T99 in this session"),
        ("/diff x", "'x' is not a turn"),
    ],
)
@pytest.mark.slow
async def test_invalid_arguments_of_undo_rewind_redo_and_diff_are_refused_and_change_nothing(
    line: str, message: str
) -> None:
    runtime = await runtime_with(write("a", "1"))
    with pytest.raises((BadInput, UsageError), match=message):
        await ScriptedContext(runtime).type(line)
    assert Path("a").read_text() == "1"
    assert queries(runtime) == ["turn 1"]
    runtime.close()


@pytest.mark.parametrize("line", ["/undo", "/redo", "/diff", "/rewind"])
async def test_undo_redo_diff_and_rewind_are_refused_in_a_session_without_turns(line: str) -> None:
    runtime = make_runtime()
    with pytest.raises(
        (BadInput, UsageError), match="nothing to undo|nothing to redo|There is no turn"
    ):
        await ScriptedContext(runtime).type(line)
    runtime.close()


async def test_rewind_offers_the_turns_with_their_changed_files() -> None:
    runtime = await runtime_with(write("a", "1"), shell("echo 2 > a; echo 3 > b"), Reply("words"))
    ctx = ScriptedContext(runtime, "2", "files")
    await ctx.type("/rewind")
    assert [label for _, label in ctx.offered[0]] == [
        "T3 · turn 3",
        "T2 · turn 2 · a, b",
        "T1 · turn 1 · a",
    ]
    assert Path("a").read_text() == "1"
    assert not Path("b").exists()
    assert len(queries(runtime)) == 3
    ctx.will_pick(None)
    assert await ctx.type("/rewind") == ""
    ctx.will_pick("1", None)
    assert await ctx.type("/rewind") == ""
    runtime.close()


async def test_diff_shows_the_changes_of_a_turn_or_session_with_binary_files_and_modes() -> None:
    Path("a").write_text("old\n")
    runtime = await runtime_with(
        edit("a", "old", "new"), shell("echo more >> a; printf '\\000' > bin; chmod 600 a")
    )
    ctx = ScriptedContext(runtime)
    last = await ctx.type("/diff")
    assert "more" in last
    assert "bin: created" in last
    assert "mode 100644 → 100600" in last
    assert "old" not in last
    first = await ctx.type("/diff T1")
    assert "old" in first
    assert "more" not in first
    both = await ctx.type("/diff session")
    assert both.count("a: ") == 1
    assert "(+2 −1)" in both
    await ctx.type("/undo 2 files")
    assert "no files changed" in await ctx.type("/diff session")
    runtime.close()


async def test_diff_shows_a_renamed_file_as_one_with_the_lines_that_differ() -> None:
    lines = [f"line {number}" for number in range(20)]
    Path("old.py").write_text("\n".join(lines))
    Path("same.py").write_text("as it was\n")
    Path("gone.py").write_text("nothing alike\n")
    runtime = await runtime_with(
        shell("mkdir b; mv old.py b/new.py; sed -i 's/line 7/line seven/' b/new.py; mv same.py b"),
        shell("rm gone.py; echo other > made.py"),
    )
    ctx = ScriptedContext(runtime)
    renamed = await ctx.type("/diff T1")
    assert "b/new.py: renamed from old.py (+1 −1)" in renamed
    assert "b/same.py: renamed from same.py · by commands\n" in renamed
    assert "removed" not in renamed
    assert "line 15" not in renamed
    others = await ctx.type("/diff T2")
    assert "gone.py: removed (−1)" in others
    assert "made.py: created (+1)" in others


async def test_reading_commands_record_no_changes_and_undo_keeps_ignored_files() -> None:
    Path(".gitignore").write_text("*.log\n")
    runtime = await runtime_with(shell("ls -la"), shell("echo x > a.log"))
    assert runtime.sessions.file_changes.load(runtime.sessions.current_session, 1) == []  # type: ignore[arg-type]
    await ScriptedContext(runtime).type("/undo 2")
    assert Path("a.log").exists()
    runtime.close()


async def test_after_an_undo_the_next_request_equals_the_one_before_the_undone_turns() -> None:
    runtime = make_runtime(["I see."] * 20, mode="auto", reflect_with_model=False)
    for number in range(1, 8):
        await run_turn(runtime, f"never touch file {number}", learn=False)
    before = runtime.agent.prepare("and now?").request.messages
    facts = dict(runtime.sessions.current_session.context.facts)  # type: ignore[union-attr]
    for number in range(5, 14):
        await run_turn(runtime, f"never touch file {number}", learn=False)
    await ScriptedContext(runtime).type("/undo 9")
    assert runtime.agent.prepare("and now?").request.messages == before
    assert {key: fact.text for key, fact in runtime.sessions.session.context.facts.items()} == {
        key: fact.text for key, fact in facts.items()
    }
    runtime.close()


# Ends like `kill -9` when the written content of a file is about to be stored: the file is written, and not recorded.
KILLED = """
import os, signal, sys
from swecli.cli.main import main

def kill(event, args):
    if event == "os.rename" and ".versions/" in str(args[1]) and not str(args[1]).endswith("pruned"):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
sys.argv = ["swecli", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
async def test_an_edit_that_was_killed_before_it_was_recorded_is_undone_after_a_question() -> None:
    call = {"name": "write_file", "arguments": {"path": "new.txt", "content": "new\n"}}
    words = ("-p", "write it", "-m", script("s.json", {"calls": [call]}, "Done."), "--mode", "auto")
    run = [sys.executable, "-c", KILLED, *words]
    done = subprocess.run(run, env=environment(), capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path("new.txt").read_text() == "new\n"
    runtime = make_runtime(resume="")
    await ScriptedContext(runtime, "1").type("/undo")
    assert not Path("new.txt").exists()
    runtime.close()


async def test_a_refused_edit_leaves_no_change_behind() -> None:
    Path("a.py").write_text("one\n")
    runtime = make_runtime([edit("a.py", "nowhere", "two"), "Done."])
    await run_turn(runtime, "edit it")
    assert runtime.history is not None
    assert [line for _, line in runtime.history.turns()] == ["T1 · edit it"]
    runtime.close()


async def test_a_turn_is_undone_in_a_folder_that_was_renamed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "keep.txt").write_text("kept")
    monkeypatch.chdir(old)
    runtime = make_runtime(replies([write("new.py", "1\n")]), mode="auto", learn=False)
    await run_turn(runtime, "write it", learn=False)
    runtime.close()
    new = old.rename(tmp_path / "renamed")
    monkeypatch.chdir(new)
    again = make_runtime(["unused"], resume="", cwd=new, learn=False)
    assert (new / "new.py").exists()
    await ScriptedContext(again).type("/undo")
    assert not (new / "new.py").exists()
    assert not old.exists()
    again.close()
