"""The database's file: where it is, that it is private to the user, who writes it, and what SQLite reports of it as one
line for the user. Needs no SQLModel."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from swecli.models.errors import BadInput, DamagedDatabase, StoreError

APPLICATION_ID = 0x73776563  # "swec", in the header of the file
SUSPECT = "-suspect"  # an empty file of this ending says that damage was met
CHEAP_TO_CHECK = 16 * 2**20  # bytes; a quick check reads 1 to 2 GB a second
BUSY_SECONDS = 10.0
_BUSY_LINES = ("The database is in use by another program.", "Try again, or close the other program.")
_ELSEWHERE = "Check the permissions of the file and its folder, or choose another with --db."
_LINES = {
    sqlite3.SQLITE_FULL: (
        "No space is left to write {path}.",
        "Free some and try again; what was saved before is safe.",
    ),
    sqlite3.SQLITE_READONLY: ("The database {path} cannot be written.", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("The database {path} cannot be opened.", _ELSEWHERE),
    sqlite3.SQLITE_IOERR: (
        "The disk failed while reading or writing {path}.",
        "Check the disk and its free space; what was saved before is safe.",
    ),
    sqlite3.SQLITE_BUSY: _BUSY_LINES,
    sqlite3.SQLITE_LOCKED: _BUSY_LINES,
    sqlite3.SQLITE_CORRUPT: (
        "The database {path} is damaged.",
        "Start again: what is readable will be saved into a new one, and the damaged file kept.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "{path} is not a database.",
        "Choose another with --db, or move the file away to start with a new one.",
    ),
}


def locate(location: str | Path) -> Path | None:
    """The file meant by a path or a sqlite:/// URL; None for a database in memory. Raises BadInput."""
    text = str(location)
    if "://" not in text:
        if not text.strip():
            raise BadInput("No database given.", "Give a path or a sqlite:/// URL.")
        return None if text == ":memory:" else Path(text).expanduser().absolute()
    # late: a plain path needs no URL parser, and a command that only names the file none of what comes with it
    from sqlalchemy.engine import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(text)
    except ArgumentError:
        raise BadInput("The database URL cannot be read.", "Give a path or a sqlite:/// URL.") from None
    if url.get_backend_name() != "sqlite":
        raise BadInput(f"Databases of type {url.get_backend_name()!r} are not supported.", "Give a sqlite:/// URL.")
    if not url.database or url.database == ":memory:":
        return None
    return Path(url.database).expanduser().absolute()


def make_folders(path: Path) -> None:
    """Make the missing folders of a file, for this user alone. Raises OSError. (A umask would for a moment also govern
    files that other threads write for the user.)"""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def new_file(path: Path) -> None:
    """Make an empty file for this user alone. Raises FileExistsError, OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def spare_name(path: Path, purpose: str) -> Path:
    """A free name beside the file that says what it is for and when it was made."""
    stem = f"{path.name}.{purpose}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    tries = (path.with_name(stem + (f"-{n}" if n else "")) for n in range(1000))
    return next(name for name in tries if not name.exists())


def only_readable(path: Path) -> bool:
    """Whether the file is there and SQLite could not write it, or no journal beside it."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK))


def identity(path: Path) -> tuple[int, int]:
    """Device and inode of the file that has this name now; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def needs_check(path: Path) -> bool:
    """Whether to look for damage before the file is used: damage was met, or looking is cheap."""
    return path.exists() and (Path(f"{path}{SUSPECT}").exists() or path.stat().st_size <= CHEAP_TO_CHECK)


def has_wal_reset_bug(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite can damage a WAL database when one connection commits while another checkpoints."""
    fixed_in = {(3, 44): 6, (3, 50): 7}
    return version < (3, 51, 3) and version[2] < fixed_in.get((version[0], version[1]), 1000)


class WriterLock:
    """A lock beside the database that lets one of our processes write at a time, where SQLite's own is not enough.

    SQLite versions with the WAL-reset bug are safe in WAL only while no commit runs beside a checkpoint of another
    connection. So on those versions commits and the checkpoints that follow them are made one after the other, under
    this lock. Where the file system has no such locks there is none.
    """

    def __init__(self, database: Path) -> None:
        self._file = os.open(f"{database}-lock", os.O_CREAT | os.O_RDWR, 0o600)

    @contextmanager
    def held(self, patience: float = BUSY_SECONDS) -> Iterator[None]:
        """Hold it. Raises StoreError after that many seconds of waiting."""
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise StoreError(*_BUSY_LINES) from None
                time.sleep(0.002)
            except OSError:
                break
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it up."""
        os.close(self._file)


def code_of(error: BaseException) -> int:
    """SQLite's primary result code behind an error; 0 where there is none."""
    origin = getattr(error, "orig", None) or error
    return int(getattr(origin, "sqlite_errorcode", 0)) & 0xFF


def explain(error: Exception, path: Path | None) -> StoreError:
    """The error as a line for the user, with what to do next."""
    code, name = code_of(error), str(path or "in memory")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and path:  # also what a full disk is reported as
        with suppress(OSError):
            code = code if os.statvfs(path.parent).f_bavail else sqlite3.SQLITE_FULL
    if code not in _LINES:
        origin = getattr(error, "orig", None) or error
        return StoreError(f"The database {name} refused: {' '.join(str(origin).split())}")
    message, hint = _LINES[code]
    kind = DamagedDatabase if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) else StoreError
    return kind(message.replace("{path}", name), hint)
