"""The database as the store uses it: opened, brought up to date, and changed in transactions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlmodel
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store import sqlite
from swecli.store.faults import explain, is_damage
from swecli.store.files import keep_private, make_private, spare_name
from swecli.store.migrations import STEPS, Step, migrate
from swecli.store.rescue import rescue


class Database:
    """An open database. One thread uses it at a time; it need not be the one that opened it.

    `notices` are lines for the user about what happened while it was opened (a rescue, an upgrade).
    `path` is None for a database in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.url = f"sqlite:///{path}" if path else "sqlite://"
        self.notices: list[str] = []
        self.engine = sqlite.make_engine(path)
        self._turn = threading.RLock()
        self._inside = False
        self._closed = False
        self._writer: sqlite.WriterLock | None = None

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Change the database: all of the block is committed at its end, or nothing of it when it raises.

        What is committed survives a kill and a power cut. Transactions do not nest.

        Raises:
            StoreError: with one line, when the disk, its space or another program does not let it.
        """
        session = sqlmodel.Session(self.engine, expire_on_commit=False)
        with self._exclusively(), self.writing(), session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[sqlmodel.Session]:
        """Read as of one moment, without waiting for writers. Raises StoreError like `transaction`."""
        engine = self.engine.execution_options(begin="BEGIN")
        with self._exclusively(), sqlmodel.Session(engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock that writers of this file take in turn, where this SQLite needs one."""
        if self._writer is None and self.path and sqlite.has_wal_reset_bug():
            self._writer = sqlite.WriterLock(self.path)
        if self._writer is None:
            yield
            return
        with self._writer.held():
            yield

    def bring_up(self, identity: sqlite.Identity, steps: Sequence[Step]) -> None:
        """Run the missing steps in one transaction, behind a copy of the file; settle doubts; choose the journal."""
        with self.writing():
            if not identity.empty and identity.version < len(steps) and self.path:
                copy = spare_name(self.path, f"before-{len(steps)}")
                sqlite.copy_file(self.engine, copy)
                self.notices.append(f"The database was upgraded; as it was before, it is kept in {copy}.")
            if identity.version != len(steps):
                with self.engine.begin() as connection:
                    # read again: another process may have done it since
                    migrate(connection, sqlite.identify(connection).version, steps)
            if self.path and (suspect := Path(f"{self.path}{sqlite.SUSPECT}")).exists():
                # its structure has been checked: what was met is mended, or was an index of words gone wrong
                with self.engine.begin() as connection:
                    sqlite.rebuild_search(connection)
                suspect.unlink(missing_ok=True)
            if self.path:
                sqlite.use_journal(self.engine, wal=self._writer is None or self._writer.works)

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
                if self.path and is_damage(error):
                    with suppress(OSError):  # only a note to look when it is next opened
                        Path(f"{self.path}{sqlite.SUSPECT}").touch(mode=0o600)
                raise explain(error, self.path) from error
            finally:
                self._inside = False

    def close(self) -> None:
        """Close the file; twice is fine. What was committed is safe with or without it."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._writer is None:
                self.engine.dispose()
                return
            try:
                with self._writer.held():  # the last to close moves what is in the WAL into the file
                    self.engine.dispose()
            except StoreError:
                self.engine.dispose()  # another is writing all the time, so this is not the last
            self._writer.close()


def locate(location: str | Path) -> Path | None:
    """The file meant by a path or a sqlite:/// URL; None for a database in memory. Raises BadInput."""
    text = str(location)
    if "://" not in text:
        if not text.strip():
            raise BadInput("No database is named.", "Give a path or a sqlite:/// URL.")
        return None if text == ":memory:" else Path(text).expanduser().absolute()
    try:
        url = make_url(text)
    except ArgumentError:
        raise BadInput("The database URL cannot be read.", "Give a path or a sqlite:/// URL.") from None
    if url.get_backend_name() != "sqlite":
        raise BadInput(f"A database of kind {url.get_backend_name()!r} cannot be used.", "Give a sqlite:/// URL.")
    if not url.database or url.database == ":memory:":
        return None
    return Path(url.database).expanduser().absolute()


def open_database(location: str | Path, *, steps: Sequence[Step] = STEPS) -> Database:
    """Open the database there, make it if there is none, and bring it to the newest shape.

    An older one is first copied to a file beside it. One that is damaged is set aside and what is readable is
    saved into a new one; `Database.notices` says so.

    Args:
        location: a path or a sqlite:/// URL.

    Raises:
        BadInput: the location cannot be used.
        NewerDatabase: made by a newer swecli; it is not touched.
        DamagedDatabase: not ours, no database, or so damaged that it could not be set aside; it is not touched.
        StoreError: the disk does not let it.
    """
    path = locate(location)
    if path and path.is_dir():
        raise BadInput(f"{path} is a folder.", "Name the database file in it.")
    try:
        check = path is not None and sqlite.needs_check(path)
        if path:
            make_private(path)
        try:
            return _open(path, steps, check=check)
        except _Broken as broken:
            assert path is not None  # memory does not break
            notice = rescue(path, broken.reason, steps)
        database = _open(path, steps, check=True)
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be used: {error.strerror or error}.",
            "Check the path and its permissions, or choose another with --db.",
        ) from error
    except _Broken as broken:
        raise DamagedDatabase(
            f"The database {path} is damaged: {broken.reason}", "Move it away to begin anew."
        ) from None
    database.notices.insert(0, notice)
    return database


class _Broken(Exception):
    """A database of ours whose structure is broken."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = " ".join(reason.split())


def _open(path: Path | None, steps: Sequence[Step], *, check: bool) -> Database:
    database = Database(path)
    ours = False
    try:
        with database.engine.execution_options(begin="BEGIN").connect() as connection:
            identity = sqlite.identify(connection)
            ours = identity.ours
            if not (identity.ours or identity.empty):
                raise DamagedDatabase(
                    f"{path} is another program's database.", "Choose another file with --db; this one was not touched."
                )
            if check and (problem := sqlite.quick_problem(connection)):
                raise _Broken(problem)
        if path:
            keep_private(path)
        database.bring_up(identity, steps)
    except BaseException as error:
        database.close()
        if ours and is_damage(error):
            raise _Broken(str(getattr(error, "orig", None) or error)) from error
        if isinstance(error, (SQLAlchemyError, sqlite3.Error)):
            raise explain(error, path) from error
        raise
    return database
