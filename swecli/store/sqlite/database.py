"""Open, upgrade, change, check and copy the database."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.folders import is_folder, path_exists
from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.sqlite import files
from swecli.store.sqlite.files import to_store_error, write_lock
from swecli.store.sqlite.migrations import STEPS, Step, migrate, newest_format, refuse_foreign
from swecli.store.sqlite.search_index import STORED_CODE, refuse_foreign_code

if TYPE_CHECKING:  # a turn needs no SQLModel
    import sqlmodel
    from sqlalchemy import Engine

_JUST_MADE = 5.0  # seconds for which another process may still be creating an empty file
_LOOK_SECONDS = 2.0  # for which the start of another process may look at the file before it waits


def _connect(path: Path | None, *, is_read_only: bool) -> sqlite3.Connection:
    """Connect to a file, or to a new database in memory. Each commit is synced to disk. Raises sqlite3.Error."""
    location = str(path or ":memory:")
    if path and is_read_only:
        location = files.reading_uri(path, is_read_only=True)
    connection = sqlite3.connect(
        location,
        uri=is_read_only,
        timeout=files.BUSY_SECONDS,
        isolation_level=None,  # transactions begin in `Database`, not in the driver
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """An open database, used by one thread at a time. `notices` are lines for the user (an upgrade, an empty file);
    `path` is None for a database in memory. In one that is read-only, a change raises StoreError.

    `write` and `read` give the connection itself, `transaction` and `reading` a session of SQLModel on it. Transactions
    do not nest.
    """

    def __init__(self, path: Path | None, *, is_read_only: bool = False) -> None:
        """Connect. Raises sqlite3.Error."""
        self.path = path
        self.is_read_only = is_read_only
        self.notices: list[str] = []
        self.connection = _connect(path, is_read_only=is_read_only)
        self._file: tuple[int, int] | None = None  # device and inode
        self._lock = threading.RLock()
        self._is_in_transaction = False
        self._is_closed = False

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Commit the changes of the block, durably, or roll them back if it raises. Waits for other writers at the
        start, so that it never fails half-way. Raises StoreError."""
        with self._exclusively():
            self._check_file()
            with write_lock(self.path), self._transaction("BEGIN IMMEDIATE"):
                yield self.connection
                self.connection.commit()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read one snapshot, without waiting for writers. Raises StoreError."""
        with self._exclusively(), self._transaction("BEGIN"):
            yield self.connection

    @contextmanager
    def session(self) -> Iterator[sqlmodel.Session]:
        """Open a session of SQLModel in the running transaction; its changes are flushed at the end."""
        # late: a turn needs no SQLModel
        from swecli.store.sqlite.orm import open_session

        with open_session(self._engine) as session:
            yield session

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Do as `write`, with a session of SQLModel."""
        with self.write(), self.session() as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[sqlmodel.Session]:
        """Do as `read`, with a session of SQLModel."""
        with self.read(), self.session() as session:
            yield session

    def rows(self, query: Any) -> list[Any]:
        """Return the results of one statement of SQLModel. Raises StoreError."""
        with self.reading() as db:
            return list(db.exec(query))

    @cached_property
    def _engine(self) -> Engine:
        # late: as above
        from swecli.store.sqlite.orm import make_engine

        return make_engine(self.connection)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """Run the block in a transaction, which it commits itself; otherwise nothing has changed."""
        self.connection.execute(begin)
        try:
            yield
        finally:
            self.connection.rollback()  # without effect after a commit

    def _check_file(self) -> None:
        """Raise StoreError if the file is not the one that was opened: writes to an unlinked file are lost."""
        if self._file_id() != self._file and not self.is_read_only:
            raise StoreError(
                f"The database {self.path} was deleted, moved or replaced while swecli ran.",
                "Nothing more can be stored: put it back, or quit and start again.",
            )

    def _file_id(self) -> tuple[int, int] | None:
        """Return device and inode of the file at `path`; None if there is none, or the database is in memory."""
        if self.path is None:
            return None
        with suppress(OSError):
            status = self.path.stat()
            return status.st_dev, status.st_ino
        return None

    def upgrade(self, version: int, steps: Sequence[Step]) -> None:
        """Run the missing migrations in one transaction, after a backup unless the file is new; set WAL mode. Raises
        StoreError if the file is of an older format and another process has it open."""
        if self.path and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        newest = newest_format(steps)
        refuse_foreign(version, steps)
        if version != newest:
            # late: importing SQLModel takes long, and is not done in the lock
            from swecli.store.sqlite import orm  # noqa: F401
        is_older = self.path is not None and 0 < version < newest
        if is_older:  # others that start now wait for the lock without having the file open
            self.connection.close()
        with write_lock(self.path):
            if is_older:
                self.connection = _connect(self.path, is_read_only=False)
                version = int(_ask(self.connection, "PRAGMA user_version"))
            if self.path and 0 < version < newest:
                self._wait_until_alone(self.path)
                copy = files.spare_name(self.path, f"before-{newest}")
                self._copy(copy)
                self.notices.append(
                    f"The database was upgraded; a copy of it as it was is in {copy}."
                )
            if version != newest:
                self._migrate(steps)
            if self.path:  # without shared memory it has no effect
                self.connection.execute("PRAGMA journal_mode = WAL")
                self._file = self._file_id()

    def _wait_until_alone(self, path: Path) -> None:
        """Wait until no other process has the file open: SQLite changes the mode of the journal for nobody else. Raises
        StoreError if one keeps it open, which can only be an older swecli, or another program."""
        deadline = time.monotonic() + _LOOK_SECONDS
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() >= deadline:
                    raise StoreError(
                        f"The database {path} is open in an older swecli, or another program, and has to be upgraded.",
                        "End that one and start again, or choose another database with --db.",
                    ) from None
                time.sleep(0.01)
            else:
                return

    def _migrate(self, steps: Sequence[Step]) -> None:
        # late: most databases are of the newest version
        from swecli.store.sqlite.orm import open_connection

        with self._transaction("BEGIN EXCLUSIVE"):
            with open_connection(self._engine) as connection:
                migrate(connection, steps)
            self.connection.commit()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Let one thread at a time in. Raises StoreError, also for an error of SQLite."""
        with self._lock:
            if self._is_in_transaction:
                raise RuntimeError("a transaction was begun inside another")
            if self._is_closed:
                raise StoreError("The database is closed.")
            self._is_in_transaction = True
            try:
                yield
            except sqlite3.Error as error:
                raise to_store_error(error, self.path) from error
            finally:
                self._is_in_transaction = False

    def close(self) -> None:
        """Close the file. May be called twice."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._file:  # the last connection to close checkpoints the WAL
                with suppress(StoreError), write_lock(self.path):
                    self.connection.close()
            self.connection.close()

    def check(self) -> list[str]:
        """Check the whole database; return one line for each problem. Broken search indexes are rebuilt."""
        # late: few programs check it
        from swecli.store.sqlite.problems import find_problems

        with self.write() as db:
            return find_problems(db)

    def _copy(self, target: Path) -> None:
        """Copy a snapshot into a new file, without WAL. Raises OSError, sqlite3.Error."""
        files.new_file(target)
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            self.connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")

    def backup(self, to: Path | None = None) -> Path:
        """Copy a snapshot into one new file and return its path. `to` is the file or its folder; None is the database's
        folder. Raises BadInput, StoreError; then no file is left."""
        if to is None and self.path is None:
            raise BadInput("A copy of a database in memory needs a path.")
        unused = files.spare_name(self.path or Path("swecli.db").absolute(), "backup")
        target = unused if to is None else to.expanduser().absolute()
        if is_folder(target):
            target = target / unused.name
        if path_exists(target):
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


