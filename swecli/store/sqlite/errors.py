"""What SQLite reports, as one line for the user and what to do next."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from swecli.models.errors import DamagedDatabase, StoreError

BUSY_LINES = ("The database is in use by another program.", "Try again, or close the other program.")
_LINES = {
    sqlite3.SQLITE_FULL: (
        "No space is left to write {path}.",
        "Free some and try again; what was saved before is safe.",
    ),
    sqlite3.SQLITE_READONLY: (
        "The database {path} cannot be written.",
        "Check the permissions of the file and its folder, or choose another with --db.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "The database {path} cannot be opened.",
        "Check the path and its permissions, or choose another with --db.",
    ),
    sqlite3.SQLITE_IOERR: (
        "The disk failed while reading or writing {path}.",
        "Check the disk and its free space; what was saved before is safe.",
    ),
    sqlite3.SQLITE_BUSY: BUSY_LINES,
    sqlite3.SQLITE_LOCKED: BUSY_LINES,
}
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT: (
        "The database {path} is damaged.",
        "Start again: what is readable will be saved into a new one, and the damaged file kept.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "{path} is not a database.",
        "Choose another with --db, or move the file away to start with a new one.",
    ),
}


def code_of(error: BaseException) -> int:
    """SQLite's primary result code behind an error; 0 where there is none."""
    origin = getattr(error, "orig", None) or error
    return int(getattr(origin, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Whether the error says that the file's structure is broken."""
    return code_of(error) == sqlite3.SQLITE_CORRUPT


_FOR_WANT_OF_SPACE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)  # also what a full disk is reported as
_UNWRITABLE = (*_FOR_WANT_OF_SPACE, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY)


def cannot_write(error: StoreError) -> bool:
    """Whether the error that was explained so says that nothing can be written; what is there may well be read."""
    return error.__cause__ is not None and code_of(error.__cause__) in _UNWRITABLE


def _is_full(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def explain(error: Exception, path: Path | None) -> StoreError:
    """The error as a line for the user, with what to do next."""
    code, name = code_of(error), str(path or "in memory")
    if code in _FOR_WANT_OF_SPACE and path and _is_full(path):
        code = sqlite3.SQLITE_FULL
    if code in _DAMAGE:
        message, hint = _DAMAGE[code]
        return DamagedDatabase(message.replace("{path}", name), hint)
    if code in _LINES:
        message, hint = _LINES[code]
        return StoreError(message.replace("{path}", name), hint)
    origin = getattr(error, "orig", None) or error
    return StoreError(f"The database {name} refused: {' '.join(str(origin).split())}")
