"""Test the undo and redo of one file or one hunk of a turn, with real files, a real shell and a real database."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, StoreError, SwecliError, UsageError
from swecli.repl.commands.registry import CommandTable
from swecli.store.undo_records import FileChange
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply

ROOT = Path(__file__).parents[2]
FIRST = "".join(f"line {number}\n" for number in range(1, 31))


def shell(command: str) -> Reply:
    return calls(("run_command", {"command": command}))


def edit(path: str, *pairs: tuple[str, str]) -> Reply:
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return calls(("edit_file", {"path": path, "edits": edits}))


async def runtime_with(*turns: Reply, **settings: Any) -> Runtime:
    replies = [part for turn in turns for part in (turn, "done")]
    runtime = make_runtime(replies, mode="auto", reflect_with_model=False, **settings)
    for number in range(1, len(turns) + 1):
        await run_turn(runtime, f"turn {number}")
    return runtime


async def changed_twice() -> ScriptedContext:
    """A file that the first turn changed in line 3 and in line 20."""
    Path("a.txt").write_text(FIRST)
    runtime = await runtime_with(
        edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\nand more\n"))
    )
    return ScriptedContext(runtime)


def read(name: str = "a.txt") -> str:
    return Path(name).read_text()


BOTH = FIRST.replace("line 3\n", "three\n").replace("line 20\n", "twenty\nand more\n")
ONLY_SECOND = FIRST.replace("line 20\n", "twenty\nand more\n")
ONLY_FIRST = FIRST.replace("line 3\n", "three\n")


async def test_diff_of_a_turn_numbers_the_hunks_and_says_who_changed_each_file() -> None:
    Path("a.txt").write_text(FIRST)
    Path("b.txt").write_text("1\n")
    two = edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\n"))
    runtime = await runtime_with(two, shell("echo 2 >> b.txt; touch c.txt"))
    ctx = ScriptedContext(runtime)
    shown = await ctx.type("/diff T1")
    assert "a.txt: changed (+2 −2) · by tools" in shown
    assert [row.strip() for row in shown.splitlines() if "hunk" in row] == ["┆ hunk 1", "┆ hunk 2"]
    last = await ctx.type("/diff")
    assert "b.txt: changed (+1) · by commands" in last
    assert "c.txt: created (±0) · by commands" in last
    assert "hunk" not in last  # the only one needs no number
    assert "c.txt" not in await ctx.type("/diff T2 b.txt")


async def test_one_hunk_is_undone_and_redone_and_the_conversation_stays() -> None:
    ctx = await changed_twice()
    printed = await ctx.type("/undo T1 a.txt 2")
    assert read() == ONLY_FIRST
    assert 'Undone: hunk 2 of a.txt (line 20) from "turn 1". /redo brings it back.' in printed
    assert ctx.runtime.session.interactions == 1
    assert "hunk 2 · taken back" in await ctx.type("/diff T1")
    with pytest.raises(BadInput, match=r"hunk 2 of a.txt is taken back already"):
        await ctx.type("/undo T1 a.txt 2")
    printed = await ctx.type("/redo")
    assert 'Redone: hunk 2 of a.txt (line 20) from "turn 1".' in printed
    assert read() == BOTH
    assert "taken back" not in await ctx.type("/diff T1")


async def test_later_changes_in_other_places_stay() -> None:
    Path("a.txt").write_text(FIRST)
    runtime = await runtime_with(
        edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\nand more\n")),
        edit("a.txt", ("line 1\n", "line 0\nline 1\n"), ("line 30\n", "thirty\n")),
    )
    ctx = ScriptedContext(runtime)
    Path("a.txt").write_text(read().replace("line 12\n", "by the user\n"))
    await ctx.type("/undo T1 a.txt")
    expected = FIRST.replace("line 1\n", "line 0\nline 1\n", 1).replace("line 30\n", "thirty\n")
    assert read() == expected.replace("line 12\n", "by the user\n")
    Path("a.txt").write_text(read().replace("line 14\n", "again by the user\n"))
    await ctx.type("/redo")
    assert "three\n" in read()
    assert "twenty\nand more\n" in read()
    assert "again by the user\n" in read()


async def test_a_hunk_that_a_later_turn_changed_is_refused_and_nothing_is_written() -> None:
    Path("a.txt").write_text(FIRST)
    runtime = await runtime_with(
        edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\n")),
        edit("a.txt", ("twenty", "zwanzig")),
    )
    ctx = ScriptedContext(runtime)
    before = read()
    refusal = r'hunk 2 of a.txt was changed again by "turn 2" \(T2\)\.'
    for line in ("/undo T1 a.txt 2", "/undo T1 a.txt"):
        with pytest.raises(BadInput, match=refusal):
            await ctx.type(line)
    assert read() == before
    await ctx.type("/undo T1 a.txt 1")
    assert read() == before.replace("three", "line 3")


async def change_in_turn(runtime: Runtime, old: str, new: str) -> None:
    assert runtime.history is not None
    async with runtime.history.recorder.around(["a.txt"]):
        Path("a.txt").write_text(read().replace(old, new))


async def test_what_the_user_changed_between_two_calls_of_the_turn_stays() -> None:
    Path("a.txt").write_text(FIRST)
    ctx = ScriptedContext(await runtime_with(Reply("nothing yet")))
    await change_in_turn(ctx.runtime, "line 3\n", "three\n")
    Path("a.txt").write_text(read().replace("line 12\n", "by the user\n"))
    await change_in_turn(ctx.runtime, "line 20\n", "twenty\n")
    shown = await ctx.type("/diff T1")
    assert "a.txt: changed (+2 −2) · by tools" in shown
    assert "by the user" not in shown
    await ctx.type("/undo T1 a.txt")
    assert read() == FIRST.replace("line 12\n", "by the user\n")
    await ctx.type("/redo")
    await ctx.type("/undo T1 a.txt 1")
    assert read() == FIRST.replace("line 12", "by the user").replace("line 20\n", "twenty\n")


async def test_a_whole_undo_asks_about_what_changed_after_a_piece_was_taken_back() -> None:
    ctx = await changed_twice()
    await ctx.type("/undo T1 a.txt 1")
    Path("a.txt").write_text(read() + "by the user\n")
    ctx.will_pick("1")
    await ctx.type("/undo")
    assert "Changed outside this session: a.txt" in ctx.titles[0]
    assert read() == FIRST
    await ctx.type("/redo")
    assert read() == ONLY_SECOND + "by the user\n"


async def test_a_hunk_that_something_else_changed_is_refused() -> None:
    ctx = await changed_twice()
    Path("a.txt").write_text(BOTH.replace("three", "3"))
    with pytest.raises(BadInput, match="hunk 1 of a.txt was changed since, outside this session"):
        await ctx.type("/undo T1 a.txt 1")
    Path("a.txt").unlink()
    with pytest.raises(BadInput, match=r"a.txt does not exist any more"):
        await ctx.type("/undo T1 a.txt 1")
    with pytest.raises(BadInput, match=r"a.txt does not exist any more"):
        await ctx.type("/undo T1 a.txt")
    assert not Path("a.txt").exists()


async def test_what_a_background_command_wrote_is_named_and_put_back() -> None:
    Path("a.txt").write_text(FIRST)
    waiting = "until [ -e go ]; do sleep .05; done"
    job = f"{waiting}; echo built > out.txt; sed -i 's/line 3$/three/; s/line 20$/20/' a.txt; touch done; sleep 60"
    runtime = await runtime_with(calls(("run_command", {"command": job, "background": True})))
    Path("go").touch()
    async with asyncio.timeout(30):
        while not Path("done").exists():
            await asyncio.sleep(0.05)
    ctx = ScriptedContext(runtime)
    shown = await ctx.type("/diff T1")
    assert "a.txt: changed (+2 −2) · by job 1" in shown
    assert "out.txt: created (+1) · by job 1" in shown
    assert "! job 1 still runs: /jobs stop 1" in await ctx.type("/undo T1 a.txt 1")
    assert read() == FIRST.replace("line 20\n", "20\n")
    await ctx.type("/undo T1 out.txt")
    assert not Path("out.txt").exists()
    await ctx.type("/redo")
    assert read("out.txt") == "built\n"
    await ctx.type("/undo T1 out.txt")
    printed = await ctx.type("/undo")
    assert "a.txt, done, go: written while job 1 ran, not undone" in printed
    await ctx.type("/redo")
    assert "a.txt: changed" in await ctx.type("/diff T1")
    await runtime.agent.ctx.commands.jobs.close()


async def test_files_that_a_command_created_removed_and_renamed_are_put_back() -> None:
    Path("old.txt").write_text("old\n")
    Path("here.txt").write_text("to be moved\n")
    Path("sub").mkdir(mode=0o750)
    Path("sub/gone.txt").write_text("gone\n")
    runtime = await runtime_with(
        shell(
            "mkdir -p made/deep; echo new > made/deep/new.txt; rm -r sub; mv here.txt there.txt; chmod 755 old.txt"
        )
    )
    ctx = ScriptedContext(runtime)
    shown = await ctx.type("/diff T1")
    assert "there.txt: renamed from here.txt · by commands" in shown
    assert "old.txt: mode 100644 → 100755 · by commands" in shown
    assert "made:" not in shown
    await ctx.type("/undo T1 made/deep/new.txt")
    assert not Path("made").exists()
    await ctx.type("/undo T1 sub/gone.txt")
    assert read("sub/gone.txt") == "gone\n"
    assert Path("sub").stat().st_mode & 0o777 == 0o750
    await ctx.type("/undo T1 there.txt")
    assert (read("here.txt"), Path("there.txt").exists()) == ("to be moved\n", False)
    await ctx.type("/undo T1 old.txt")
    assert Path("old.txt").stat().st_mode & 0o777 == 0o644
    for _ in range(4):
        await ctx.type("/redo")
    assert read("made/deep/new.txt") == "new\n"
    assert not Path("sub").exists()
    assert (read("there.txt"), Path("here.txt").exists()) == ("to be moved\n", False)
    assert Path("old.txt").stat().st_mode & 0o777 == 0o755


async def test_the_undo_of_a_turn_names_a_renamed_file_that_was_put_back_before_once() -> None:
    Path("here.txt").write_text("to be moved\n")
    ctx = ScriptedContext(await runtime_with(shell("mv here.txt there.txt")))
    await ctx.type("/undo T1 there.txt")
    assert "Taken back before, and with it now: there.txt.\n" in await ctx.type("/undo")
    await ctx.type("/redo")
    await ctx.type("/redo")
    assert read("there.txt") == "to be moved\n"


async def test_a_renamed_folder_is_put_back_file_by_file() -> None:
    Path("old").mkdir()
    for name in ("one", "two", "empty"):
        Path("old", name).write_text("" if name == "empty" else name)
    ctx = ScriptedContext(await runtime_with(shell("mv old new")))
    await ctx.type("/undo T1 new/one")
    assert read("old/one") == "one"
    assert read("new/two") == "two"
    await ctx.type("/undo T1 old/two")
    await ctx.type("/undo T1 old/empty")
    await ctx.type("/undo T1 new/empty")
    assert sorted(path.name for path in Path("old").iterdir()) == ["empty", "one", "two"]
    assert not Path("new").exists()
    for _ in range(4):
        await ctx.type("/redo")
    assert sorted(path.name for path in Path("new").iterdir()) == ["empty", "one", "two"]
    assert not Path("old").exists()


async def test_a_renamed_file_keeps_what_was_changed_since() -> None:
    Path("here.txt").write_text("to be moved\n")
    ctx = ScriptedContext(await runtime_with(shell("mv here.txt there.txt")))
    Path("there.txt").write_text("moved, and changed\n")
    await ctx.type("/undo T1 here.txt")
    assert read("here.txt") == "moved, and changed\n"
    assert not Path("there.txt").exists()


async def test_what_exists_again_or_was_changed_since_its_creation_is_refused() -> None:
    Path("gone.txt").write_text("gone\n")
    Path("moved.txt").write_text("moved\n")
    runtime = await runtime_with(shell("rm gone.txt; echo 1 > new.txt; mv moved.txt m.txt"))
    ctx = ScriptedContext(runtime)
    for name in ("gone.txt", "moved.txt", "new.txt"):
        Path(name).write_text("of the user\n")
    with pytest.raises(BadInput, match=r"gone.txt exists again"):
        await ctx.type("/undo T1 gone.txt")
    with pytest.raises(BadInput, match=r"moved.txt exists again"):
        await ctx.type("/undo T1 m.txt")
    with pytest.raises(BadInput, match=r"new.txt, which the turn created, was changed since"):
        await ctx.type("/undo T1 new.txt")
    assert read("gone.txt") == read("moved.txt") == read("new.txt") == "of the user\n"
    assert read("m.txt") == "moved\n"


async def test_a_binary_file_is_undone_only_as_a_whole() -> None:
    Path("image.bin").write_bytes(bytes(range(256)))
    ctx = ScriptedContext(await runtime_with(shell("printf '\\000\\001' >> image.bin")))
    with pytest.raises(BadInput, match=r"image.bin has no hunks: it is undone as a whole"):
        await ctx.type("/undo T1 image.bin 1")
    await ctx.type("/undo T1 image.bin")
    assert Path("image.bin").read_bytes() == bytes(range(256))
    await ctx.type("/redo")
    Path("image.bin").write_bytes(b"\0other")
    with pytest.raises(BadInput, match=r"image.bin was changed since, outside this session"):
        await ctx.type("/undo T1 image.bin")
    assert Path("image.bin").read_bytes() == b"\0other"


async def test_encoding_byte_order_mark_and_line_ends_are_kept() -> None:
    old = "# -*- coding: latin-1 -*-\r\n" + "".join(f"größe {n}\r\n" for n in range(30))
    Path("a.py").write_bytes(old.encode("latin-1"))
    Path("b.txt").write_bytes(b"\xef\xbb\xbf" + old.encode())
    ctx = ScriptedContext(
        await runtime_with(shell("sed -i 's/ 3\\r/ drei\\r/; s/ 20\\r/ zwanzig\\r/' a.py b.txt"))
    )
    for name in ("a.py", "b.txt"):
        await ctx.type(f"/undo T1 {name} 1")
    expected = old.replace(" 20\r", " zwanzig\r")
    assert Path("a.py").read_bytes() == expected.encode("latin-1")
    assert Path("b.txt").read_bytes() == b"\xef\xbb\xbf" + expected.encode()


async def test_names_with_blanks_and_odd_bytes_can_be_typed() -> None:
    odd = os.fsdecode(b"caf\xe9.txt")
    for name in ("two words.txt", odd):
        Path(name).write_text("1\n")
    command = 'for name in *; do echo 2 > "$name"; done'
    ctx = ScriptedContext(await runtime_with(shell(command)))
    await ctx.type("/undo T1 two words.txt")
    assert read("two words.txt") == "1\n"
    await ctx.type("/redo")
    await ctx.type('/undo T1 "two words.txt"')
    await ctx.type('/undo T1 "caf\\xe9.txt"')
    assert read("two words.txt") == read(odd) == "1\n"


async def test_what_names_no_piece_is_refused_with_what_there_is() -> None:
    ctx = await changed_twice()
    for line, message in {
        "/undo T1 b.txt": "T1 changed no file 'b.txt'.  It changed: a.txt",
        "/undo T1 a.txt 3": "Nothing was undone: a.txt has hunks 1 to 2.  See /diff T1",
        "/undo T7 a.txt": "There is no turn T7",
        "/undo T1": "Which file of T1?",
    }.items():
        with pytest.raises(SwecliError) as caught:
            await ctx.type(line)
        assert message in str(caught.value)
    for line in ("/undo 1 a.txt", "/undo a.txt"):
        with pytest.raises(UsageError, match=r"/undo T\d FILE"):
            await ctx.type(line)
    assert read() == BOTH


async def test_of_an_ignored_file_it_is_said_that_nothing_is_kept() -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".gitignore").write_text("dist/\n")
    ctx = ScriptedContext(await runtime_with(shell("mkdir dist; echo 1 > dist/out.js")))
    with pytest.raises(BadInput, match=r"Of dist/out.js no earlier content is kept"):
        await ctx.type("/undo T1 dist/out.js")


async def test_a_link_is_put_back_as_a_whole() -> None:
    Path("link").symlink_to("here")
    ctx = ScriptedContext(await runtime_with(shell("ln -sfn there link")))
    await ctx.type("/undo T1 link")
    assert Path("link").readlink() == Path("here")
    await ctx.type("/redo")
    assert Path("link").readlink() == Path("there")


async def test_a_read_only_file_is_refused() -> None:
    ctx = await changed_twice()
    Path("a.txt").chmod(0o444)
    with pytest.raises(BadInput, match=r"Nothing was undone: a.txt is read-only"):
        await ctx.type("/undo T1 a.txt 1")
    assert read() == BOTH


async def test_a_file_outside_the_workspace_is_never_written(tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.txt"
    ctx = await changed_twice()
    assert ctx.runtime.history is not None
    states = []
    for content in ("1\n", "2\n"):
        outside.write_text(content)
        states.append(ctx.runtime.history.files.versions.read_state(str(outside)))
    before, after = states
    recorded = FileChange(str(outside), before, after)
    ctx.runtime.sessions.file_changes.record(ctx.runtime.session, [recorded])
    with pytest.raises(BadInput, match="outside the workspace"):
        await ctx.type(f"/undo T1 {outside}")
    assert outside.read_text() == "2\n"


async def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    Path("sub").mkdir()
    Path("sub/a.txt").write_text("1\n")
    ctx = ScriptedContext(await runtime_with(shell("echo 2 > sub/a.txt")))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path("sub/a.txt").rename(elsewhere / "a.txt")
    Path("sub").rmdir()
    Path("sub").symlink_to(elsewhere)
    with pytest.raises(BadInput, match="reached through a link"):
        await ctx.type("/undo T1 sub/a.txt")
    assert (elsewhere / "a.txt").read_text() == "2\n"


async def test_the_model_is_told_once_with_the_next_message() -> None:
    ctx = await changed_twice()
    await ctx.type("/undo T1 a.txt 1")
    await ctx.type("/undo T1 a.txt 2")
    await ctx.type("/redo")
    request = str(ctx.runtime.agent.prepare("go on").request.messages)
    assert "The user took back a piece of T1: hunk 1 of a.txt (line 3)." in request
    assert "hunk 2 of a.txt" not in request
    assert "turn 1" in request
    ctx.runtime.agent.model = make_runtime(["fine"]).agent.model
    await run_turn(ctx.runtime, "go on")
    assert not ctx.runtime.session.undone_pieces
    with pytest.raises(BadInput, match="nothing to redo"):
        await ctx.type("/redo")


async def test_the_whole_turn_is_undone_after_a_piece_and_both_are_redone_in_order() -> None:
    ctx = await changed_twice()
    await ctx.type("/undo T1 a.txt 1")
    printed = await ctx.type("/undo")
    assert read() == FIRST
    assert "Taken back before, and with it now: hunk 1 of a.txt (line 3)." in printed
    await ctx.type("/redo")
    assert read() == ONLY_SECOND
    await ctx.type("/redo")
    assert read() == BOTH


async def test_an_undo_of_a_later_turn_leaves_a_piece_of_an_earlier_one_taken_back() -> None:
    Path("a.txt").write_text(FIRST)
    runtime = await runtime_with(
        edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\nand more\n")),
        edit("a.txt", ("line 30\n", "thirty\n")),
    )
    ctx = ScriptedContext(runtime)
    await ctx.type("/undo T1 a.txt 1")
    await ctx.type("/undo")
    assert read() == ONLY_SECOND
    await ctx.type("/undo")
    assert read() == FIRST
    for expected in (ONLY_SECOND, ONLY_SECOND.replace("line 30", "thirty")):
        await ctx.type("/redo")
        assert read() == expected
    await ctx.type("/redo")
    assert read() == BOTH.replace("line 30", "thirty")


async def test_a_piece_of_an_undone_turn_does_not_mark_the_next_turn_with_its_number() -> None:
    ctx = await changed_twice()
    await ctx.type("/undo T1 a.txt 1")
    await ctx.type("/undo")
    again = edit("a.txt", ("line 3\n", "three\n"), ("line 20\n", "twenty\nand more\n"))
    ctx.runtime.agent.model = make_runtime([again, "done"]).agent.model
    await run_turn(ctx.runtime, "once more")
    assert "taken back" not in await ctx.type("/diff T1")
    await ctx.type("/undo T1 a.txt 1")
    assert read() == ONLY_SECOND


async def test_a_commit_that_has_the_piece_is_named() -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], check=True, capture_output=True)

    git("init", "-q")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.org")
    ctx = await changed_twice()
    git("add", "a.txt")
    assert "git's index still has it: git reset -- a.txt" in await ctx.type("/undo T1 a.txt 1")
    await ctx.type("/redo")
    git("commit", "-qm", "both")
    printed = await ctx.type("/undo T1 a.txt 1")
    assert "still has it: git commit -- a.txt" in printed
    assert "still has it" in str(ctx.runtime.agent.prepare("go on").request.messages)
    Path("other").write_text("x")
    git("commit", "-qam", "put back")
    await ctx.type("/redo")
    git("checkout", "-q", "HEAD~1", "--", "a.txt")
    git("reset", "-q")


async def test_a_piece_that_cannot_be_stored_changes_no_file() -> None:
    ctx = await changed_twice()
    connection = ctx.runtime.sessions.database.connection
    connection.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="cannot be written"):
        await ctx.type("/undo T1 a.txt 1")
    connection.execute("PRAGMA query_only = 0")
    assert read() == BOTH
    await ctx.type("/undo T1 a.txt 1")
    assert read() == ONLY_SECOND


async def test_if_one_file_of_a_rename_cannot_be_restored_neither_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("sub").mkdir()
    Path("sub/here.txt").write_text("moved\n")
    ctx = ScriptedContext(await runtime_with(shell("mv sub/here.txt there.txt; rmdir sub")))
    Path("sub").write_text("a file where the folder was\n")
    with pytest.raises(BadInput, match="Nothing was undone: "):
        await ctx.type("/undo T1 there.txt")
    assert read("there.txt") == "moved\n"
    assert read("sub") == "a file where the folder was\n"
    with pytest.raises(BadInput, match="nothing to redo"):
        await ctx.type("/redo")
    Path("sub").unlink()
    await ctx.type("/undo T1 there.txt")
    assert read("sub/here.txt") == "moved\n"


async def test_turns_of_another_program_are_shown_before_a_piece_can_be_undone() -> None:
    ctx = await changed_twice()
    there = make_runtime(["there"], resume="", mode="auto", reflect_with_model=False)
    await run_turn(there, "elsewhere")
    there.close()
    printed = await ctx.type("/undo T1 a.txt 1")
    assert "nothing was changed: another swecli was in this session" in printed
    assert read() == BOTH
    await ctx.type("/undo T1 a.txt 1")
    assert read() == ONLY_SECOND


async def test_a_piece_that_another_program_took_back_is_named_and_the_model_is_told() -> None:
    here = await changed_twice()
    there = ScriptedContext(make_runtime(resume="", mode="auto", reflect_with_model=False))
    await there.type("/undo T1 a.txt 1")
    printed = await here.type("/undo T1 a.txt 2")
    assert "hunk 1 of a.txt (line 3) of T1 was undone in another swecli" in printed
    assert read() == ONLY_SECOND
    assert "hunk 1 of a.txt" in str(here.runtime.agent.prepare("go on").request.messages)
    await there.type("/redo")
    assert "(line 3) of T1 was redone in another swecli" in await here.type("/undo T1 a.txt 2")
    there.runtime.close()


async def test_turns_files_and_hunks_are_completed() -> None:
    Path("two words.txt").write_text("1\n")
    Path("a.txt").write_text(FIRST)
    lines = "sed -i 's/line 3$/three/; s/line 20$/20/' a.txt; echo 2 > 'two words.txt'"
    runtime = await runtime_with(shell(lines))
    undo = CommandTable.discover().find("undo")
    assert undo is not None
    assert undo.complete is not None
    assert undo.complete_further is not None
    assert ("T1", "turn 1") in undo.complete(runtime)
    assert undo.complete_further(runtime, "T1 ") == [
        ("T1 a.txt", "by commands"),
        ('T1 "two words.txt"', "by commands"),
    ]
    assert undo.complete_further(runtime, "T1 a.txt ")[2:] == [
        ("T1 a.txt 1", "line 3: - line 3"),
        ("T1 a.txt 2", "line 20: - line 20"),
    ]
    assert undo.complete_further(runtime, "2 fi") == []
    assert undo.complete_further(runtime, "T9 ") == []


KILLED = """
import asyncio, os, signal
from swecli.undo import history
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

