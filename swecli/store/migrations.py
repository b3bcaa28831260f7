"""Numbered steps from one shape of the database to the next; a new database gets the newest shape at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from swecli.models.errors import NewerDatabase
from swecli.store import sqlite
from swecli.store.tables import Row

Step = Callable[[Connection], None]


def step_1(connection: Connection) -> None:
    """The first shape. When the tables change, freeze here what they were before, and add a step."""
    Row.metadata.create_all(connection, checkfirst=False)
    sqlite.create_search(connection)


# The n-th step leads from shape n-1 to shape n. Steps are never changed once released, only added.
STEPS: tuple[Step, ...] = (step_1,)


def migrate(connection: Connection, version: int, steps: Sequence[Step] = STEPS) -> None:
    """Take a database of that `version` to the newest, inside the running transaction.

    Raises:
        NewerDatabase: when it has seen steps that this program does not know.
    """
    if version > len(steps):
        raise NewerDatabase(
            f"The database was made by a newer swecli (shape {version}, this one knows {len(steps)}).",
            "Update swecli, or choose another database with --db.",
        )
    for step in steps[version:]:
        step(connection)
    if version < len(steps):
        sqlite.stamp(connection, len(steps))
