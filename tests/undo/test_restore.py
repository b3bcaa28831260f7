"""Test that files are restored where they were, whatever their names are, and nowhere else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    assert plan.ready_changes == []
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


NAMES = ["a", "d/b", "d/e/c"]
# what may happen to a file that a turn changed, or to its folder, before it is undone
EVENTS = {
    "a folder becomes a link out": "mv d moved; ln -s ../outside d",
    "a folder deep down becomes a link out": "mv d/e moved-e; ln -s ../../outside d/e",
    "a folder becomes a link to what git runs": "mv d moved-d; ln -s .git/hooks d",
    "a file becomes a link out": "rm -f a; ln -s ../outside/b a",
    "a file becomes a link to what git runs": "rm -f d/b; ln -s ../.git/hooks/pre-commit d/b",
    "a file becomes another name of one outside": "rm -f d/b; ln ../outside/b d/b",
    "a folder becomes a file": "rm -rf d; echo x > d",
    "a file becomes a folder": "rm -f a; mkdir a",
    "all is gone": "rm -rf a d",
    "the workspace becomes a link out": "cd ..; mv work work-moved; ln -s outside work",
}


def digest(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of each file and link below some folders."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (path.lstat().st_mode, content)
    return found


@settings(max_examples=40)
@given(
    kinds=st.lists(
        st.sampled_from(["written", "made", "removed"]),
        min_size=len(NAMES), max_size=len(NAMES),
    ),
    events=st.lists(st.sampled_from(sorted(EVENTS)), max_size=3, unique=True),
)  # fmt: skip
def test_nothing_is_restored_outside_or_by_way_of_a_link(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], events: list[str]
) -> None:
    top = tmp_path_factory.mktemp("undo").resolve()
    root = top / "work"
    outside = top / "outside"
    hooks = root / ".git/hooks"
    for folder in (outside / "e", hooks, root / "d/e"):
        folder.mkdir(parents=True)
    for place in (outside / "a", outside / "b", outside / "e/c", hooks / "pre-commit", hooks / "b"):
        place.write_text("not the turn's\n")
    versions = FileVersions(root, top / "versions", None)
    changes = []
    for name, kind in zip(NAMES, kinds, strict=True):
        path = root / name
        if kind != "made":
            path.write_text("before\n")
        target = versions.read_state(str(path))
        if kind == "removed":
            path.unlink()
        else:
            path.write_text("after\n")
        changes.append(FileChange(str(path), target, versions.read_state(str(path))))
    for event in events:
        subprocess.run(["sh", "-c", EVENTS[event]], cwd=root, capture_output=True, check=False)
    others = [outside, *(path for path in top.rglob("hooks") if not path.is_symlink())]
    before = digest(*others)

    plan = plan_restore(changes, versions)
    restored = restore_files([*plan.ready_changes, *plan.conflicts], versions)

    assert digest(*others) == before
    for change in restored.changes:
        path = Path(change.path)
        assert path.parent.resolve() == path.parent
        assert path.parent.is_relative_to(root)
        assert versions.read_state(change.path) == change.after
