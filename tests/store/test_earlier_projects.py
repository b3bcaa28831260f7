"""Test what an upgrade makes of sessions that were stored by two absolute paths."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database

BEFORE = 24  # the format whose sessions have no subfolder


@pytest.mark.parametrize(
    ("directory", "project", "expected"),
    [
        ("/p/web", "/p", ("/p", "web")),
        ("/p", "/p", ("/p", "")),
        ("/p", "", ("/p", "")),  # of a version that had no projects
        ("review of /p", "/p", ("/p", None)),
        ("", "", ("", None)),  # turns that were undone
    ],
)
def test_a_session_gets_its_place_in_its_project(
    path: Path, directory: str, project: str, expected: tuple[str, str | None]
) -> None:
    manager = SessionManager(open_database(path))
    session = manager.start("/elsewhere", "scripted/test")
    manager.begin_interaction("before the upgrade")
    manager.database.close()
    with closing(sqlite3.connect(path)) as connection:
        where = "UPDATE session SET subfolder = NULL, directory = ?, project = ?"
        connection.execute(where, (directory, project))
        connection.execute("ALTER TABLE bullet ADD COLUMN judged JSON")  # as that format had it
        connection.execute(f"PRAGMA user_version = {BEFORE}")
        connection.commit()
    upgraded = SessionManager(open_database(path)).resume(session.id, "")
    assert (upgraded.project, upgraded.subfolder) == expected
