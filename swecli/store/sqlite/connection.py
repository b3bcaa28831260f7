"""What is special to SQLite: connections, durability, integrity, copies and search."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, StaticPool, column, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from swecli.store.sqlite.files import BUSY_SECONDS, new_file
from swecli.store.tables.columns import UtcTime

_SEARCH = (
    "CREATE VIRTUAL TABLE {table}_fts USING fts5({column}, content='{table}', content_rowid='{key}'{more})",
    "CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN "
    "INSERT INTO {table}_fts(rowid, {column}) VALUES (new.{key}, new.{column}); END",
    "CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN "
    "INSERT INTO {table}_fts({table}_fts, rowid, {column}) VALUES ('delete', old.{key}, old.{column}); END",
    "CREATE TRIGGER {table}_fts_update AFTER UPDATE OF {column} ON {table} BEGIN "
    "INSERT INTO {table}_fts({table}_fts, rowid, {column}) VALUES ('delete', old.{key}, old.{column}); "
    "INSERT INTO {table}_fts(rowid, {column}) VALUES (new.{key}, new.{column}); END",
)
# table: its text, its key and what more the index is made with; of results no phrases are searched, only words
SEARCHED = {
    "message": ("content", "id", ""),
    "session": ("title", "number", ""),
    "tool_call": ("result", "id", ", detail=none"),
}


def make_engine(path: Path | None, *, only_read: bool = False) -> Engine:
    """An engine with one connection, usable from any thread (one at a time); None for a database in memory.

    Every transaction opens with BEGIN IMMEDIATE unless the option `begin` says otherwise, so that it waits for
    another writer at its start and never fails half-way. Each commit reaches the disk before it returns.
    """
    url = URL.create("sqlite", database=str(path) if path else ":memory:")
    if only_read:  # immutable: nobody writes it, and it has no journal; SQLite needs no file beside it then
        whole = {} if Path(f"{path}-wal").exists() else {"immutable": "1"}
        url = URL.create("sqlite", database=f"file:{quote(str(path))}", query={"uri": "true", "mode": "ro"} | whole)
    engine = create_engine(
        url,
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": BUSY_SECONDS},
        json_serializer=partial(json.dumps, ensure_ascii=False),
    )

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy's "begin" below decides, not the driver's guess
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN IMMEDIATE"))

    return engine


def use_wal(engine: Engine) -> None:
    """Switch to a write-ahead log. A file system without shared memory keeps its journal by itself."""
    raw = engine.raw_connection()
    try:
        raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]  # open
    finally:
        raw.close()


def problems(connection: Connection) -> list[str]:
    """All that is wrong with the file: structure, references, search index (which is rebuilt). At most 100 lines."""
    rows = connection.exec_driver_sql("PRAGMA integrity_check(100)").scalars().all()
    found = [f"structure: {row}" for row in rows if row != "ok"]
    for table, _rowid, parent, _number in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        found.append(f"references: a row of {table} belongs to no {parent}")
    for table in SEARCHED:
        try:
            connection.exec_driver_sql(f"INSERT INTO {table}_fts({table}_fts, rank) VALUES ('integrity-check', 1)")
        except SQLAlchemyError:
            connection.exec_driver_sql(f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')")
            found.append(f"search: the index of {table} did not match it and was rebuilt")
    return found[:100]


def copy_file(engine: Engine, to: Path) -> None:
    """Copy the whole database, as of one moment, into the new file `to`, which then needs no side files.

    Raises OSError, sqlite3.Error.
    """
    new_file(to)
    target = sqlite3.connect(to, isolation_level=None)
    raw = engine.raw_connection()
    try:
        raw.driver_connection.backup(target)  # type: ignore[union-attr]  # open
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        raw.close()
        target.close()


def create_search(connection: Connection) -> None:
    """Make the full-text indexes that are not there yet. They hold no text of their own; triggers keep them in step."""
    present = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name LIKE '%_fts'").scalars().all()
    missing = {table: how for table, how in SEARCHED.items() if f"{table}_fts" not in present}
    for table, (searched, key, more) in missing.items():
        for statement in _SEARCH:
            connection.exec_driver_sql(statement.format(table=table, column=searched, key=key, more=more))
        connection.exec_driver_sql(f"INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')")


def match_query(words: str) -> str | None:
    """What FTS5 is asked for `words`: all of them, `word*` for a beginning; None if its words are not ours.

    It knows no words inside runs of letters above the Latin, Greek and Cyrillic ones, nor bare punctuation.
    """
    terms = words.split()
    if not terms or any(not any(c.isalnum() for c in term) for term in terms) or any(c > "\u0fff" for c in words):
        return None
    quoted = ('"' + term.rstrip("*").replace('"', '""') + '"' + ("*" if term.endswith("*") else "") for term in terms)
    return " ".join(quoted)


# The joins are CROSS so that the index is walked first, from its newest end, and no further than to the limit.
_FIND = """
SELECT * FROM (
  SELECT m.session_id, s.title, m.interaction, m.role, snippet(message_fts, 0, '', '', '…', 16), m.content, m.created_at
  FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid CROSS JOIN session s ON s.id = m.session_id
  WHERE message_fts MATCH :query ORDER BY message_fts.rowid DESC LIMIT :limit)
UNION ALL SELECT * FROM (
  SELECT s.id, s.title, 0, 'title', s.title, s.title, s.updated_at
  FROM session_fts CROSS JOIN session s ON s.number = session_fts.rowid
  WHERE session_fts MATCH :query ORDER BY session_fts.rowid DESC LIMIT :limit)
"""


def find(connection: Connection, query: str, limit: int) -> list[tuple[Any, ...]]:
    """(session, title, interaction, role, snippet, all of the text, time) of the newest messages and titles that match.

    By number, not by rank: a common word then costs no more than a rare one.
    """
    names = ("session_id", "title", "interaction", "role", "snippet", "content")
    found = text(_FIND).columns(*(column(name) for name in names), column("created_at", UtcTime))
    return [tuple(row) for row in connection.execute(found, {"query": query, "limit": limit})]
