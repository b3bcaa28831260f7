"""What keeps a database healthy: checking it and copying it. (A damaged one is rescued when it is opened.)"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from swecli.models.errors import BadInput, StoreError
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.files import spare_name


def check(database: Database) -> list[str]:
    """Read the whole database and say what is wrong with it, one line each; empty when it is in order."""
    with database.transaction() as db:
        return sqlite.problems(db.connection())


def backup(database: Database, to: Path | None = None) -> Path:
    """Copy the database, as of now, into one new file; returns its path.

    Args:
        to: the file to make, or a folder to make it in; None for beside the database, with the date in its name.

    Raises:
        BadInput: the file is there already, or the database lives in memory and no place is given.
        StoreError: it cannot be written; nothing half-made is left.
    """
    if to is None and database.path is None:
        raise BadInput("A copy of a database in memory needs a path.")
    beside = spare_name(database.path or Path("swecli.db").absolute(), "backup")
    target = beside if to is None else to.expanduser().absolute()
    if target.is_dir():
        target = target / beside.name
    if target.exists():
        raise BadInput(f"{target} already exists.", "Choose another name for the copy.")
    try:
        with database.reading():
            sqlite.copy_file(database.engine, target)
    except (OSError, sqlite3.Error, StoreError) as error:
        with suppress(OSError):  # where nothing could be made there is nothing to remove
            target.unlink(missing_ok=True)
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"{target} cannot be written: {error}.", "Nothing was changed; choose another place."
        ) from error
    return target