def restore_nothing(*given):
    os.kill(os.getpid(), signal.SIGKILL)

history.restore_files = restore_nothing
runtime = make_runtime(resume="", mode="auto")
asyncio.run(ScriptedContext(runtime).type("{line}"))
"""


def kill_during(line: str) -> None:
    """Run a command in another process, which is killed between its record and its effect."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(line=line)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
async def test_a_piece_whose_undo_or_redo_was_killed_is_finished_at_the_next_start() -> None:
    (await changed_twice()).runtime.close()
    kill_during("/undo T1 a.txt 1")
    assert read() == BOTH
    again = make_runtime(resume="", mode="auto")
    assert read() == ONLY_SECOND
    assert any("a /undo that was cut off is finished now" in line for line in again.notices)
    assert [piece.hunk for piece in again.session.undone_pieces] == [1]
    again.close()
    kill_during("/redo")
    assert read() == ONLY_SECOND
    third = make_runtime(resume="", mode="auto")
    assert read() == BOTH
    assert any("a /redo that was cut off is finished now" in line for line in third.notices)
    third.close()


@pytest.mark.slow
async def test_a_piece_whose_file_changed_after_the_kill_is_dropped() -> None:
    (await changed_twice()).runtime.close()
    kill_during("/undo T1 a.txt 1")
    Path("a.txt").write_text("of the user\n")
    again = make_runtime(resume="", mode="auto")
    assert read() == "of the user\n"
    assert any(
        "a /undo that was cut off is dropped: it changed nothing" in line for line in again.notices
    )
    assert not again.session.undone_pieces
    again.close()


