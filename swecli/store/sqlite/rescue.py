"""Save what is readable of a damaged SQLite file into a new one, and set the damaged one aside."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from swecli.models.errors import DamagedDatabase
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.files import code_of, new_file, spare_name
from swecli.store.sqlite.migrations import Step, migrate

_CHUNK = 1000  # rows read at once while all goes well
_MOST_FAILURES = 20_000  # failing reads of one table before the rest of it is given up
_UNKNOWN_END = 1_000_000

# Messages whose session cannot be read keep a session to be found by.
_ADOPT_ORPHANS = (
    "INSERT INTO session (id, directory, project, title, model, window_spec, window_start, interactions, messages,"
    " cost, first_query, created_at, updated_at) "
    "SELECT session_id, '', '', 'recovered', '', '', 1, max(interaction), count(*), NULL, '', min(created_at),"
    " max(created_at) FROM message WHERE session_id NOT IN (SELECT id FROM session) GROUP BY session_id"
)


def rescue(path: Path, reason: str, steps: Sequence[Step]) -> str:
    """Put a new database in place of the damaged one at `path`, which is kept beside it; returns a line about it.
    Raises DamagedDatabase when another process has it open; OSError, sqlite3.Error when none can be written."""
    fresh = spare_name(path, "rescued")
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=1.0)) as old:
            _claim(old, path)
            saved = _copy(old, fresh, steps)
        aside = _swap(path, fresh)
    finally:
        fresh.unlink(missing_ok=True)
    return (
        f"The database was damaged ({reason}). {saved} could be read and were saved into a new one; "
        f"the damaged one is kept in {aside}."
    )


def _claim(old: sqlite3.Connection, path: Path) -> None:
    try:
        old.execute("PRAGMA locking_mode = EXCLUSIVE")
        old.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DamagedDatabase(
                f"The database {path} is damaged and another program has it open.",
                "Close the other one and start again: what is readable will be saved.",
            ) from None
    with suppress(sqlite3.Error):  # nothing was written; the lock stays until the file is closed
        old.execute("ROLLBACK")


def _copy(old: sqlite3.Connection, fresh: Path, steps: Sequence[Step]) -> str:
    version = int(old.execute("PRAGMA user_version").fetchone()[0])
    old.text_factory = lambda raw: raw.decode("utf-8", "replace")
    new_file(fresh)
    engine = sqlite.make_engine(fresh)
    try:
        with engine.begin() as connection:
            migrate(connection, 0, steps[: max(1, version)])
    finally:
        engine.dispose()
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = FULL")
        new.execute("BEGIN")
        for table in _tables(new):
            there = _columns(old, table)
            # one of an older shape has fewer: of those JSON has no default
            values = {
                name: f'"{name}"' if name in there else "'null'"
                for name, kind in _columns(new, table).items()
                if name in there or kind == "JSON"
            }
            names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
            rows = _rows(old, table, ", ".join(values.values())) if there else ()
            new.executemany(f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})', rows)
        _mend(old, new)
        counts = [
            new.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("session", "message", "bullet")
        ]
        new.execute("COMMIT")
    return "{} sessions, {} messages and {} strategies".format(*counts)


def _tables(new: sqlite3.Connection) -> list[str]:
    """Tables that hold rows of their own: no search index, nothing of SQLite's."""
    names = [row[0] for row in new.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names if not name.startswith("sqlite_") and "_fts" not in name]


def _columns(of: sqlite3.Connection, table: str) -> dict[str, str]:
    """The columns of a table with their types; {} where it is not there, or cannot be read."""
    with suppress(sqlite3.Error):
        return {row[1]: row[2] for row in of.execute(f'PRAGMA table_info("{table}")')}
    return {}


def _rows(old: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[object, ...]]:
    """Every readable row, found by halving the ranges that cannot be read."""
    end = _last(old, table)
    waiting = [(low, min(low + _CHUNK - 1, end)) for low in range(end - (end - 1) % _CHUNK, 0, -_CHUNK)]
    failures_left = _MOST_FAILURES
    while waiting and failures_left:
        low, high = waiting.pop()
        try:
            yield from old.execute(
                f'SELECT {columns} FROM "{table}" NOT INDEXED WHERE rowid BETWEEN ? AND ?', (low, high)
            ).fetchall()
        except sqlite3.Error:
            failures_left -= 1
            if low < high:
                middle = (low + high) // 2
                waiting += [(middle + 1, high), (low, middle)]


def _last(old: sqlite3.Connection, table: str) -> int:
    questions = (f'SELECT max(rowid) FROM "{table}"', f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'")
    for question in questions:
        with suppress(sqlite3.Error):
            row = old.execute(question).fetchone()
            return int(row[0] or 0) if row else 0
    return _UNKNOWN_END


def _mend(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Give orphaned messages a session, drop what hangs in the air, and never give a number twice."""
    new.execute(_ADOPT_ORPHANS)
    while broken := new.execute("PRAGMA foreign_key_check").fetchall():
        table = broken[0][0]
        new.executemany(f'DELETE FROM "{table}" WHERE rowid = ?', {(row[1],) for row in broken if row[0] == table})
    for name in ("session", "message", "bullet", "delta"):
        with suppress(sqlite3.Error, TypeError, ValueError):
            row = old.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (name,)).fetchone()
            if row and not new.execute("SELECT 1 FROM sqlite_sequence WHERE name = ?", (name,)).fetchone():
                new.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, 0)", (name,))
            if row:
                new.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (int(row[0]), name))


def _swap(path: Path, fresh: Path) -> Path:
    aside = spare_name(path, "damaged")
    try:
        os.link(path, aside)
    except OSError:
        shutil.copy2(path, aside)
    # the journal goes before the new file comes: it must never be taken for the new file's
    for side in sqlite.SIDE_FILES:
        with suppress(FileNotFoundError):
            Path(f"{path}{side}").rename(f"{aside}{side}")
    fresh.replace(path)
    return aside
