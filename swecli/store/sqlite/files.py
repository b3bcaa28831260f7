"""The database's file: its path, its permissions, the lock of its writer, and SQLite's errors as lines for the user.
Imports no SQLModel."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from swecli.models.errors import BadInput, DamagedDatabase, StoreError

APPLICATION_ID = 0x73776563  # "swec", in the header of the file
HEADER_BYTES = 100  # of SQLite's file format: no database is shorter
BUSY_SECONDS = 10.0
_CHEAP_TO_CHECK = 16 * 2**20  # bytes; a quick check reads 1 to 2 GB a second
_BUSY_LINES = (
    "The database is in use by another program.",
    "Try again, or close the other program.",
)
ELSEWHERE = "Check the permissions of the file and its folder, or choose another with --db."
# the message and the hint for the user, by SQLite's primary result code
_LINES = {
    sqlite3.SQLITE_FULL: (
        "No space is left to write {path}.",
        "Free some and try again; what was saved before is safe.",
    ),
    sqlite3.SQLITE_READONLY: ("The database {path} cannot be written.", ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("The database {path} cannot be opened.", ELSEWHERE),
    sqlite3.SQLITE_IOERR: (
        "The disk failed while reading or writing {path}.",
        "Check the disk and its free space; what was saved before is safe.",
    ),
    sqlite3.SQLITE_BUSY: _BUSY_LINES,
    sqlite3.SQLITE_LOCKED: _BUSY_LINES,
    sqlite3.SQLITE_CORRUPT: (
        "The database {path} is damaged.",
        "Where `swecli db check` does not repair it, restore a backup, or move it away to start with a new one; "
        "`sqlite3 FILE .recover` prints what can be read of it.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "{path} is not a database.",
        "Choose another with --db, or move the file away to start with a new one.",
    ),
}


def locate(location: str | Path) -> Path | None:
    """Return the file of a path or sqlite:/// URL; None for a database in memory. Raises BadInput."""
    text = str(location)
    scheme, separator, rest = text.partition("://")
    if separator and scheme != "sqlite":
        kind = scheme.partition(":")[0]
        raise BadInput(
            f"Databases of type {kind!r} are not supported.", "Give a path or a sqlite:/// URL."
        )
    if not text.strip():
        raise BadInput("No database given.", "Give a path or a sqlite:/// URL.")
    file = rest.removeprefix("/") if separator else text
    return None if file in ("", ":memory:") else Path(file).expanduser().absolute()


def new_file(path: Path) -> None:
    """Create an empty file with mode 0600. Raises FileExistsError, OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def spare_name(path: Path, purpose: str) -> Path:
    """Return a path beside the file with a purpose and the time, to the microsecond."""
    return path.with_name(f"{path.name}.{purpose}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")


def needs_check(path: Path) -> bool:
    """Return whether the file is small enough to be checked for damage each time it is opened."""
    return path.exists() and path.stat().st_size <= _CHEAP_TO_CHECK


def is_read_only(path: Path) -> bool:
    """Return whether the file exists, and it or its folder cannot be written, as on a read-only disk."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def reading_uri(path: Path, *, is_read_only: bool) -> str:
    """Return SQLite's URI to open a file for reading; a read-only one without locks and shared memory."""
    immutable = "&immutable=1" if is_read_only else ""
    return f"{path.as_uri()}?mode=ro{immutable}"


@contextmanager
def write_lock(database: Path | None, patience: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock beside the database, so that one of our processes writes at a time. Raises StoreError after
    `patience` seconds.

    SQLite before 3.51.3 can damage a WAL database when one connection commits while another checkpoints (the WAL-reset
    bug). Without effect on file systems without locks."""
    with ExitStack() as cleanup:
        with suppress(OSError):
            if database is not None:
                handle = os.open(f"{database}-lock", os.O_CREAT | os.O_RDWR, 0o600)
                cleanup.callback(os.close, handle)  # releases the lock
                _lock(handle, time.monotonic() + patience)
        yield


def _lock(handle: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StoreError(*_BUSY_LINES) from None
            time.sleep(0.002)
        else:
            return


def not_a_database(path: Path) -> DamagedDatabase:
    """Return the error for a file that cannot be a database."""
    message, hint = _LINES[sqlite3.SQLITE_NOTADB]
    return DamagedDatabase(message.replace("{path}", str(path)), hint)


def to_store_error(error: Exception, path: Path | None) -> StoreError:
    """Convert an error to one with a message and a hint for the user."""
    origin = getattr(error, "orig", None) or error
    name = str(path or "in memory")
    code = int(getattr(origin, "sqlite_errorcode", 0)) & 0xFF  # without its extension
    if isinstance(origin, UnicodeError):  # SQLite quotes a corrupt schema in its message
        code = sqlite3.SQLITE_CORRUPT
    # a full disk is reported as these, too
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and path:
        with suppress(OSError):
            if os.statvfs(path.parent).f_bavail == 0:
                code = sqlite3.SQLITE_FULL
    if code not in _LINES:
        return StoreError(f"The database {name} refused: {' '.join(str(origin).split())}")
    line, hint = _LINES[code]
    message = line.replace("{path}", name)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DamagedDatabase(message, hint)
    return StoreError(message, hint)
