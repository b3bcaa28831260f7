"""The database as the store uses it: opened, brought up to date, changed in transactions, checked and copied."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlmodel
from sqlalchemy.exc import SQLAlchemyError

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite import files
from swecli.store.sqlite.files import code_of, explain
from swecli.store.sqlite.migrations import STEPS, Step, migrate
from swecli.store.sqlite.rescue import rescue

_JUST_MADE = 5.0  # seconds for which an empty file may be one that another process is making


class Database:
    """An open database. One thread uses it at a time; it need not be the one that opened it.

    `notices` are lines for the user about what happened to it (a rescue, an upgrade). `path` is None for a database in
    memory. With `only_read` nothing can be changed.
    """

    def __init__(self, path: Path | None, *, only_read: bool = False) -> None:
        self.path, self.only_read = path, only_read
        self.notices: list[str] = []
        self.engine = sqlite.make_engine(path, only_read=only_read)
        self._file = (0, 0)
        self._turn = threading.RLock()
        self._inside = False
        self._closed = False
        self._writer: files.WriterLock | None = None

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Change the database: all of the block is committed at its end, or nothing of it when it raises. What is
        committed survives a kill and a power cut. Transactions do not nest. Raises StoreError."""
        if self.only_read:
            raise StoreError(
                f"The database {self.path} can only be read.",
                "Check the permissions of the file and its folder, or choose another with --db.",
            )
        with self._exclusively():
            if self.path and files.identity(self.path) != self._file:  # what goes into a file without a name is lost
                raise StoreError(
                    f"The database {self.path} was deleted, moved or replaced while swecli ran.",
                    "Nothing more can be stored: put it back, or leave and start again.",
                )
            session = sqlmodel.Session(self.engine, expire_on_commit=False)
            with self._writing(), session, session.begin():
                yield session

    @contextmanager
    def reading(self) -> Iterator[sqlmodel.Session]:
        """Read as of one moment, without waiting for writers. Raises StoreError like `transaction`."""
        engine = self.engine.execution_options(begin="BEGIN")
        with self._exclusively(), sqlmodel.Session(engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock that writers of this file take in turn, where this SQLite needs one."""
        if self._writer is None and self.path and files.has_wal_reset_bug():
            self._writer = files.WriterLock(self.path)
        if self._writer is None:
            yield
            return
        with self._writer.held():
            yield

    def bring_up(self, found: sqlite.Identity, steps: Sequence[Step]) -> None:
        """Run the missing steps in one transaction, behind a copy of the file; settle doubts; choose the journal."""
        if self.path and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        with self._writing():
            if not found.empty and found.version < len(steps) and self.path:
                copy = files.spare_name(self.path, f"before-{len(steps)}")
                sqlite.copy_file(self.engine, copy)
                self.notices.append(f"The database was upgraded; a copy of it as it was is in {copy}.")
            if found.version != len(steps):
                with self.engine.begin() as connection:
                    # read again: another process may have done it since
                    migrate(connection, sqlite.identify(connection).version, steps)
            if self.path:
                if (suspect := Path(f"{self.path}{files.SUSPECT}")).exists():
                    # its structure has been checked: what was met is mended, or was an index of words gone wrong
                    with self.engine.begin() as connection:
                        sqlite.rebuild_search(connection)
                    suspect.unlink(missing_ok=True)
                sqlite.use_wal(self.engine)
                self._file = files.identity(self.path)

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
                if self.path and code_of(error) == sqlite3.SQLITE_CORRUPT:
                    with suppress(OSError):  # only a note to look when it is next opened
                        Path(f"{self.path}{files.SUSPECT}").touch(mode=0o600)
                raise explain(error, self.path) from error
            finally:
                self._inside = False

    def close(self) -> None:
        """Close the file; twice is fine. What was committed is safe with or without it."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._writer is not None:
                with suppress(StoreError), self._writer.held():  # the last to close moves the WAL into the file
                    self.engine.dispose()
                self._writer.close()
            self.engine.dispose()

    def check(self) -> list[str]:
        """Read the whole database and report what is wrong with it, one line each; empty when it is in order."""
        with self.transaction() as db:
            return sqlite.problems(db.connection())

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
                sqlite.copy_file(self.engine, target)
        except (OSError, StoreError) as error:
            with suppress(OSError):  # where nothing could be made there is nothing to remove
                target.unlink(missing_ok=True)
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{target} cannot be written: {error}.", "Nothing was changed; choose another place."
            ) from error
        return target


