"""Test checking and copying a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from tests.support.databases import open_database


def say(manager: SessionManager, text: str) -> None:
    if manager.current_session is None:
        manager.start("/p", "scripted/test")
    manager.begin_interaction(text)


def test_a_healthy_database_has_no_problems(manager: SessionManager) -> None:
    say(manager, "hello")
    manager.rename("a title")
    manager.rename("another title")
    assert manager.database.check() == []


def test_each_problem_is_one_line(manager: SessionManager) -> None:
    say(manager, "hello")
    with manager.database.transaction() as db:
        db.connection().exec_driver_sql("DROP TRIGGER message_fts_insert")
    say(manager, "unindexed")
    with manager.database.reading() as db:
        db.connection().exec_driver_sql("COMMIT")
        db.connection().exec_driver_sql("PRAGMA foreign_keys = OFF")
        db.connection().exec_driver_sql("DELETE FROM session")
    problems = manager.database.check()
    assert "search: the index of message did not match it and was rebuilt" in problems
    assert "references: a row of message belongs to no session" in problems


def test_a_backup_is_one_complete_private_file(manager: SessionManager, path: Path) -> None:
    say(manager, "hello")
    copy = manager.database.backup()
    assert copy.parent == path.parent
    assert copy.name.startswith("swecli.db.backup-")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert not Path(f"{copy}-wal").exists()
    say(manager, "later")
    other = SessionManager(open_database(copy))
    assert [message.content for message in other.resume(None, "/p").messages] == ["hello"]
    other.database.close()


def test_a_backup_is_written_to_the_given_file_or_folder(
    manager: SessionManager, tmp_path: Path
) -> None:
    say(manager, "hello")
    assert manager.database.backup(tmp_path / "here.db") == tmp_path / "here.db"
    assert manager.database.backup(tmp_path).parent == tmp_path


def test_a_backup_does_not_overwrite_a_file(manager: SessionManager, tmp_path: Path) -> None:
    (tmp_path / "here.db").write_text("mine")
    with pytest.raises(BadInput, match="already"):
        manager.database.backup(tmp_path / "here.db")
    assert (tmp_path / "here.db").read_text() == "mine"


def test_a_backup_that_cannot_be_written_leaves_no_file(
    manager: SessionManager, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        manager.database.backup(tmp_path / "no" / "such" / "folder.db")
    assert not (tmp_path / "no").exists()


def test_a_database_in_memory_can_be_backed_up_only_to_a_given_path(
    memory: Database, tmp_path: Path
) -> None:
    with pytest.raises(BadInput):
        memory.backup()
    assert memory.backup(tmp_path / "copy.db").exists()


def test_check_rebuilds_a_damaged_search_index(manager: SessionManager) -> None:
    say(manager, "needle")
    with manager.database.transaction() as db:
        db.connection().exec_driver_sql("DELETE FROM message_fts_data WHERE id > 10")
    with pytest.raises(DamagedDatabase, match="damaged") as caught:
        manager.catalog.search("needle")
    assert "db check" in caught.value.hint
    manager.database.close()
    again = SessionManager(open_database(manager.database.path or ""))
    assert again.database.check() == [
        "search: the index of message did not match it and was rebuilt"
    ]
    assert again.database.check() == []
    assert len(again.catalog.search("needle")) == 1
    again.database.close()
