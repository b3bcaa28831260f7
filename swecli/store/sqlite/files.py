"""The database's file: where it is, that it is private to the user, whether it can only be read, copies beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from swecli.models.errors import BadInput

APPLICATION_ID = 0x73776563  # "swec", in the header of the file
SUSPECT = "-suspect"  # an empty file of this ending says that damage was met
CHEAP_TO_CHECK = 8 * 2**20  # bytes; a quick check reads 1 to 2 GB a second
WORTH_CHECKING = 64 * 2**20  # bytes, after an unclean end
_JOURNALS = ("-wal", "-journal")


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


def only_readable(path: Path) -> bool:
    """Whether the file is there and SQLite could not write it, or no journal beside it."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK))


def has_journal(path: Path) -> bool:
    """Whether some of its content still lies in a journal beside it."""
    journals = (Path(f"{path}{side}") for side in _JOURNALS)
    return any(journal.exists() and journal.stat().st_size for journal in journals)


def needs_check(path: Path) -> bool:
    """Whether to look for damage before the file is used: damage was met, or it is cheap for what it is worth.

    A journal that is still there says that a process ended without closing the file, or has it open now.
    """
    if not path.exists() or Path(f"{path}{SUSPECT}").exists():
        return path.exists()
    return path.stat().st_size <= (WORTH_CHECKING if has_journal(path) else CHEAP_TO_CHECK)


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy with its journals in a folder of its own, which goes with the block. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="swecli-") as folder:
        copy = Path(folder, path.name)
        for side in ("", *_JOURNALS):
            if Path(f"{path}{side}").exists():
                shutil.copyfile(f"{path}{side}", f"{copy}{side}")
        yield copy
