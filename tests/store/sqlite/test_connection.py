"""What is special to SQLite."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite import files
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.migrations import STEPS


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_versions_with_the_wal_reset_bug_are_known(version: tuple[int, int, int], affected: bool) -> None:
    assert files.has_wal_reset_bug(version) is affected


def test_commits_are_durable_and_references_are_kept(database: Database) -> None:
    with database.reading() as db:
        asked = {name: db.connection().exec_driver_sql(f"PRAGMA {name}").scalar() for name in PRAGMAS}
    assert asked == PRAGMAS


PRAGMAS = {"synchronous": 2, "foreign_keys": 1, "journal_mode": "wal", "busy_timeout": 10_000}


def test_the_file_says_what_it_is(database: Database, path: Path) -> None:
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA application_id").fetchone() == (files.APPLICATION_ID,)
    assert other.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    other.close()


def test_one_writer_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    first, second = (files.WriterLock(tmp_path / "db") for _ in range(2))
    order: list[str] = []

    def write() -> None:
        with second.held():
            order.append("second")

    with first.held():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ("parse", '"parse"'),
        ("parse error", '"parse" "error"'),
        ("pars*", '"pars"*'),
        ('say "no"', '"say" """no"""'),
        ("NOT near(x) AND", '"NOT" "near(x)" "AND"'),
        ("a == b", None),
        ("修复", None),
        ("", None),
    ],
)
def test_words_are_never_taken_for_query_syntax(words: str, query: str | None) -> None:
    assert sqlite.match_query(words) == query


def test_a_small_file_is_checked_and_a_large_one_where_damage_was_met(tmp_path: Path) -> None:
    path = tmp_path / "db"
    assert not files.needs_check(path)
    path.write_bytes(b"x")
    assert files.needs_check(path)
    with path.open("r+b") as file:
        file.truncate(files.CHEAP_TO_CHECK + 1)
    assert not files.needs_check(path)
    Path(f"{path}{files.SUSPECT}").touch()
    assert files.needs_check(path)
