"""Test a database file that is deleted, moved, replaced or truncated: nothing is lost silently."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.models.errors import DamagedDatabase, StoreError
from swecli.store.session_manager import SessionManager
from tests.store.test_session_manager import turn
from tests.support.databases import open_database

ROOT = Path(__file__).parents[3]


def stored_texts(path: Path) -> list[str]:
    """Reopen the database and return the message texts of its newest session."""
    manager = SessionManager(open_database(path))
    try:
        assert manager.database.check() == []
        return [message.content for message in manager.resume(None, "/p").messages]
    finally:
        manager.database.close()


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_turns_fail_after_the_database_file_was_deleted_moved_or_replaced(
    manager: SessionManager, what: str
) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    aside = path.with_name("aside.db")
    path.rename(aside)
    if what == "replaced":
        path.write_bytes(aside.read_bytes())
    for _ in range(2):
        with pytest.raises(StoreError, match="was deleted, moved or replaced while swecli ran"):
            manager.begin_interaction("after")
    assert manager.current_session
    assert [message.content for message in manager.current_session.messages] == ["before", "done"]
    if what == "moved":
        aside.rename(path)
        turn(manager, "later")
        assert stored_texts(path) == ["before", "done", "later", "done"]


def test_the_journal_of_a_lost_database_is_not_used_for_a_new_one(path: Path) -> None:
    manager = SessionManager(open_database(path))
    manager.start("/p", "demo")
    turn(manager, "before")
    shutil.copy(f"{path}-wal", f"{path}.copy")  # as after kill -9
    manager.database.close()
    aside = path.rename(f"{path}.aside")
    shutil.copy(f"{path}.copy", f"{path}-wal")
    for empty in (False, True):
        if empty:
            path.touch()
        with pytest.raises(
            DamagedDatabase, match=r"is empty \(0 bytes\)" if empty else "is gone"
        ) as caught:
            open_database(path)
        assert f"{path}-wal" in caught.value.hint
    assert Path(f"{path}-wal").read_bytes() == Path(f"{path}.copy").read_bytes()
    aside.replace(path)
    assert stored_texts(path) == ["before", "done"]


def test_an_empty_old_file_is_reported_and_a_new_one_is_not(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    open_database(path).close()
    other = path.with_name("old.db")
    other.touch()
    os.utime(other, (1, 1))
    database = open_database(other)
    assert "is empty (0 bytes)" in database.notices[0]
    database.close()


OPENING = """
import sys
from swecli.store.sqlite.database import open_database
print(*open_database(sys.argv[1]).notices)
"""


@pytest.mark.slow
def test_concurrent_processes_create_one_database_without_notices(path: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(path)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [(process.communicate()[0].strip(), process.returncode) for process in started] == [
        ("", 0)
    ] * 4
