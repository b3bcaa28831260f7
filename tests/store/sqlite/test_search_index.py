"""Test that triggers and views that others put into the database do not run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.errors import DamagedDatabase
from swecli.store.sqlite.database import Database
from swecli.store.views import copy_with_views
from tests.support.databases import open_database

COPY = "BEGIN INSERT INTO theirs SELECT new.content; END"
FOREIGN = {
    "a trigger": f"CREATE TRIGGER spy AFTER INSERT ON message {COPY}",
    "a trigger in place of our own": f"CREATE TRIGGER message_fts_insert AFTER INSERT ON message {COPY}",
    "a view": "CREATE VIEW spy AS SELECT content FROM message",
    "a view by the name of one of our own": "CREATE VIEW sessions AS SELECT content FROM message",
}


def plant(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (text)")
        if "message_fts_insert" in statement:
            connection.execute("DROP TRIGGER message_fts_insert")
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_with_code_of_others_is_refused_and_not_changed(path: Path, kind: str) -> None:
    open_database(path).close()
    plant(path, FOREIGN[kind])
    was = path.read_bytes()
    name = FOREIGN[kind].split()[2]
    with pytest.raises(DamagedDatabase, match=f"that swecli did not make: '{name}'"):
        open_database(path)
    assert path.read_bytes() == was


def test_code_of_others_does_not_run_in_an_upgrade(path: Path) -> None:
    open_database(path).close()
    plant(path, FOREIGN["a trigger"])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 8")
    with pytest.raises(DamagedDatabase, match="did not make"):
        open_database(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (8,)


def test_a_copy_with_views_can_be_opened(database: Database, tmp_path: Path) -> None:
    copy = copy_with_views(database, tmp_path / "copy.db")
    open_database(copy).close()
