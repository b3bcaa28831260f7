"""What SQLite reports, as one line for the user and what to do next."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from swecli.models.errors import DamagedDatabase, StoreError

BUSY_LINES = ("The database is in use by another program.", "Try again, or close the other program.")
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
    sqlite3.SQLITE_BUSY: BUSY_LINES,
    sqlite3.SQLITE_LOCKED: BUSY_LINES,
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