def open_database(location: str | Path, *, steps: Sequence[Step] = STEPS, to_read: bool = False) -> Database:
    """Open the database at a path or a sqlite:/// URL, make it if there is none, and bring it to the newest shape.

    An older one is first copied to a file beside it. One that is damaged is set aside and what is readable is
    saved into a new one; `Database.notices` reports it. With `to_read` one that cannot be written is opened as it is,
    and an empty one is refused.

    Raises:
        BadInput: the location cannot be used.
        NewerDatabase: made by a newer swecli; it is not touched.
        DamagedDatabase: not ours, no database, or so damaged that it could not be set aside; it is not touched.
        StoreError: the disk does not let it.
    """
    path = files.locate(location)
    if path and path.is_dir():
        raise BadInput(f"{path} is a folder.", "Give the path of the database file in it.")
    try:
        if path and to_read and files.only_readable(path):
            return _open(path, steps, check=False, only_read=True)
        notices = _fill_the_place(path, to_read=to_read) if path else []
        try:
            database = _open(path, steps, check=path is not None and files.needs_check(path))
        except _Broken as broken:
            assert path is not None  # memory does not break
            notices.append(rescue(path, broken.reason, steps))
            database = _open(path, steps, check=True)
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be used: {error.strerror or error}.",
            "Check the path and its permissions, or choose another with --db.",
        ) from error
    except _Broken as broken:
        raise DamagedDatabase(
            f"The database {path} is damaged: {broken.reason}", "Move it away to start with a new one."
        ) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise explain(error, path) from error
    database.notices[:0] = notices
    return database


def _fill_the_place(path: Path, *, to_read: bool) -> list[str]:
    """Make an empty file where there is none; lines about one that is there, and about a journal without its database,
    which SQLite deletes as it opens an empty file: it is kept."""
    there = path.stat() if path.exists() else None
    if there and there.st_size:
        return []
    if there and to_read:
        raise DamagedDatabase(
            f"The database {path} is empty (0 bytes): whatever was in it is gone from there.",
            "Start swecli to create a new one in it.",
        )
    files.make_folders(path)
    with suppress(FileExistsError):
        files.new_file(path)
    journal, kept = Path(f"{path}-wal"), ""
    if journal.exists() and journal.stat().st_size:
        aside = Path(f"{files.spare_name(path, 'lost')}-wal")
        shutil.copy2(journal, aside)
        kept = f" Its journal is kept in {aside}."
    if kept or (there and time.time() - there.st_mtime > _JUST_MADE):
        what = "is empty (0 bytes): whatever was in it is gone from there" if there else "was gone"
        return [f"The database {path} {what}. A new one was created.{kept}"]
    return []


class _Broken(Exception):
    """A database of ours whose structure is broken."""

    def __init__(self, reason: object) -> None:
        super().__init__(reason)
        self.reason = " ".join(str(reason).split())


def _open(path: Path | None, steps: Sequence[Step], *, check: bool, only_read: bool = False) -> Database:
    database, ours = Database(path, only_read=only_read), False
    try:
        with database.engine.execution_options(begin="BEGIN").connect() as connection:
            found = sqlite.identify(connection)
            ours = found.ours
            if not (ours or found.empty):
                raise DamagedDatabase(
                    f"{path} belongs to another program.", "Choose another file with --db; this one was not touched."
                )
            if check and (problem := sqlite.quick_problem(connection)):
                raise _Broken(problem)
        if only_read and found.version != len(steps):
            raise StoreError(
                f"The database {path} has shape {found.version} (this swecli: {len(steps)}) and can only be read.",
                "Start swecli once where it can be written, or choose another with --db.",
            )
        if not only_read:
            database.bring_up(found, steps)
    except BaseException as error:
        database.close()
        if ours and code_of(error) == sqlite3.SQLITE_CORRUPT:
            raise _Broken(getattr(error, "orig", None) or error) from error
        raise
    return database