FULL = """
import asyncio, resource, signal
from pathlib import Path
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

async def main():
    runtime = make_runtime(resume="", mode="auto")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    folder = Path(runtime.sessions.database.path).parent
    largest = max(path.stat().st_size for path in folder.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 200_000,) * 2)
    try:
        await ScriptedContext(runtime).type("{line}")
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    runtime.close()

asyncio.run(main())
"""


def type_on_a_full_disk(line: str) -> str:
    """Run a command in another process, where no large file can be written. Returns what it said."""
    done = subprocess.run(
        [sys.executable, "-c", FULL.replace("{line}", line)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
async def test_a_redo_on_a_full_disk_changes_nothing_and_works_later() -> None:
    Path("long").write_text("before")
    runtime = await runtime_with(shell("yes | head -c 6000000 > long"))
    await ScriptedContext(runtime).type("/undo T1 long")
    runtime.close()
    said = type_on_a_full_disk("/redo")
    assert "Nothing was redone: long is not restored: File too large." in said
    assert read("long") == "before"
    again = ScriptedContext(make_runtime(resume="", mode="auto"))
    await again.type("/redo")
    assert Path("long").stat().st_size == 6_000_000
    await again.type("/undo T1 long")
    assert read("long") == "before"


@pytest.mark.slow
async def test_on_a_full_disk_a_piece_is_refused_in_one_line_and_works_later() -> None:
    Path("long").write_bytes(b"before" * 1_000_000)
    (await runtime_with(shell("printf turn > long"))).close()
    said = type_on_a_full_disk("/undo T1 long")
    assert "Nothing was undone: long is not restored: File too large." in said
    assert read("long") == "turn"
    again = ScriptedContext(make_runtime(resume="", mode="auto"))
    with pytest.raises(BadInput, match="nothing to redo"):
        await again.type("/redo")
    await again.type("/undo T1 long")
    assert Path("long").read_bytes() == b"before" * 1_000_000
