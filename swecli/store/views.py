"""Read-only SQL queries over views with stable names and columns (views.sql): the user's own, and spending by model,
cause, tool and day."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from swecli.models.errors import BadInput, LimitReached
from swecli.redact import redact_value
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.files import BUSY_SECONDS, reading_uri
from swecli.text import truncate

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
_MAX_DAYS = 366
# a request without tokens, because it got no answer, cost nothing
_TOTALS = (
    "count(*) AS requests, sum(tokens_in) AS sent, sum(tokens_cached) AS cached,"
    " sum(tokens_out + tokens_reasoning) AS received, CASE WHEN"
    " count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) = 0 THEN total(cost) END AS cost"
)
_REFUSED = "count(CASE WHEN approved = 0 THEN 1 END)"
# what the user refused or stopped did not fail
_FAILED = "count(CASE WHEN approved IS NOT 0 AND error IS NOT 'cancelled' THEN error END)"
_GROUP_COLUMNS = {"models": "model", "causes": "purpose"}
_DAY = "date(created_at, 'localtime')"
Spending = dict[str, Any]


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
        return (
            f"Only the first {len(self.rows):,} rows; there are more: add LIMIT, or --limit N."
            if self.more
            else ""
        )


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
        until = time.monotonic() + seconds
        connection.set_progress_handler(
            lambda: time.monotonic() > until or (stop is not None and stop.is_set()), _POLL_INTERVAL
        )
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _READ_ACTIONS else sqlite3.SQLITE_DENY
        )
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
            if time.monotonic() <= until:  # Ctrl-C: SQLite's callback cannot raise
                raise KeyboardInterrupt from None
            raise LimitReached(
                f"The query was stopped after {seconds:g} seconds.", _NARROW_HINT
            ) from None
    return QueryResult(columns, tuple(tuple(redact_value(list(row))) for row in rows), more)


def copy_with_views(database: Database, to: Path) -> Path:
    """Copy the database, add the views for other programs, and return its path. Raises BadInput, StoreError."""
    copy = database.backup(to)
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(_view_definitions())
    return copy


def session_spending(database: Database, session_id: str) -> Spending:
    """Return a session's spending by `models`, `causes` and `tools`, most tokens first: records with `name`,
    `requests`, tokens `sent` (of which `cached`) and `received`, `cost` in US dollars (None if a price is unknown); for
    tools `calls`, how many of them were `refused` or `failed`, and the `tokens` of their results."""
    return _group_spending(database, f"session_id = '{session_id}'")


def daily_spending(database: Database, days: int, today: date) -> Spending:
    """Return the same for all sessions of the last `days`, with a record for each of the `days`, oldest first, and
    `total`, which also has `sessions` and `turns`. Raises BadInput unless `days` is from 1 to 366."""
    if not 1 <= days <= _MAX_DAYS:
        raise BadInput(f"{days} days cannot be shown.", f"Name a number from 1 to {_MAX_DAYS}.")
    first = today - timedelta(days - 1)
    where = f"{_DAY} BETWEEN '{first}' AND '{today}'"
    found = run_query(
        database, f"SELECT {_DAY} AS name, {_TOTALS} FROM requests WHERE {where} GROUP BY 1"
    ).records
    of = {one["name"]: one for one in found}
    none = {"requests": 0, "sent": 0, "cached": 0, "received": 0, "cost": 0.0}
    names = [str(first + timedelta(number)) for number in range(days)]
    counted = (
        "count(DISTINCT session_id) AS sessions, count(DISTINCT session_id || '/' || turn) AS turns"
    )
    total = run_query(database, f"SELECT {counted}, {_TOTALS} FROM requests WHERE {where}").records[
        0
    ]
    total = {
        name: 0 if value is None and name != "cost" else value for name, value in total.items()
    }
    return {
        "days": [of.get(name, {"name": name} | none) for name in names],
        "total": total,
    } | _group_spending(database, where)


def _group_spending(database: Database, where: str) -> Spending:
    found: Spending = {}
    for name, column in _GROUP_COLUMNS.items():
        chosen = f"SELECT {column} AS name, {_TOTALS} FROM requests WHERE {where} GROUP BY 1 ORDER BY sent DESC"
        found[name] = run_query(database, chosen).records
    figures = (
        f"count(*) AS calls, {_REFUSED} AS refused, {_FAILED} AS failed, total(tokens) AS tokens"
    )
    tools = f"SELECT tool AS name, {figures} FROM calls WHERE {where} GROUP BY 1 ORDER BY tokens DESC, calls DESC"
    found["tools"] = [
        one | {"tokens": int(one["tokens"])} for one in run_query(database, tools).records
    ]
    return found


def _view_definitions() -> str:
    return Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


@contextmanager
def _connect(database: Database) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection with the views."""
    where = ":memory:"
    if database.path:
        where = reading_uri(database.path, is_read_only=database.is_read_only)
    connection = sqlite3.connect(
        where, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
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
    names = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_temp_master ORDER BY rowid")
    ]
    selected = (connection.execute(f"SELECT * FROM {name} LIMIT 0").description for name in names)
    rows = (
        (name, ", ".join(column[0] for column in one))
        for name, one in zip(names, selected, strict=True)
    )
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
    why = str(error).rstrip(".")
    denied = getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY)
    if denied or why.startswith("cannot modify"):  # a view
        return BadInput("Only read-only queries are allowed.", "Begin with SELECT or WITH.")
    return BadInput(
        f"The query cannot be run: {why}.",
        "`swecli sql` and /sql without a query list views and columns.",
    )


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = " ".join(str(value)[:1_000].split())
    return truncate(text, _CELL_WIDTH)
