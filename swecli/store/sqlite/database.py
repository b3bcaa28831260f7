"""The database as the store uses it: opened, brought up to date, changed in transactions, checked and copied."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlmodel
from sqlalchemy import Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.sqlite import files
from swecli.store.sqlite.dialect import NAME
from swecli.store.sqlite.files import explain, write_lock
from swecli.store.sqlite.migrations import STEPS, Step, migrate, problems

_JUST_MADE = 5.0  # seconds for which an empty file may be one that another process is making


def _make_engine(path: Path | None, *, only_read: bool = False) -> Engine:
    """An engine with one connection, usable from any thread (one at a time); None for a database in memory.

    Every transaction opens with BEGIN IMMEDIATE unless the option `begin` says otherwise, so that it waits for
    another writer at its start and never fails half-way. Each commit reaches the disk before it returns.
    """
    url = URL.create(NAME, database=str(path) if path else ":memory:")
    if only_read:  # immutable: nobody writes it, and it has no journal; SQLite needs no file beside it then
        whole = {} if Path(f"{path}-wal").exists() else {"immutable": "1"}
        url = URL.create(NAME, database=f"file:{quote(str(path))}", query={"uri": "true", "mode": "ro"} | whole)
    engine = create_engine(
        url,
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": files.BUSY_SECONDS},
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


class Database:
    """An open database. One thread uses it at a time; it need not be the one that opened it.

    `notices` are lines for the user about what happened to it (an upgrade, a file that was gone). `path` is None for a
    database in memory. With `only_read` nothing can be changed.
    """

    def __init__(self, path: Path | None, *, only_read: bool = False) -> None:
        self.path, self.only_read = path, only_read
        self.notices: list[str] = []
        self.engine = _make_engine(path, only_read=only_read)
        self._file: tuple[int, int] | None = None  # device and inode
        self._turn = threading.RLock()
        self._inside = self._closed = False

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Change the database: all of the block is committed at its end, or nothing of it when it raises. What is
        committed survives a kill and a power cut. Transactions do not nest. Raises StoreError."""
        if self.only_read:
            raise StoreError(f"The database {self.path} can only be read.", files.ELSEWHERE)
        with self._exclusively():
            if self._file_now() != self._file:  # what goes into a file without a name is lost
                raise StoreError(
                    f"The database {self.path} was deleted, moved or replaced while swecli ran.",
                    "Nothing more can be stored: put it back, or leave and start again.",
                )
            session = sqlmodel.Session(self.engine, expire_on_commit=False)
            with write_lock(self.path), session, session.begin():
                yield session

    @contextmanager
    def reading(self) -> Iterator[sqlmodel.Session]:
        """Read as of one moment, without waiting for writers. Raises StoreError like `transaction`."""
        engine = self.engine.execution_options(begin="BEGIN")
        with self._exclusively(), sqlmodel.Session(engine, expire_on_commit=False) as session:
            yield session

    def rows(self, which: Any) -> list[Any]:
        """What one statement selects. Raises StoreError."""
        with self.reading() as db:
            return list(db.exec(which))

    def row(self, which: Any) -> Any:
        """The first of what one statement selects; None where there is none. Raises StoreError."""
        with self.reading() as db:
            return db.exec(which).first()

    def _file_now(self) -> tuple[int, int] | None:
        """The file that has this name now; None where there is none, or in memory."""
        with suppress(OSError):
            return (found.st_dev, found.st_ino) if self.path and (found := self.path.stat()) else None
        return None

    def bring_up(self, version: int, steps: Sequence[Step]) -> None:
        """Run the missing steps in one transaction, behind a copy of a file that is not new; choose the journal."""
        if self.path and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        with write_lock(self.path):
            if 0 < version < len(steps) and self.path:
                copy = files.spare_name(self.path, f"before-{len(steps)}")
                self._copy(copy)
                self.notices.append(f"The database was upgraded; a copy of it as it was is in {copy}.")
            if version != len(steps):
                with self.engine.begin() as connection:
                    migrate(connection, steps)
            if self.path:
                with closing(self.engine.raw_connection()) as raw:  # without shared memory it keeps its journal
                    raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]  # open
                self._file = self._file_now()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        with self._turn:
            if self._inside:
                raise RuntimeError("a transaction was begun inside another")
            if self._closed:
                raise StoreError("The database is closed.")
            self._inside = True
            try:
                yield
            except (SQLAlchemyError, sqlite3.Error) as error:
                raise explain(error, self.path) from error
            finally:
                self._inside = False

    def close(self) -> None:
        """Close the file; twice is fine. What was committed is safe with or without it."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._file:
                with suppress(StoreError), write_lock(self.path):  # the last to close moves the WAL into the file
                    self.engine.dispose()
            self.engine.dispose()

    def check(self) -> list[str]:
        """Read the whole database and report what is wrong, one line each; broken search indexes are rebuilt."""
        with self.transaction() as db:
            return problems(db.connection())

    def _copy(self, to: Path) -> None:
        """Copy all of it, as of one moment, into the new file `to`, which then needs no side files. Raises OSError,
        sqlite3.Error."""
        files.new_file(to)
        with closing(sqlite3.connect(to, isolation_level=None)) as target, closing(self.engine.raw_connection()) as raw:
            raw.driver_connection.backup(target)  # type: ignore[union-attr]  # open
            target.execute("PRAGMA journal_mode = DELETE")

    def backup(self, to: Path | None = None) -> Path:
        """Copy the database, as of now, into one new file; returns its path. `to` is the file, or a folder to make it
        in; None for beside the database. Raises BadInput, StoreError; nothing half-made is left."""
        if to is None and self.path is None:
            raise BadInput("A copy of a database in memory needs a path.")
        beside = files.spare_name(self.path or Path("swecli.db").absolute(), "backup")
        target = beside if to is None else to.expanduser().absolute()
        if target.is_dir():
            target = target / beside.name
        if target.exists():
            raise BadInput(f"{target} already exists.", "Choose another name for the copy.")
        try:
            with self._exclusively():
                self._copy(target)
        except (OSError, StoreError) as error:
            with suppress(OSError):  # where nothing could be made there is nothing to remove
                target.unlink(missing_ok=True)
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{target} cannot be written: {error}.", "Nothing was changed; choose another place."
            ) from error
        return target


def driver(db: sqlmodel.Session) -> sqlite3.Connection:
    """The connection of a transaction, which sees its changes so far."""
    db.flush()
    connection: Any = db.connection().connection.driver_connection
    return connection  # type: ignore[no-any-return]


def open_database(location: str | Path, *, steps: Sequence[Step] = STEPS, to_read: bool = False) -> Database:
    """Open the database at a path or a sqlite:/// URL, make it if there is none, and bring it to the newest shape.

    An older one is first copied to a file beside it; `Database.notices` reports it. With `to_read` one that cannot be
    written is opened as it is, and an empty one is refused.

    Raises:
        BadInput: the location cannot be used.
        DamagedDatabase: not ours, no database, or damaged; it is not touched.
        StoreError: the disk does not let it, or it was made by a newer swecli; then it is not touched.
    """
    path = files.locate(location)
    if path and path.is_dir():
        raise BadInput(f"{path} is a folder.", "Give the path of the database file in it.")
    try:
        writable = not path or not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        if to_read and not writable:
            return _open(path, steps, only_read=True)
        notices = _fill_the_place(path, to_read=to_read) if path else []
        database = _open(path, steps)
    except OSError as error:
        raise StoreError(f"The database {path} cannot be used: {error.strerror or error}.", files.ELSEWHERE) from error
    except (SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
        raise explain(error, path) from error
    database.notices[:0] = notices
    return database


def _fill_the_place(path: Path, *, to_read: bool) -> list[str]:
    """Make an empty file where there is none; a line about an empty one that is there. Raises DamagedDatabase, also for
    a journal without its database, which SQLite would delete as it opens an empty file."""
    journal = Path(f"{path}-wal")
    left = journal.exists() and journal.stat().st_size > 0  # before the file is looked at: another may be making both
    there = path.stat() if path.exists() else None
    if there and there.st_size:
        return []
    empty = "is empty (0 bytes): whatever was in it is gone from there"
    if left:
        raise DamagedDatabase(
            f"The database {path} {empty if there else 'is gone'}; its journal is left.",
            f"Put the database back, or move {journal} away to start with a new one.",
        )
    if there and to_read:
        raise DamagedDatabase(f"The database {path} {empty}.", "Start swecli to create a new one in it.")
    for folder in reversed([one for one in path.parents if not one.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        files.new_file(path)
    old = there and time.time() - there.st_mtime > _JUST_MADE
    return [f"The database {path} {empty}. A new one was created."] if old else []


def _open(path: Path | None, steps: Sequence[Step], *, only_read: bool = False) -> Database:
    database = Database(path, only_read=only_read)
    try:
        with database.engine.execution_options(begin="BEGIN").connect() as connection:
            application, version, tables = (
                connection.exec_driver_sql(question).scalar_one()
                for question in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
            )
            if application != files.APPLICATION_ID and (application or version or tables):
                raise DamagedDatabase(
                    f"{path} belongs to another program.", "Choose another file with --db; this one was not touched."
                )
            if path and not only_read and files.needs_check(path):
                sound = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
                if sound != "ok" and "FTS5" not in sound:  # a search index does not keep it shut: `check` rebuilds it
                    broken = sqlite3.DatabaseError(sound)
                    broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                    raise broken
        if only_read and version != len(steps):
            raise StoreError(
                f"The database {path} has shape {version} (this swecli: {len(steps)}) and can only be read.",
                "Start swecli once where it can be written, or choose another with --db.",
            )
        if not only_read:
            database.bring_up(version, steps)
    except BaseException:
        database.close()
        raise
    return database
