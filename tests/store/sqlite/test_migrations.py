"""Test migrating the database from each schema version to the next."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from swecli.models.errors import StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.files import APPLICATION_ID
from swecli.store.sqlite.migrations import RELEASED, STEPS, newest_format
from tests.support.databases import ROOT, open_database


def add_colour(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'")


def do_nothing(connection: Connection) -> None:
    pass


def fail_after_a_change(connection: Connection) -> None:
    add_colour(connection)
    raise ValueError("the step is wrong")


def make_database(path: Path) -> None:
    manager = SessionManager(open_database(path))
    manager.start("/p", "scripted/test")
    manager.begin_interaction("before the upgrade")
    manager.database.close()


def query(path: Path, question: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


def backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob("swecli.db.before-*"))


def recorded_schema(version: int) -> str:
    """Return the recorded schema of that version."""
    return Path(__file__).with_name(f"shape_{version}.sql").read_text(encoding="utf-8")


def test_a_new_database_has_the_newest_schema_and_no_backup(path: Path) -> None:
    # Steps migrate rows, of which a new database has none.
    database = open_database(path, steps=(*STEPS, fail_after_a_change))
    database.close()
    assert query(path, "PRAGMA user_version") == [(newest_format() + 1,)]
    assert query(path, "SELECT first_query FROM session") == []
    assert backups(path) == []
    assert database.notices == []


def test_an_upgrade_keeps_the_rows_and_a_backup_of_the_old_file(path: Path) -> None:
    make_database(path)
    database = open_database(path, steps=(*STEPS, add_colour))
    database.close()
    assert query(path, "SELECT first_query, colour FROM session") == [
        ("before the upgrade", "grey")
    ]
    [copy] = backups(path)
    assert query(copy, "PRAGMA user_version") == [(newest_format(),)]
    assert query(copy, "SELECT first_query FROM session") == [("before the upgrade",)]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert str(copy) in database.notices[0]


def test_an_upgrade_is_made_once(path: Path) -> None:
    make_database(path)
    for _ in range(3):
        open_database(path, steps=(*STEPS, add_colour)).close()
    assert len(backups(path)) == 1


HOLDING = """
import sys
from swecli.store.sqlite.database import open_database
database = open_database(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
UPGRADING = """
import sys
from swecli.store.sqlite import database
from swecli.store.sqlite.migrations import STEPS
with_a_step = (*STEPS, lambda connection: connection.exec_driver_sql("UPDATE session SET first_query = 'new'"))
print(len(database.open_database(sys.argv[1], steps=with_a_step).notices))
"""


def start(program: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_no_database_is_upgraded_while_an_older_program_has_it_open(path: Path) -> None:
    make_database(path)
    with start(HOLDING, path) as older:
        assert older.stdout
        older.stdout.readline()
        with pytest.raises(StoreError, match="is open in an older swecli") as caught:
            open_database(path, steps=(*STEPS, add_colour))
        assert "End that one and start again" in caught.value.hint
        assert query(path, "PRAGMA user_version") == [(newest_format(),)]
        assert backups(path) == []
        older.communicate()
    open_database(path, steps=(*STEPS, add_colour)).close()
    assert query(path, "PRAGMA user_version") == [(newest_format() + 1,)]


@pytest.mark.slow
def test_programs_that_start_together_upgrade_a_database_once(path: Path) -> None:
    make_database(path)
    started = [start(UPGRADING, path) for _ in range(4)]
    outcomes = [(process.communicate()[0].strip(), process.returncode) for process in started]
    assert sorted(outcomes) == [("0", 0), ("0", 0), ("0", 0), ("1", 0)]
    assert query(path, "SELECT first_query FROM session") == [("new",)]


def test_a_failed_step_leaves_the_database_unchanged(path: Path) -> None:
    make_database(path)
    with pytest.raises(ValueError, match="the step is wrong"):
        open_database(path, steps=(*STEPS, fail_after_a_change))
    assert query(path, "PRAGMA user_version") == [(newest_format(),)]
    manager = SessionManager(open_database(path))
    assert manager.resume(None, "/p").messages[0].content == "before the upgrade"
    manager.database.close()


def test_a_database_with_unknown_steps_is_refused(path: Path) -> None:
    open_database(path, steps=(*STEPS, add_colour)).close()
    with pytest.raises(
        StoreError, match=f"format {newest_format() + 1}; this one reads up to {newest_format()}"
    ):
        open_database(path)


def test_the_schema_equals_the_recorded_one(path: Path) -> None:
    """The recorded schema is that of released databases: a change of the tables needs a migration step and a new
    record."""
    open_database(path).close()
    rows = query(
        path,
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '%fts_%' ORDER BY type, name",
    )
    schema = "\n".join(" ".join(str(row[0]).split()) for row in rows) + "\n"
    assert schema == recorded_schema(newest_format())


def test_a_database_from_before_the_first_release_is_refused_unchanged(path: Path) -> None:
    make_database(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 18")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"before 0\.2\.0 \(format 18"):
        open_database(path)
    assert path.read_bytes() == before


def columns(connection: sqlite3.Connection) -> dict[str, set[tuple[object, ...]]]:
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'index')"
        )
    ]
    return {
        name: {
            tuple(row[1:4])
            for row in connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,))
        }
        | {
            tuple(row[2:3])
            for row in connection.execute("SELECT * FROM pragma_index_info(?)", (name,))
        }
        for name in names
        if "autoindex" not in name
    }


VALUES = {"TEXT": "x", "JSON": "null", "DATETIME": "2026-01-01 00:00:00"}  # 1 for any other type


def insert_a_row_into_each_table(connection: sqlite3.Connection) -> dict[str, int]:
    """Insert a row with the required values into each table; return the number of rows per table."""
    named = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'"
    )
    tables = [row[0] for row in named if row[0] != "sqlite_sequence"]
    for table in tables:
        rows = connection.execute(
            'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)', (table,)
        )
        needed = {
            name: VALUES.get(kind, 1)
            for name, kind, must, default in rows
            if must and default is None
        }
        columns, marks = ", ".join(f'"{name}"' for name in needed), ", ".join("?" * len(needed))
        connection.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(needed.values())
        )
    return count(connection, tables)


def count(connection: sqlite3.Connection, tables: Iterable[str]) -> dict[str, int]:
    return {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables
    }


@pytest.mark.parametrize("version", range(RELEASED, newest_format() + 1))
@pytest.mark.slow
def test_every_older_schema_is_upgraded_to_the_newest(
    path: Path, tmp_path: Path, version: int
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    open_database(new).close()
    with closing(sqlite3.connect(old)) as connection:
        ready = [
            line for line in recorded_schema(version).splitlines() if "sqlite_sequence" not in line
        ]
        for line in sorted(ready, key=lambda line: line.startswith("CREATE INDEX")):
            connection.execute(line)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        rows = insert_a_row_into_each_table(connection)
        connection.commit()
    database = open_database(old)
    # The recorded schemas lack the triggers that fill the search index.
    assert [line for line in database.check() if not line.startswith("search:")] == []
    database.close()
    with closing(sqlite3.connect(old)) as one, closing(sqlite3.connect(new)) as other:
        assert columns(one) == columns(other)
        assert count(one, rows) == rows


def test_a_step_without_changes_only_raises_the_version(path: Path) -> None:
    make_database(path)
    before = query(path, "SELECT sql FROM sqlite_master ORDER BY name")
    open_database(path, steps=(*STEPS, do_nothing)).close()
    assert query(path, "SELECT sql FROM sqlite_master ORDER BY name") == before
    assert query(path, "PRAGMA user_version") == [(newest_format() + 1,)]
