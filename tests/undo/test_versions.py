"""Test file versions: scans are cheap, storage is bounded and omitted files are reported; and the files that calls
leave behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from swecli.folders import remove_tree
from swecli.store.undo_records import FileState
from swecli.undo.versions import NOT_STORED, FileVersions
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn


def open_versions(tmp_path: Path, **limits: Any) -> FileVersions:
    return FileVersions(Path.cwd(), tmp_path / "versions", dict(os.environ), **limits)


@pytest.fixture
def versions(tmp_path: Path) -> FileVersions:
    return open_versions(tmp_path)


def content(versions: FileVersions, state: FileState) -> bytes | None:
    return versions.load(state.digest)


def test_a_scan_reads_only_changed_files_even_in_a_new_process(
    tmp_path: Path, versions: FileVersions
) -> None:
    for number in range(300):
        Path(f"f{number}").write_text(str(number))
    past = time.time() - 100
    for path in Path.cwd().iterdir():
        os.utime(path, (past, past))
    time.sleep(0.06)  # Otherwise they may change again within one tick of the clock.
    versions.scan()
    again = open_versions(tmp_path)
    read: list[str] = []
    keep = again._state

    def note(path: str, status: os.stat_result) -> FileState:
        read.append(path)
        return keep(path, status)

    again._state = note  # type: ignore[method-assign]
    Path("f7").write_text("other")
    assert content(versions, again.scan()[str(Path("f7").absolute())]) == b"other"
    assert read == [str(Path("f7").absolute())]


def test_a_change_that_keeps_size_and_modification_time_is_detected(versions: FileVersions) -> None:
    Path("a").write_text("one")
    status = Path("a").stat()
    before = versions.scan()
    time.sleep(0.06)
    Path("a").write_text("two")
    os.utime("a", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert versions.scan() != before


def test_versions_unused_for_40_days_are_removed_with_one_notice(
    tmp_path: Path, versions: FileVersions
) -> None:
    Path("a").write_text("old")
    Path("b").write_text("new")
    old, new = (
        versions.read_state(str(Path("a").absolute())),
        versions.read_state(str(Path("b").absolute())),
    )
    past = time.time() - 40 * 86_400
    os.utime(tmp_path / "versions" / old.digest[:2] / old.digest[2:], (past, past))
    versions.prune()
    versions.prune()
    assert (content(versions, old), content(versions, new)) == (None, b"new")
    assert len(versions.notices) == 1


def test_a_damaged_version_has_no_content(tmp_path: Path, versions: FileVersions) -> None:
    Path("a").write_text("whole")
    state = versions.read_state(str(Path("a").absolute()))
    (tmp_path / "versions" / state.digest[:2] / state.digest[2:]).write_bytes(b"x")
    assert content(versions, state) is None


def test_a_scan_over_the_limit_of_files_is_incomplete_and_reports_it(tmp_path: Path) -> None:
    versions = open_versions(tmp_path, max_files=3)
    for name in "abcdef":
        Path(name).write_text(name)
    assert len(versions.scan()) == 3
    assert not versions.is_complete
    assert any("more than 3 files" in line for line in versions.notices)


def test_files_over_the_limit_of_bytes_are_recorded_without_content_and_reported_once(
    tmp_path: Path,
) -> None:
    versions = open_versions(tmp_path, max_bytes=5)
    for name in "abc":
        Path(name).write_text(name * 4)
    states = versions.scan().values()
    assert sorted(state.digest.startswith(NOT_STORED) for state in states) == [False, True, True]
    assert len(versions.notices) == 1


def test_only_the_user_can_access_the_version_folder_and_its_files(
    tmp_path: Path, versions: FileVersions
) -> None:
    Path("secret").write_text("key")
    versions.scan()
    modes = {
        path.stat().st_mode & 0o777 for path in (tmp_path / "versions").rglob("*") if path.is_file()
    }
    assert modes == {0o600}
    assert (tmp_path / "versions").stat().st_mode & 0o777 == 0o700


def test_a_file_name_that_is_not_utf8_is_scanned_like_any_other(versions: FileVersions) -> None:
    name = os.fsdecode(b"bad\xff")
    Path(name).write_text("x")
    assert [Path(path).name for path in versions.scan()] == [name]
    assert versions.notices == []


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Linux only")
def test_a_restored_file_keeps_its_extended_attributes(versions: FileVersions) -> None:
    file = Path("f").absolute()
    file.write_text("one")
    try:
        os.setxattr(file, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    before = versions.scan()[str(file)]
    file.write_text("two")
    versions.restore(file, before)
    assert file.read_text() == "one"
    assert os.getxattr(file, "user.note") == b"mine"


async def test_undo_restores_a_file_changed_by_an_interrupted_command() -> None:
    Path("a").write_text("before")
    run = calls(("run_command", {"command": "echo turn > a; sleep 60"}))
    runtime = make_runtime([run, "never"], mode="auto", reflect_with_model=False)
    turn = asyncio.create_task(run_turn(runtime, "wait", learn=False))
    while Path("a").read_text() == "before":
        await asyncio.sleep(0.02)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    await ScriptedContext(runtime).type("/undo")
    assert Path("a").read_text() == "before"
    runtime.close()


@pytest.mark.slow
async def test_undone_turns_are_not_listed_and_are_deleted_with_their_session() -> None:
    Path("a").write_text("before")
    runtime = make_runtime(
        [calls(("write_file", {"path": "b", "content": "x"})), "done"] * 2, mode="auto"
    )
    await run_turn(runtime, "first")
    await run_turn(runtime, "second words")
    await ScriptedContext(runtime).type("/undo")
    session = runtime.sessions.current_session
    assert session is not None
    assert [info.id for info in runtime.sessions.catalog.list_sessions()] == [session.id]
    runtime.new_session()
    runtime.sessions.delete(session.id)
    assert runtime.sessions.catalog.search("words") == []
    assert runtime.sessions.catalog.list_sessions() == []
    runtime.close()


def test_empty_folders_of_any_depth_are_scanned(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    code = "import os\nfor _ in range(2200): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
    try:
        states = FileVersions(root, tmp_path / "versions", os.environ).scan()
        assert f"{root}/{'d/' * 1_500}d" in states
    finally:
        remove_tree(f"{root}/d")  # pytest cannot
