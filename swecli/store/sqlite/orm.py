"""SQLModel over the connection of a `Database`: rows as objects, in the transaction that is open there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import sqlmodel
from sqlalchemy import Connection, Engine, StaticPool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import LRUCache

from swecli.store.journal.reader import Reader
from swecli.store.tables import playbook, reviews, turns, undo  # noqa: F401  # defines tables

_DIALECT = "swecli"  # the name in URLs
_COMPILED: Any = LRUCache(2_000)  # statements of all databases of the process


class _Dialect(SQLiteDialect_pysqlite):
    """SQLite's dialect as a singleton, since compiled statements are cached by dialect. It neither begins nor ends
    transactions: those are the database's."""

    supports_statement_cache = True
    _instance: _Dialect | None = None

    def __new__(cls, **_arguments: Any) -> _Dialect:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self, **arguments: Any) -> None:
        if not vars(self):  # not initialised; all engines pass the same arguments
            super().__init__(**arguments)

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing; see `Database.write`."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing; see `Database.write`."""


registry.register(_DIALECT, __name__, _Dialect.__name__)


def make_engine(connection: sqlite3.Connection) -> Engine:
    """Create an engine on an open connection, which any thread may use, one at a time. Defines all tables."""
    return create_engine(
        f"{_DIALECT}://",
        creator=lambda: connection,
        poolclass=StaticPool,
        json_serializer=partial(json.dumps, ensure_ascii=False),
        execution_options={"compiled_cache": _COMPILED},
    )


@contextmanager
def open_session(engine: Engine) -> Iterator[sqlmodel.Session]:
    """Open a session in the running transaction; its changes are flushed at the end. Raises sqlite3.Error."""
    with (
        plain_errors(),
        sqlmodel.Session(engine, expire_on_commit=False) as session,
        session.begin(),
    ):
        yield session


@contextmanager
def open_connection(engine: Engine) -> Iterator[Connection]:
    """Open a connection of SQLAlchemy in the running transaction. Raises sqlite3.Error."""
    with plain_errors(), engine.connect() as connection:
        yield connection


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise SQLite's own error in place of SQLAlchemy's that wraps it."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise


def reader(db: sqlmodel.Session) -> Reader:
    """Flush a session and return a reader of its `sqlite3` connection."""
    db.flush()
    connection: Any = db.connection().connection.driver_connection
    return Reader(connection)
