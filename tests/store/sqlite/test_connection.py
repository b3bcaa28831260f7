"""Test SQLite's connection settings."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from swecli.models.errors import StoreError
from swecli.store.sqlite import files
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.migrations import newest_format


def test_a_connection_has_durable_commits_and_foreign_keys(database: Database) -> None:
    with database.reading() as db:
        asked = {
            name: db.connection().exec_driver_sql(f"PRAGMA {name}").scalar() for name in PRAGMAS
        }
    assert asked == PRAGMAS


PRAGMAS = {"synchronous": 2, "foreign_keys": 1, "journal_mode": "wal", "busy_timeout": 10_000}


def test_the_file_has_application_id_and_schema_version(database: Database, path: Path) -> None:
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA application_id").fetchone() == (files.APPLICATION_ID,)
    assert other.execute("PRAGMA user_version").fetchone() == (newest_format(),)
    other.close()


def test_only_one_writer_holds_the_lock(tmp_path: Path) -> None:
    order: list[str] = []

    def write() -> None:
        with files.write_lock(tmp_path / "db"):
            order.append("second")

    with files.write_lock(tmp_path / "db"):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(0.05)
        with pytest.raises(StoreError, match="in use"), files.write_lock(tmp_path / "db", 0.01):
            pass
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
