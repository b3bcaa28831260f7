"""Read-only SQL queries over views with stable names and columns (views.sql)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from swecli.models.errors import BadInput, LimitReached
from swecli.redact import redact_value
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.files import BUSY_SECONDS, reading_uri
from swecli.text import truncate
from swecli.values import dataclass

MAX_ROWS = 1_000
_TIMEOUT = 20.0
_MAX_CELL = 10_000_000  # characters
_MAX_RESULT = 50_000_000  # characters
_POLL_INTERVAL = 20_000  # instructions of SQLite, some milliseconds
_CELL_WIDTH = 240  # characters of a printed cell
_READ_ACTIONS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_NARROW_HINT = "Narrow it down, for example with WHERE session_id = '...' or LIMIT 100."


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The redacted result of a query; `more` if rows were cut off."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return the rows as JSON objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as text to print."""
        return tuple(tuple(map(_format_cell, row)) for row in self.rows)

    @property
    def note(self) -> str:
        """Return a note that rows were cut off, or ""."""
        if not self.more:
            return ""
        return f"Only the first {len(self.rows):,} rows; there are more: add LIMIT, or --limit N."


def run_query(
    database: Database,
    statement: str,
    limit: int = MAX_ROWS,
    stop: Event | None = None,
    *,
    seconds: float = _TIMEOUT,
    max_characters: int = _MAX_RESULT,
) -> QueryResult:
    """Return at most `limit` rows and `max_characters` of one SELECT, or the views and their columns if the statement
    is empty. Another thread may cancel it by `stop`. Raises BadInput for anything but a read-only query, LimitReached
    after `seconds`."""
    with _connect(database) as connection:
        if not statement.strip():
            return _list_views(connection)
        deadline = time.monotonic() + seconds

        def is_stopped() -> bool:
            return time.monotonic() > deadline or (stop is not None and stop.is_set())

        connection.set_progress_handler(is_stopped, _POLL_INTERVAL)
        connection.set_authorizer(_authorize)
        try:
            cursor = connection.execute(statement)
            if cursor.description is None:
                raise BadInput(
                    "That is not a query.", "For example: SELECT title, turns FROM sessions"
                )
            columns = tuple(column[0] for column in cursor.description)
            rows, more = _fetch(cursor, limit, max_characters)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
                raise _query_error(error) from error
            if time.monotonic() <= deadline:  # Ctrl-C: SQLite's callback cannot raise
                raise KeyboardInterrupt from None
            raise LimitReached(
                f"The query was stopped after {seconds:g} seconds.", _NARROW_HINT
            ) from None
    return QueryResult(columns, tuple(tuple(redact_value(list(row))) for row in rows), more)


def _authorize(action: int, *_: str | None) -> int:
    """Allow SQLite to read, and nothing else."""
    return sqlite3.SQLITE_OK if action in _READ_ACTIONS else sqlite3.SQLITE_DENY


def copy_with_views(database: Database, to: Path) -> Path:
    """Copy the database, add the views for other programs, and return its path. Raises BadInput, StoreError."""
    copy = database.backup(to)
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(_view_definitions())
    return copy


def _view_definitions() -> str:
    return Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


@contextmanager
def _connect(database: Database) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection with the views."""
    location = ":memory:"
    if database.path:
        location = reading_uri(database.path, is_read_only=database.is_read_only)
    connection = sqlite3.connect(
        location, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    with closing(connection):
        if database.path is None:
            with database.reading() as db:
                db.connection().connection.driver_connection.backup(connection)  # type: ignore[union-attr]  # open
        connection.executescript(_view_definitions().replace("CREATE VIEW", "CREATE TEMP VIEW"))
        connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CELL)
        yield connection


def _list_views(connection: sqlite3.Connection) -> QueryResult:
    """Return the views and the names of their columns."""
    names = connection.execute("SELECT name FROM sqlite_temp_master ORDER BY rowid").fetchall()
    rows = []
    for (name,) in names:
        columns = connection.execute(f"SELECT * FROM {name} LIMIT 0").description
        rows.append((name, ", ".join(column[0] for column in columns)))
    return QueryResult(("view", "columns"), tuple(rows))


def _fetch(
    cursor: sqlite3.Cursor, limit: int, max_characters: int
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return rows up to the limit or the maximum size, and whether more exist."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if len(rows) == limit or size > max_characters:
            return rows, True
        rows.append(row)
    return rows, False


def _query_error(error: Exception) -> BadInput:
    reason = str(error).rstrip(".")
    code = getattr(error, "sqlite_errorcode", 0)
    is_denied = code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY)
    if is_denied or reason.startswith("cannot modify"):  # a view
        return BadInput("Only read-only queries are allowed.", "Begin with SELECT or WITH.")
    return BadInput(
        f"The query cannot be run: {reason}.",
        "`swecli sql` and /sql without a query list views and columns.",
    )


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = " ".join(str(value)[:1_000].split())
    return truncate(text, _CELL_WIDTH)
