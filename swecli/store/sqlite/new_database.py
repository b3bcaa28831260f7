"""A database where there is none, or only an empty file: created, and never without naming what was lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

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
