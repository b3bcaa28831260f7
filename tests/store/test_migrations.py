"""From one shape of the database to the next."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection

from swecli.models.errors import NewerDatabase
from swecli.store.database import open_database
from swecli.store.migrations import STEPS
from swecli.store.session_manager import SessionManager


def add_colour(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'")


def fail_after_a_change(connection: Connection) -> None:
    add_colour(connection)
    raise ValueError("the step is wrong")


def make(path: Path) -> None:
    manager = SessionManager(open_database(path))
    manager.start("/p", "demo")
    manager.begin_interaction("before the upgrade")
    manager.database.close()


def ask(path: Path, question: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


def copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob("swecli.db.before-*"))


def test_a_new_database_has_the_newest_shape_and_no_copy(path: Path) -> None:
    database = open_database(path, steps=(*STEPS, add_colour))
    database.close()
    assert ask(path, "PRAGMA user_version") == [(2,)]
    assert ask(path, "SELECT colour FROM session") == []
    assert copies(path) == []
    assert database.notices == []


def test_an_upgrade_keeps_the_rows_and_a_copy_of_the_file_as_it_was(path: Path) -> None:
    make(path)
    database = open_database(path, steps=(*STEPS, add_colour))
    database.close()
    assert ask(path, "SELECT first_query, colour FROM session") == [("before the upgrade", "grey")]
    [copy] = copies(path)
    assert ask(copy, "PRAGMA user_version") == [(1,)]
    assert ask(copy, "SELECT first_query FROM session") == [("before the upgrade",)]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert str(copy) in database.notices[0]


def test_an_upgrade_happens_once(path: Path) -> None:
    make(path)
    for _ in range(3):
        open_database(path, steps=(*STEPS, add_colour)).close()
    assert len(copies(path)) == 1


def test_a_step_that_fails_leaves_the_database_as_it_was(path: Path) -> None:
    make(path)
    with pytest.raises(ValueError, match="the step is wrong"):
        open_database(path, steps=(*STEPS, fail_after_a_change))
    assert ask(path, "PRAGMA user_version") == [(1,)]
    manager = SessionManager(open_database(path))
    assert manager.resume(None, "/p").messages[0].content == "before the upgrade"
    manager.database.close()


def test_steps_that_are_not_known_are_refused(path: Path) -> None:
    open_database(path, steps=(*STEPS, add_colour)).close()
    with pytest.raises(NewerDatabase, match="shape 2, this one knows 1"):
        open_database(path)


def test_the_shape_changes_only_with_a_step(path: Path) -> None:
    """The recorded shape is what databases out there have: a change of the tables needs a step, and a new record."""
    open_database(path).close()
    rows = ask(
        path, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '%fts_%' ORDER BY type, name"
    )
    shape = "\n".join(" ".join(str(row[0]).split()) for row in rows) + "\n"
    record = Path(__file__).with_name(f"shape_{len(STEPS)}.sql")
    assert shape == record.read_text(encoding="utf-8")