def open_database(
    location: str | Path, *, steps: Sequence[Step] = STEPS, even_read_only: bool = False
) -> Database:
    """Open the database at a path or sqlite:/// URL; create it if it is missing, and migrate it to the newest version
    after a backup, which `Database.notices` reports. With `even_read_only` one that cannot be written is opened for
    reading.

    Raises BadInput for an unusable location; DamagedDatabase for a damaged file or one of another program, and
    StoreError for a disk error or the file of a newer swecli, all of them unchanged."""
    path = files.locate(location)
    if path and is_folder(path):
        raise BadInput(f"{path} is a folder.", "Give the path of the database file in it.")
    try:
        notices = _prepare_file(path) if path else []
        database = _open(path, steps)
    except (OSError, sqlite3.Error, UnicodeError) as error:
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
    # first: another process may create both
    has_journal = journal.exists() and journal.stat().st_size > 0
    status = path.stat() if path.exists() else None
    if status and status.st_size:
        if status.st_size < files.HEADER_BYTES:
            raise files.not_a_database(path)
        return []
    empty = "is empty (0 bytes): its contents are gone"
    if has_journal:
        raise DamagedDatabase(
            f"The database {path} {empty if status else 'is gone'}; its journal is still there.",
            f"Put the database back, or move {journal} away to start with a new one.",
        )
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        files.new_file(path)
    if status is None or time.time() - status.st_mtime <= _JUST_MADE:
        return []
    return [
        f"The database {path} was empty (0 bytes), as after a start that was cut off. A new one was created; "
        "sessions that it held before are gone."
    ]


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
    try:
        return _open_current(path, steps)
    except (sqlite3.Error, UnicodeError) as error:
        raise to_store_error(error, path) from error


def _open_current(path: Path, steps: Sequence[Step]) -> Database:
    """Open a database of the newest version read-only. Raises StoreError, sqlite3.Error, UnicodeError."""
    database = Database(path, is_read_only=True)
    try:
        version = _check(database)
        refuse_foreign(version, steps)
        if version < newest_format(steps):
            raise StoreError(
                f"The database {path} is of an older swecli (format {version}) and cannot be upgraded where it is.",
                "Copy it to a folder that can be written, and name the copy with --db.",
            )
    except BaseException:
        database.close()
        raise
    return database


def _check(database: Database) -> int:
    """Return the version of a database. Raises DamagedDatabase, sqlite3.Error for one that is damaged, of another
    program or with code of others."""
    path = database.path
    db = database.connection
    application = _ask(db, "PRAGMA application_id")
    version = _ask(db, "PRAGMA user_version")
    tables = _ask(db, "SELECT count(*) FROM sqlite_master")
    if application != files.APPLICATION_ID and (application or version or tables):
        raise DamagedDatabase(
            f"{path} belongs to another program.",
            "Choose another file with --db; this one was not touched.",
        )
    refuse_foreign_code(db.execute(STORED_CODE), path)
    if path and files.needs_check(path):
        answer = str(_ask(db, "PRAGMA quick_check(1)"))
        if answer != "ok" and "FTS5" not in answer:  # `check` rebuilds search indexes
            error = sqlite3.DatabaseError(answer)
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
    return int(version)


def _ask(db: sqlite3.Connection, question: str) -> Any:
    """Return the single value that a statement gives."""
    return db.execute(question).fetchone()[0]
