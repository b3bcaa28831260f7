"""Test `swecli db`: its path, its integrity check and its backup."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from swecli.config.paths import Paths
from tests.support.databases import open_database
from tests.support.shell import Run


def test_path_is_printed_and_no_database_is_created(run: Run) -> None:
    database = Paths.find(os.environ).database
    assert run("db", "path").out == f"{database}\n"
    assert run("db", "path", "--json").json == {"path": str(database), "exists": False}
    assert run("db", "path", "--db", "x.db").out == f"{Path.cwd() / 'x.db'}\n"
    assert run("db", "path", "--db", "sqlite:///x.db").out == f"{Path.cwd() / 'x.db'}\n"
    assert run("db", "path", "--db", ":memory:").out == ":memory:\n"
    assert not database.exists()


def test_check_reports_a_sound_database_as_ok(run: Run) -> None:
    open_database("x.db").close()
    assert run("db", "check", "--db", "x.db").out == f"{Path.cwd() / 'x.db'}: ok\n"
    assert run("db", "check", "--db", "x.db", "--json").json == {"problems": []}


def test_check_reports_damage_and_exits_with_1(run: Run) -> None:
    open_database("x.db").close()
    other = sqlite3.connect("x.db")
    other.execute("PRAGMA foreign_keys = OFF")
    other.execute(
        "INSERT INTO message (session_id, interaction, role, content, reasoning, blocks, images, notes, status,"
        " created_at) VALUES ('gone', 1, 'user', 'x', '', 'null', 'null', 'null', 'complete', '2026-01-01 00:00:00')"
    )
    other.commit()
    other.close()
    outcome = run("db", "check", "--db", "x.db")
    assert outcome.code == 1
    assert "references: a row of message belongs to no session" in outcome.out


def test_backup_writes_next_to_the_database_or_to_a_new_named_file(run: Run) -> None:
    open_database("x.db").close()
    beside = Path(run("db", "backup", "--db", "x.db").out.strip())
    assert beside.parent == Path.cwd()
    assert Path(run("db", "backup", "", "--db", "x.db").out.strip()).name.startswith("x.db.backup")
    named = run("db", "backup", "y.db", "--db", "x.db", "--json").json["backup"]
    assert named == str(Path.cwd() / "y.db")
    open_database("y.db").close()
    again = run("db", "backup", "y.db", "--db", "x.db")
    assert again.code == 42
    assert "already exists" in again.complaint


def test_a_backup_that_cannot_be_written_is_an_error(run: Run) -> None:
    open_database("x.db").close()
    outcome = run("db", "backup", "/dev/null/y.db", "--db", "x.db")
    assert outcome.code == 1
    assert "cannot be written" in outcome.complaint
