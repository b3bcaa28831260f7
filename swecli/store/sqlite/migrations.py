"""Migrate the database: tables, columns and indexes are created from the tables' definitions, steps convert the
rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from swecli.models.errors import StoreError
from swecli.store.sqlite.files import APPLICATION_ID

if TYPE_CHECKING:  # most databases are of the newest version
    from sqlalchemy import Connection

Step = Callable[["Connection"], None]

RELEASED = 21  # the format of 0.2.0, the first that was released: nothing older is read


def take_texts_apart(connection: Connection) -> None:
    """The notes behind a query, and the number of a started job, were stored in texts and read back from them. Undos
    store that they are not finished, and what they leave."""
    # late: only an older database is converted
    from swecli.store.earlier_texts import convert_rows

    convert_rows(connection)


def store_status_of_calls(connection: Connection) -> None:
    """How a call ended was told from its error, a sentence for people."""
    # late: only an older database is converted
    from swecli.store.earlier_texts import store_statuses

    store_statuses(connection)


def store_ends_of_jobs(connection: Connection) -> None:
    """Which ends of background commands the model was told was read from texts."""
    # late: only an older database is converted
    from swecli.store.earlier_texts import store_ended_jobs

    store_ended_jobs(connection)


def key_projects_by_repository(connection: Connection) -> None:
    """The key of a project was the path of its folder. Its rows keep that key until the folder is opened, and then move
    to the key of its repository (`tools/projects.py`)."""
    # late: only an older database is converted
    from swecli.store.earlier_projects import find_subfolders

    find_subfolders(connection)


def store_doubts_as_columns(connection: Connection) -> None:
    """Why a strategy waits, what it is to replace and the user's yes were rows of evidence with a special source."""
    # late: only an older database is converted
    from swecli.store.earlier_doubts import convert_doubts

    convert_doubts(connection)


def drop_judged_exchanges(connection: Connection) -> None:
    """Which exchanges counted for a strategy is read from its evidence since 0.2.0."""
    connection.exec_driver_sql("ALTER TABLE bullet DROP COLUMN judged")


def add_goals_folders_and_who_changed_a_file(connection: Connection) -> None:
    """A query stores which goal its turn works to, a session the folders that its user added, and a changed file who
    changed it; earlier rows have none of them."""


# The n-th step converts the rows from format `RELEASED` + n - 1 to `RELEASED` + n; it does nothing if that only adds
# tables, columns or indexes. Released steps are never changed.
STEPS: tuple[Step, ...] = (
    take_texts_apart,
    store_status_of_calls,
    store_ends_of_jobs,
    key_projects_by_repository,
    store_doubts_as_columns,
    drop_judged_exchanges,
    add_goals_folders_and_who_changed_a_file,
)


def newest_format(steps: Sequence[Step] = STEPS) -> int:
    """Return the format of a database that all steps were made on."""
    return RELEASED + len(steps)


def migrate(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Migrate the database to the newest format within the running transaction. Raises StoreError."""
    # late: most databases are of the newest format
    from swecli.store.sqlite.schema import create_missing

    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    refuse_foreign(version, steps)
    newest = newest_format(steps)
    if version < newest:
        if create_missing(connection):  # a new database has no rows
            for step in steps[max(0, version - RELEASED) :]:
                step(connection)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {newest}")


def refuse_foreign(version: int, steps: Sequence[Step]) -> None:
    """Raise StoreError if a newer swecli made the database, or one from before the first release."""
    newest = newest_format(steps)
    if version > newest:
        raise StoreError(
            f"The database was made by a newer swecli (format {version}; this one reads up to {newest}).",
            "Update swecli, or choose another database with --db.",
        )
    if 0 < version < RELEASED:
        raise StoreError(
            f"The database was made by a copy from before 0.2.0 (format {version}; this one reads from {RELEASED}).",
            "Open it once with swecli 0.2.0, or choose another database with --db.",
        )
