"""Test checking a database."""

from __future__ import annotations

import pytest

from swecli.models.errors import DamagedDatabase
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database


def ask(manager: SessionManager, query: str) -> None:
    if manager.current_session is None:
        manager.start("/p", "scripted/test")
    manager.begin_interaction(query)


def test_a_healthy_database_has_no_problems(manager: SessionManager) -> None:
    ask(manager, "hello")
    manager.rename("a title")
    manager.rename("another title")
    assert manager.database.check() == []


def test_each_problem_is_one_line(manager: SessionManager) -> None:
    ask(manager, "hello")
    with manager.database.transaction() as db:
        db.connection().exec_driver_sql("DROP TRIGGER message_fts_insert")
    ask(manager, "unindexed")
    with manager.database.reading() as db:
        db.connection().exec_driver_sql("COMMIT")
        db.connection().exec_driver_sql("PRAGMA foreign_keys = OFF")
        db.connection().exec_driver_sql("DELETE FROM session")
    problems = manager.database.check()
    assert "search: the index of message did not match it and was rebuilt" in problems
    assert "references: a row of message belongs to no session" in problems


def test_check_rebuilds_a_damaged_search_index(manager: SessionManager) -> None:
    ask(manager, "needle")
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
