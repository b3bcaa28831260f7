"""A database put in its place: created where there is none or only an empty file, and saved again where it was deleted,
moved, replaced or cut off while it was open. What was lost is named."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from swecli.models.errors import StoreError
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.files import make_folders, new_file, spare_name
from swecli.store.sqlite.lock import WriterLock
from swecli.store.sqlite.migrations import Step, migrate


def create(path: Path, steps: Sequence[Step]) -> list[str]:
    """Make a database at `path`, unless another process is faster; lines about what was found in its place.

    It is made whole beside its place and then put there, so that an empty file is never one that we are just making.

    Raises:
        OSError, StoreError, SQLAlchemyError: it cannot be made.
    """
    make_folders(path)
    notices = _set_journals_aside(path)
    fresh = spare_name(path, f"new-{os.getpid()}")
    new_file(fresh)
    try:
        engine = sqlite.make_engine(fresh)
        try:
            with engine.begin() as connection:
                migrate(connection, 0, steps)
        finally:
            engine.dispose()
        with suppress(FileExistsError):
            _put(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    return notices


def _put(fresh: Path, path: Path) -> None:
    """Give the file its name, if that is free, and have the folder keep it. Raises FileExistsError."""
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        if path.exists():
            raise FileExistsError(path) from None
        fresh.rename(path)
    with suppress(OSError):  # some file systems cannot
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _set_journals_aside(path: Path) -> list[str]:
    """Journals without their database: it was deleted or moved away. SQLite would take them for the new one's."""
    if not _journals(path):
        return []
    lock = WriterLock(path)
    try:
        with lock.held():
            if path.exists() or not _journals(path):  # another process has done it
                return []
            aside = spare_name(path, "lost")
            for side in _journals(path):
                Path(f"{path}{side}").rename(f"{aside}{side}")
    finally:
        lock.close()
    return [
        f"The database {path} was gone, deleted or moved away without its journal. A new one was created; "
        f"the journal is kept in {aside}-wal.{copies(path)}"
    ]


def _journals(path: Path) -> list[str]:
    return [side for side in sqlite.SIDE_FILES if Path(f"{path}{side}").exists()]


def empty_line(path: Path) -> str:
    """What the user reads of a database file without a byte in it."""
    return f"The database {path} is empty (0 bytes): whatever was in it is gone from there."


def keep_journal(path: Path) -> str:
    """Copy the journal of an empty file, which SQLite deletes when it opens that; a line about the file and copies."""
    journal, kept = Path(f"{path}-wal"), ""
    if journal.exists() and journal.stat().st_size:
        aside = Path(f"{spare_name(path, 'empty')}-wal")
        shutil.copy2(journal, aside)
        kept = f" Its journal is kept in {aside}."
    return f"{empty_line(path)} A new one was created in it.{kept}{copies(path)}"


def copies(path: Path) -> str:
    """A sentence that names the newest copies beside a database; "" where there are none."""
    kinds = ("before", "backup", "damaged", "kept")
    found = [file for kind in kinds for file in path.parent.glob(f"{path.name}.{kind}-*")]
    whole = [file.name for file in found if not file.name.endswith(sqlite.SIDE_FILES)]
    newest = sorted(whole, key=lambda name: name[-15:])[-3:]  # they end with the time
    return f" Older copies lie beside it: {', '.join(newest)}." if newest else ""


class FileState(NamedTuple):
    """Which file has a name: device and inode (0 for none), its bytes, and the inode of the journal beside it."""

    device: int = 0
    inode: int = 0
    size: int = 0
    journal: int = 0


def state_of(path: Path) -> FileState:
    """The file that has this name now."""
    state, journal = FileState(), 0
    with suppress(OSError):
        journal = Path(f"{path}-wal").stat().st_ino
    with suppress(OSError):
        found = path.stat()
        state = FileState(found.st_dev, found.st_ino, found.st_size)
    return state._replace(journal=journal)


def is_broken(engine: Engine) -> bool:
    """Whether a file that became smaller is a broken one. (It is none when somebody let SQLite tidy it up.)"""
    try:
        with engine.execution_options(begin="BEGIN").connect() as connection:
            return bool(sqlite.quick_problem(connection))
    except (SQLAlchemyError, sqlite3.Error):
        return True


def save_again(engine: Engine, old: Path, was: FileState) -> tuple[Path, str]:
    """Save all that an open database has, whose name `old` is gone or another file's; where, and a line about it.

    `was` is what had the name. It gets its name back where that is free. Raises StoreError when it cannot be saved.
    """
    replaced = old.exists()
    to, fresh = spare_name(old, "kept") if replaced else old, spare_name(old, f"saving-{os.getpid()}")
    try:
        make_folders(to)
        sqlite.copy_file(engine, fresh)
        if not replaced or was.journal == state_of(old).journal != 0:
            # of the file without a name: all that is in them was copied, and SQLite would take them for the new one's
            for side in sqlite.SIDE_FILES:
                Path(f"{old}{side}").unlink(missing_ok=True)
        fresh.replace(to)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise StoreError(
            f"The database {old} was deleted or replaced while swecli ran, and cannot be saved again: {error}.",
            "Nothing is stored until it can.",
        ) from error
    if not replaced:
        gone = f"The database {old} was deleted or moved away while swecli ran."
        return to, f"{gone} All that was in it is saved there again."
    return to, (
        f"The database {old} was replaced by another file while swecli ran. All that was in it, with this session, is "
        f"kept in {to} and goes on there: swecli --db {to} -c"
    )
