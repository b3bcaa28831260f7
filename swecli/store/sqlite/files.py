"""Files and folders of the store: private to the user, and never in the way of one another."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path


def make_folders(path: Path) -> None:
    """Make the missing folders of a file, for this user alone. Raises OSError.

    The modes are given one by one instead of by a umask, which would for a moment also govern files that other
    threads write for the user. SQLite gives its side files the mode of the database.
    """
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def keep_private(path: Path) -> None:
    """Take the rights of others from a file that is there. Raises OSError."""
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def new_file(path: Path) -> None:
    """Make an empty file for this user alone. Raises FileExistsError, OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def spare_name(path: Path, purpose: str) -> Path:
    """A free name beside the file that says what it is for and when it was made."""
    stem = f"{path.name}.{purpose}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    tries = (path.with_name(stem + (f"-{n}" if n else "")) for n in range(1000))
    return next(name for name in tries if not name.exists())
