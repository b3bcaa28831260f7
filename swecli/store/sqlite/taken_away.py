"""A database file that was deleted, moved, replaced or cut off while it is open: what is still in reach is saved."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from swecli.models.errors import StoreError
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.files import make_folders, spare_name


@dataclass(frozen=True, slots=True)
class Place:
    """Which file has a name: device and inode (0 for none), its bytes, and the inode of the journal beside it."""

    device: int = 0
    inode: int = 0
    size: int = 0
    journal: int = 0

    def same_file(self, other: Place) -> bool:
        """Whether both are one file."""
        return (self.device, self.inode) == (other.device, other.inode)


def place_of(path: Path) -> Place:
    """The file that has this name now."""
    found, journal = _stat(path), _stat(Path(f"{path}-wal"))
    inode = journal.st_ino if journal else 0
    return Place(found.st_dev, found.st_ino, found.st_size, inode) if found else Place(journal=inode)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def is_broken(engine: Engine) -> bool:
    """Whether a file that became smaller is a broken one. (It is none when somebody let SQLite tidy it up.)"""
    try:
        with engine.execution_options(begin="BEGIN").connect() as connection:
            return bool(sqlite.quick_problem(connection))
    except (SQLAlchemyError, sqlite3.Error):
        return True


def save_again(engine: Engine, old: Path, was: Place) -> tuple[Path, str]:
    """Save all that an open database has, whose name `old` is gone or another file's; where, and a line about it.

    `was` is what had the name. It gets its name back where that is free. Raises StoreError when it cannot be saved.
    """
    replaced = old.exists()
    to, fresh = spare_name(old, "kept") if replaced else old, spare_name(old, f"saving-{os.getpid()}")
    try:
        make_folders(to)
        sqlite.copy_file(engine, fresh)
        if not replaced or was.journal == place_of(old).journal != 0:
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
