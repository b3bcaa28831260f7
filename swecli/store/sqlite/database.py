"""Open, upgrade, change, check and copy the database."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import sqlmodel
from sqlalchemy import Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.util import LRUCache

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.reading import Reader
from swecli.store.sqlite import files
from swecli.store.sqlite.files import to_store_error, write_lock
from swecli.store.sqlite.migrations import STEPS, Step, find_problems, migrate, refuse_newer
from swecli.store.sqlite.search_index import STORED_CODE, refuse_foreign_code

_DIALECT = "swecli"  # the name in URLs
_COMPILED: Any = LRUCache(2_000)  # statements of all databases of the process
_JUST_MADE = 5.0  # seconds for which another process may still be creating an empty file


class _Dialect(SQLiteDialect_pysqlite):
    """SQLite's dialect as a singleton: compiled statements are cached by dialect."""

    supports_statement_cache = True
    _one: _Dialect | None = None

    def __new__(cls, **_arguments: Any) -> _Dialect:
        cls._one = cls._one or super().__new__(cls)
        return cls._one

    def __init__(self, **arguments: Any) -> None:
        if not vars(self):  # all engines pass the same arguments
            super().__init__(**arguments)


registry.register(_DIALECT, __name__, _Dialect.__name__)


def _make_engine(path: Path | None, *, is_read_only: bool) -> Engine:
    """Create an engine with one connection, which any thread may use, one at a time; None for a database in memory.
    Transactions begin with BEGIN IMMEDIATE, unless the option `begin` is set, so that they wait for other writers at
    their start and never fail half-way. Each commit is synced to disk."""
    where = URL.create(_DIALECT, database=str(path) if path else ":memory:")
    if path and is_read_only:
        where = URL.create(
            _DIALECT, database=files.reading_uri(path, is_read_only=True), query={"uri": "true"}
        )
    engine = create_engine(
        where,
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": files.BUSY_SECONDS},
        json_serializer=partial(json.dumps, ensure_ascii=False),
        execution_options={"compiled_cache": _COMPILED},
    )

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin in `_begun`, not in the driver
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql(
            connection.get_execution_options().get("begin", "BEGIN IMMEDIATE")
        )

    return engine


class Database:
    """An open database, used by one thread at a time. `notices` are lines for the user (an upgrade, an empty file);
    `path` is None for a database in memory. In one that is read-only, `transaction` raises StoreError."""

    def __init__(self, path: Path | None, *, is_read_only: bool = False) -> None:
        self.path = path
        self.is_read_only = is_read_only
        self.notices: list[str] = []
        self.engine = _make_engine(path, is_read_only=is_read_only)
        self._file: tuple[int, int] | None = None  # device and inode
        self._turn = threading.RLock()
        self._inside = self._closed = False

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Commit the changes of the block, durably, or roll them back if it raises. Transactions do not nest. Raises
        StoreError."""
        with self._exclusively():
            if (
                self._file_id() != self._file and not self.is_read_only
            ):  # writes to an unlinked file are lost
                raise StoreError(
                    f"The database {self.path} was deleted, moved or replaced while swecli ran.",
                    "Nothing more can be stored: put it back, or quit and start again.",
                )
            session = sqlmodel.Session(self.engine, expire_on_commit=False)
            with write_lock(self.path), session, session.begin():
                yield session

    @contextmanager
    def reading(self) -> Iterator[sqlmodel.Session]:
        """Read one snapshot, without waiting for writers. Raises StoreError."""
        engine = self.engine.execution_options(begin="BEGIN")
        with self._exclusively(), sqlmodel.Session(engine, expire_on_commit=False) as session:
            yield session

    def rows(self, which: Any) -> list[Any]:
        """Return the results of one statement. Raises StoreError."""
        with self.reading() as db:
            return list(db.exec(which))

    def _file_id(self) -> tuple[int, int] | None:
        """Return device and inode of the file at `path`, or None."""
        with suppress(OSError):
            return (
                (found.st_dev, found.st_ino) if self.path and (found := self.path.stat()) else None
            )
        return None

    def upgrade(self, version: int, steps: Sequence[Step]) -> None:
        """Run the missing migrations in one transaction, after a backup unless the file is new; set WAL mode."""
        if self.path and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        with write_lock(self.path):
            if 0 < version < len(steps) and self.path:
                copy = files.spare_name(self.path, f"before-{len(steps)}")
                self._copy(copy)
                self.notices.append(
                    f"The database was upgraded; a copy of it as it was is in {copy}."
                )
            if version != len(steps):
                with self.engine.begin() as connection:
                    migrate(connection, steps)
            if self.path:
                with closing(
                    self.engine.raw_connection()
                ) as raw:  # without shared memory it has no effect
                    raw.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]  # open
                self._file = self._file_id()

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
                raise to_store_error(error, self.path) from error
            finally:
                self._inside = False

    def close(self) -> None:
        """Close the file. May be called twice."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._file:
                with (
                    suppress(StoreError),
                    write_lock(self.path),
                ):  # the last connection to close checkpoints the WAL
                    self.engine.dispose()
            self.engine.dispose()

    def check(self) -> list[str]:
        """Check the whole database; return one line for each problem. Broken search indexes are rebuilt."""
        with self.transaction() as db:
            return find_problems(db.connection())

    def _copy(self, to: Path) -> None:
        """Copy a snapshot into the new file `to`, without WAL. Raises OSError, sqlite3.Error."""
        files.new_file(to)
        with (
            closing(sqlite3.connect(to, isolation_level=None)) as target,
            closing(self.engine.raw_connection()) as raw,
        ):
            raw.driver_connection.backup(target)  # type: ignore[union-attr]  # open
            target.execute("PRAGMA journal_mode = DELETE")

    def backup(self, to: Path | None = None) -> Path:
        """Copy a snapshot into one new file and return its path. `to` is the file or its folder; None is the database's
        folder. Raises BadInput, StoreError; then no file is left."""
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
            with suppress(OSError):  # the error to report is that of the copy
                target.unlink(missing_ok=True)
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{target} cannot be written: {error}.",
                "Nothing was changed; choose another place.",
            ) from error
        return target


