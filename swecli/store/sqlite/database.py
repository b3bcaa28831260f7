"""The database as the store uses it: opened, brought up to date, and changed in transactions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import sqlmodel
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite import files, placing
from swecli.store.sqlite.errors import cannot_write, explain, is_damage
from swecli.store.sqlite.lock import WriterLock, has_wal_reset_bug
from swecli.store.sqlite.migrations import STEPS, Step, migrate
from swecli.store.sqlite.rescue import rescue


class Database:
    """An open database. One thread uses it at a time; it need not be the one that opened it.

    `notices` are lines for the user about what happened to it (a rescue, an upgrade, a file that was taken away).
    `path` is None for a database in memory. `only_read` as `make_engine` takes it; then nothing can be changed.
    """

    def __init__(self, path: Path | None, only_read: str = "") -> None:
        self.path, self.only_read = path, only_read
        self.url = f"sqlite:///{path}" if path else "sqlite://"
        self.notices: list[str] = []
        self.engine = sqlite.make_engine(path, only_read)
        self.scratch = ExitStack()  # what goes when it is closed
        self._reported = 0
        self._place: placing.FileState | None = None
        self._turn = threading.RLock()
        self._inside = False
        self._closed = False
        self._writer: WriterLock | None = None

    @contextmanager
    def transaction(self) -> Iterator[sqlmodel.Session]:
        """Change the database: all of the block is committed at its end, or nothing of it when it raises.

        What is committed survives a kill and a power cut. Transactions do not nest.

        Raises:
            StoreError: with one line, when the disk, its space or another program does not let it.
        """
        if self.only_read:
            raise StoreError(
                f"The database {self.path} can only be read.",
                "Check the permissions of the file and its folder, or choose another with --db.",
            )
        with self._exclusively():
            self._stay()
            session = sqlmodel.Session(self.engine, expire_on_commit=False)
            with self.writing(), session, session.begin():
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
        if self._writer is None and self.path and has_wal_reset_bug():
            self._writer = WriterLock(self.path)
        if self._writer is None:
            yield
            return
        with self._writer.held():
            yield

    def bring_up(self, identity: sqlite.Identity, steps: Sequence[Step]) -> None:
        """Run the missing steps in one transaction, behind a copy of the file; settle doubts; choose the journal."""
        with self.writing():
            if not identity.empty and identity.version < len(steps) and self.path:
                copy = files.spare_name(self.path, f"before-{len(steps)}")
                sqlite.copy_file(self.engine, copy)
                self.notices.append(f"The database was upgraded; a copy of it as it was is in {copy}.")
            if identity.version != len(steps):
                with self.engine.begin() as connection:
                    # read again: another process may have done it since
                    migrate(connection, sqlite.identify(connection).version, steps)
            if self.path and (suspect := Path(f"{self.path}{files.SUSPECT}")).exists():
                # its structure has been checked: what was met is mended, or was an index of words gone wrong
                with self.engine.begin() as connection:
                    sqlite.rebuild_search(connection)
                suspect.unlink(missing_ok=True)
            if self.path:
                sqlite.use_journal(self.engine, wal=self._writer is None or self._writer.works)

    def unreported(self) -> list[str]:
        """The notices that came since this was last asked."""
        fresh, self._reported = self.notices[self._reported :], len(self.notices)
        return fresh

    def remember_place(self) -> None:
        """From now on, notice when the file is taken away."""
        self._place = placing.state_of(self.path) if self.path else None

    def _stay(self) -> None:
        """Before something is committed: is the file still there? What is committed into one without a name is lost.

        Where it is not, all of it is saved again, and the work goes on there. Raises DamagedDatabase when a part of it
        was cut off.
        """
        if self.path is None or self._place is None:
            return
        before, now = self._place, placing.state_of(self.path)
        if now[:2] != before[:2]:
            self._go_on_in(*placing.save_again(self.engine, self.path, before))
        elif now.size < before.size and placing.is_broken(self.engine):
            raise DamagedDatabase(
                f"The database {self.path} was cut off while swecli ran: {now.size:,} of {before.size:,} bytes left.",
                "Nothing is stored any more: leave and start again, which saves what can be read.",
            )
        else:
            self._place = now

    def _go_on_in(self, path: Path, notice: str) -> None:
        self.engine.dispose()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self.path, self.url, self.engine = path, f"sqlite:///{path}", sqlite.make_engine(path)
        self.notices.append(notice)
        with self.writing():
            sqlite.use_journal(self.engine, wal=self._writer is None or self._writer.works)
        self.remember_place()

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
            self.scratch.close()
            if self._writer is None:
                self.engine.dispose()
                return
            try:
                with self._writer.held():  # the last to close moves what is in the WAL into the file
                    self.engine.dispose()
            except StoreError:
                self.engine.dispose()  # another is writing all the time, so this is not the last
            self._writer.close()


def open_database(location: str | Path, *, steps: Sequence[Step] = STEPS, to_read: bool = False) -> Database:
    """Open the database there, make it if there is none, and bring it to the newest shape.

    An older one is first copied to a file beside it. One that is damaged is set aside and what is readable is
    saved into a new one; `Database.notices` reports it.

    Args:
        location: a path or a sqlite:/// URL.
        to_read: for who asks it something: one that cannot be written is opened as it is, an empty one is refused.

    Raises:
        BadInput: the location cannot be used.
        NewerDatabase: made by a newer swecli; it is not touched.
        DamagedDatabase: not ours, no database, or so damaged that it could not be set aside; it is not touched.
        StoreError: the disk does not let it.
    """
    path = files.locate(location)
    if path and path.is_dir():
        raise BadInput(f"{path} is a folder.", "Give the path of the database file in it.")
    notices: list[str] = []
    try:
        if path:
            if to_read and _is_empty(path):
                raise DamagedDatabase(
                    placing.empty_line(path) + placing.copies(path), "Start swecli to create a new one in it."
                )
            if to_read and files.only_readable(path):
                return _open_to_read(path, steps)
            notices = [placing.keep_journal(path)] if _is_empty(path) else []
            if not path.exists():
                notices = placing.create(path, steps)
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
    except StoreError as error:
        if path is None or not to_read or not cannot_write(error):
            raise
        return _open_to_read(path, steps)
    except (SQLAlchemyError, sqlite3.Error) as error:  # it could not be made
        raise explain(error, path) from error
    database.notices[:0] = notices
    return database


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _open_to_read(path: Path, steps: Sequence[Step]) -> Database:
    """As it is, where it has the newest shape and SQLite can read it there; else a copy of it, brought up to date."""
    only_read = "mode=ro" if files.has_journal(path) else "mode=ro&immutable=1"
    database = Database(path, only_read)
    try:
        with database.engine.execution_options(begin="BEGIN").connect() as connection:
            identity = _known(connection, path)
        if identity.ours and identity.version == len(steps):
            return database
    except SQLAlchemyError as error:
        explained = explain(error, path)
        explained.__cause__ = error
        if not cannot_write(explained):  # else: its journal needs a file that cannot be made there
            raise explained from error
    database.close()
    with ExitStack() as scratch:
        copy = scratch.enter_context(files.copied(path))
        database = _open(copy, steps, check=False)
        database.path, database.only_read = path, only_read
        database.notices.clear()
        database.scratch = scratch.pop_all()
    return database


def _known(connection: Connection, path: Path | None) -> sqlite.Identity:
    """What the file is. Raises DamagedDatabase when it is another program's."""
    identity = sqlite.identify(connection)
    if not (identity.ours or identity.empty):
        raise DamagedDatabase(
            f"{path} belongs to another program.", "Choose another file with --db; this one was not touched."
        )
    return identity


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
            identity = _known(connection, path)
            ours = identity.ours
            if check and (problem := sqlite.quick_problem(connection)):
                raise _Broken(problem)
        if path:
            files.keep_private(path)
        database.bring_up(identity, steps)
        database.remember_place()
    except BaseException as error:
        database.close()
        if ours and is_damage(error):
            raise _Broken(str(getattr(error, "orig", None) or error)) from error
        if isinstance(error, (SQLAlchemyError, sqlite3.Error)):
            raise explain(error, path) from error
        raise
    return database
