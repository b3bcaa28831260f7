"""A database that is deleted, moved, replaced, cut off or emptied: nothing is lost without a word."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.errors import DamagedDatabase, StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite import maintenance
from swecli.store.sqlite.database import open_database
from tests.store.test_session_manager import turn

ROOT = Path(__file__).parents[3]


def said(path: Path) -> list[str]:
    """What the newest session of a database holds, read by a process of its own."""
    manager = SessionManager(open_database(path))
    try:
        assert maintenance.check(manager.database) == []
        return [message.content for message in manager.resume(None, "/p").messages]
    finally:
        manager.database.close()


@pytest.mark.parametrize("with_journals", [True, False])
def test_a_deleted_file_is_saved_again_with_all_that_was_in_it(manager: SessionManager, with_journals: bool) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    for side in ("", "-wal", "-shm") if with_journals else ("",):
        Path(f"{path}{side}").unlink()
    turn(manager, "after")
    [notice] = manager.database.unreported()
    assert "was deleted or moved away while swecli ran" in notice
    turn(manager, "once more")
    assert manager.database.unreported() == []
    assert said(path) == ["before", "done", "after", "done", "once more", "done"]


def test_a_moved_file_is_saved_again_and_the_moved_one_is_left_alone(manager: SessionManager, tmp_path: Path) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    path.rename(tmp_path / "elsewhere.db")
    turn(manager, "after")
    assert said(path) == ["before", "done", "after", "done"]


def test_a_replaced_file_is_not_touched_and_the_session_goes_on_beside_it(manager: SessionManager) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    other = SessionManager(open_database(path.with_name("other.db")))
    other.start("/p", "demo")
    turn(other, "of another")
    other.database.close()
    path.with_name("other.db").replace(path)
    turn(manager, "after")
    [notice] = manager.database.unreported()
    [kept] = [
        file for file in path.parent.glob("swecli.db.kept-*") if not file.name.endswith(("-wal", "-shm", "-lock"))
    ]
    assert str(kept) in notice
    assert said(kept) == ["before", "done", "after", "done"]
    assert said(path)[:2] == ["of another", "done"]


def test_a_file_that_cannot_be_saved_again_stops_the_turns(manager: SessionManager, tmp_path: Path) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    shutil.rmtree(path.parent)
    path.parent.write_text("a file where the folder was")
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be saved again"):
            manager.begin_interaction("after")
    path.parent.unlink()
    turn(manager, "later")
    assert said(path) == ["before", "done", "later", "done"]


def test_a_file_that_is_cut_off_is_not_written_any_more(manager: SessionManager) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    for number in range(30):
        turn(manager, f"{number} " + "x" * 20_000)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    turn(manager, "seen whole")
    os.truncate(path, 40_960)
    for _ in range(2):
        with pytest.raises(DamagedDatabase, match="was cut off while swecli ran: 40,960 of"):
            manager.begin_interaction("after")


def test_a_file_that_sqlite_made_smaller_is_sound(manager: SessionManager) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    for number in range(30):
        turn(manager, f"{number} " + "x" * 20_000)
    gone = manager.current_session
    assert gone
    manager.start("/p", "demo")
    turn(manager, "stays")
    manager.delete(gone.id)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("VACUUM")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    turn(manager, "goes on")
    assert manager.database.unreported() == []
    assert said(path) == ["stays", "done", "goes on", "done"]


def test_an_empty_file_is_named_and_its_journal_kept(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    Path(f"{path}-wal").write_bytes(b"pages")
    shutil.copy(path, f"{path}.backup-20260101-000000")
    with pytest.raises(DamagedDatabase, match=r"is empty \(0 bytes\).*Older copies lie beside it: swecli.db.backup-"):
        open_database(path, to_read=True)
    database = open_database(path)
    [notice] = database.unreported()
    database.close()
    assert "is empty (0 bytes)" in notice
    [kept] = path.parent.glob("swecli.db.empty-*-wal")
    assert str(kept) in notice
    assert kept.read_bytes() == b"pages"
    assert open_database(path).notices == []


def test_a_journal_without_its_database_is_never_taken_for_a_new_ones(path: Path) -> None:
    manager = SessionManager(open_database(path))
    manager.start("/p", "demo")
    turn(manager, "before")
    shutil.copy(f"{path}-wal", f"{path}.copy")  # as a kill -9 leaves it
    manager.database.close()
    path.unlink()
    shutil.move(f"{path}.copy", f"{path}-wal")
    database = open_database(path)
    [notice] = database.unreported()
    assert "was gone" in notice
    assert maintenance.check(database) == []
    assert SessionManager(database).list_sessions() == []
    database.close()
    assert len(list(path.parent.glob("swecli.db.lost-*-wal"))) == 1


OPENING = """
import sys
from swecli.store.sqlite.database import open_database
print(*open_database(sys.argv[1]).notices)
"""


@pytest.mark.slow
def test_processes_that_make_it_at_once_make_one_and_call_nothing_empty(path: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(path)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[0].strip(), process.returncode) for process in started] == [("", 0)] * 4
    assert [file.name for file in path.parent.iterdir() if ".new-" in file.name] == []