def reader(db: sqlmodel.Session) -> Reader:
    """Flush a transaction and return a reader of its `sqlite3` connection."""
    db.flush()
    connection: Any = db.connection().connection.driver_connection
    return Reader(connection)


def open_database(
    location: str | Path, *, steps: Sequence[Step] = STEPS, even_read_only: bool = False
) -> Database:
    """Open the database at a path or sqlite:/// URL; create it if it is missing, and migrate it to the newest version
    after a backup, which `Database.notices` reports. With `even_read_only` one that cannot be written is opened for
    reading.

    Raises BadInput for an unusable location; DamagedDatabase for a damaged file or one of another program, and
    StoreError for a disk error or the file of a newer swecli, all of them unchanged."""
    path = files.locate(location)
    if path and path.is_dir():
        raise BadInput(f"{path} is a folder.", "Give the path of the database file in it.")
    try:
        notices = _prepare_file(path) if path else []
        database = _open(path, steps)
    except (OSError, SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
        if path and even_read_only and files.is_read_only(path):
            return _open_read_only(path, steps)
        if isinstance(error, OSError):
            raise StoreError(
                f"The database {path} cannot be used: {error.strerror or error}.", files.ELSEWHERE
            ) from error
        raise to_store_error(error, path) from error
    database.notices[:0] = notices
    return database


def _prepare_file(path: Path) -> list[str]:
    """Create an empty file if there is none; return a notice if it was empty. Raises DamagedDatabase for a WAL without
    its database, which SQLite would delete when it opens an empty file, and for a file that is too short for one, which
    SQLite may take for an empty one."""
    journal = Path(f"{path}-wal")
    left = journal.exists() and journal.stat().st_size > 0  # first: another process may create both
    there = path.stat() if path.exists() else None
    if there and there.st_size:
        if there.st_size < files.HEADER_BYTES:
            raise files.not_a_database(path)
        return []
    empty = "is empty (0 bytes): its contents are gone"
    if left:
        raise DamagedDatabase(
            f"The database {path} {empty if there else 'is gone'}; its journal is still there.",
            f"Put the database back, or move {journal} away to start with a new one.",
        )
    for folder in reversed([one for one in path.parents if not one.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        files.new_file(path)
    old = there and time.time() - there.st_mtime > _JUST_MADE
    return [f"The database {path} {empty}. A new one was created."] if old else []


def _open(path: Path | None, steps: Sequence[Step]) -> Database:
    database = Database(path)
    try:
        database.upgrade(_check(database), steps)
    except BaseException:
        database.close()
        raise
    return database


def _open_read_only(path: Path, steps: Sequence[Step]) -> Database:
    """Open a database where SQLite cannot make the shared memory that WAL needs: as a file that nobody changes, whose
    journal SQLite then does not read. Raises StoreError."""
    for journal in (Path(f"{path}-wal"), Path(f"{path}-journal")):
        if journal.exists() and journal.stat().st_size:
            raise StoreError(
                f"The database {path} cannot be read where it cannot be written: its last changes are in {journal}.",
                "Copy both files to a folder that can be written, and name the copy with --db.",
            )
    database = Database(path, is_read_only=True)
    try:
        version = _check(database)
        refuse_newer(version, steps)
        if version < len(steps):
            raise StoreError(
                f"The database {path} is of an older swecli (format {version}) and cannot be upgraded where it is.",
                "Copy it to a folder that can be written, and name the copy with --db.",
            )
    except (SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
        database.close()
        raise to_store_error(error, path) from error
    except BaseException:
        database.close()
        raise
    return database


def _check(database: Database) -> int:
    """Return the version of a database. Raises DamagedDatabase, SQLAlchemyError for one that is damaged, of another
    program or with code of others."""
    path = database.path
    with database.engine.execution_options(begin="BEGIN").connect() as connection:
        application, version, tables = (
            connection.exec_driver_sql(question).scalar_one()
            for question in (
                "PRAGMA application_id",
                "PRAGMA user_version",
                "SELECT count(*) FROM sqlite_master",
            )
        )
        if application != files.APPLICATION_ID and (application or version or tables):
            raise DamagedDatabase(
                f"{path} belongs to another program.",
                "Choose another file with --db; this one was not touched.",
            )
        refuse_foreign_code(map(tuple, connection.exec_driver_sql(STORED_CODE)), path)
        if path and files.needs_check(path):
            sound = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
            if sound != "ok" and "FTS5" not in sound:  # `check` rebuilds search indexes
                broken = sqlite3.DatabaseError(sound)
                broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise broken
    return int(version)
