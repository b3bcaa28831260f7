"""Test that files are restored where they were, whatever their names are, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.folders import make_folders, remove_tree
from swecli.store.undo_records import FileChange, FileState
from swecli.undo.restore import plan_restore, restore_files
from swecli.undo.versions import FileVersions
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn

LATIN_1 = os.fsdecode(b"d\xfcr")


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def test_in_a_folder_whose_name_is_not_utf8_edits_and_commands_are_undone_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "all" / LATIN_1
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    Path("f.txt").write_text("1")
    Path(LATIN_1).write_text("kept")
    before = below(folder.parent)
    change = {"path": "f.txt", "edits": [{"old_text": "1", "new_text": "2"}]}
    command = {"command": "echo 3 > f.txt; rm d*; mkdir $(printf 'x\\377'); cd x*; echo 1 > y"}
    replies = [calls(("edit_file", change)), "done", calls(("run_command", command)), "done"]
    runtime = make_runtime(replies, mode="auto", reflect_with_model=False)
    await run_turn(runtime, "edit it")
    await run_turn(runtime, "change more")
    after = below(folder.parent)
    runtime.close()
    again = make_runtime(resume="", mode="auto")
    assert len(again.sessions.catalog.list_sessions(str(again.cwd))) == 1
    ctx = ScriptedContext(again)  # nothing to be asked
    printed = await ctx.type("/undo 2")
    assert below(folder.parent) == before
    assert (Path("f.txt").read_text(), Path(LATIN_1).read_text()) == ("1", "kept")
    assert r'files: "d\xfcr", f.txt, "x\xff", "x\xff/y"' in printed
    await ctx.type("/redo")
    assert below(folder.parent) == after
    again.close()


def test_no_folder_is_made_outside_the_workspace_that_no_turn_had_made(tmp_path: Path) -> None:
    versions = FileVersions(Path.cwd(), tmp_path / "versions", None)
    Path("f.txt").write_text("1")
    state = versions.read_state(str(Path("f.txt").absolute()))
    mended = tmp_path / "d\ufffdr" / "f.txt"  # as an older version stored it
    plan = plan_restore([FileChange(str(mended), state, FileState())], versions)
    assert list(plan.unrecoverable.values()) == [
        "its folder, outside the workspace, does not exist"
    ]
    assert plan.ready == []
    assert plan.conflicts == []


def test_a_restoring_that_was_cut_off_is_completed_by_a_second_one(tmp_path: Path) -> None:
    versions = FileVersions(Path.cwd(), tmp_path / "versions", None)
    changes = []
    for name in "ab":
        path = Path(name).absolute()
        path.write_text("before")
        target = versions.read_state(str(path))
        path.write_text("after")
        changes.append(FileChange(str(path), versions.read_state(str(path)), target))
    Path("a").write_text("before")  # was restored already
    restored = restore_files(changes, versions)
    assert restored.changes == changes
    assert restored.failed == {}
    assert (Path("a").read_text(), Path("b").read_text()) == ("before", "before")


def test_a_file_is_restored_whose_folders_are_gone_however_deep_it_lay(tmp_path: Path) -> None:
    versions = FileVersions(Path.cwd(), tmp_path / "versions", None)
    path = Path(f"{Path.cwd()}{'/d' * 1_800}/f.txt")
    try:
        make_folders(str(path.parent))
        path.write_text("before")
        target = versions.read_state(str(path))
        remove_tree(f"{Path.cwd()}/d")
        restored = restore_files([FileChange(str(path), FileState(), target)], versions)
        assert restored.failed == {}
        assert path.read_text() == "before"
    finally:
        remove_tree(f"{Path.cwd()}/d")  # pytest cannot


async def test_a_file_in_another_encoding_is_shown_as_text_and_gets_its_bytes_back() -> None:
    data = "Le café\r\nfin\n".encode("cp1252")
    Path("f.txt").write_bytes(data)
    change = {"path": "f.txt", "edits": [{"old_text": "Le café", "new_text": "Très bon café"}]}
    runtime = make_runtime(
        [calls(("edit_file", change)), "done"], mode="auto", reflect_with_model=False
    )
    await run_turn(runtime, "edit it")
    assert Path("f.txt").read_bytes() == "Très bon café\r\nfin\n".encode("cp1252")
    ctx = ScriptedContext(runtime)
    assert "+ Très bon café" in await ctx.type("/diff")
    await ctx.type("/undo")
    assert Path("f.txt").read_bytes() == data
