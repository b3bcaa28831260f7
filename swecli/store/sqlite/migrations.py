"""Numbered steps from one shape of the database to the next; a new database gets the newest shape at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from sqlalchemy import Column, Connection, inspect, text
from sqlalchemy.schema import CreateColumn

from swecli.models.errors import NewerDatabase
from swecli.models.playbook import PRIORS, after_verdict, factors_of_counts
from swecli.store.sqlite import connection as sqlite
from swecli.store.tables.playbook import PLAYBOOK_TABLES
from swecli.store.tables.reviews import REVIEW_TABLES
from swecli.store.tables.sessions import Row

Step = Callable[[Connection], None]


def _step_1(connection: Connection) -> None:
    """A new database: all tables as they are now, so that the later steps find nothing left to do."""
    Row.metadata.create_all(connection, checkfirst=False)
    sqlite.create_search(connection)


def _add_tables(connection: Connection, *names: str) -> None:
    """Create these tables, with their indexes, where they are not there yet."""
    Row.metadata.create_all(connection, tables=[Row.metadata.tables[name] for name in names], checkfirst=True)


def add_column(connection: Connection, table: str, column: str) -> None:
    """Add a column where it is not there yet; one that must not be empty needs a `server_default`."""
    if column in {found["name"] for found in inspect(connection).get_columns(table)}:
        return
    wanted: Column[object] = Row.metadata.tables[table].columns[column]
    definition = str(CreateColumn(wanted).compile(dialect=connection.dialect))
    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")


def _add_index(connection: Connection, table: str, name: str) -> None:
    """Add an index where it is not there yet."""
    [wanted] = (index for index in Row.metadata.tables[table].indexes if index.name == name)
    wanted.create(connection, checkfirst=True)


def _step_2(connection: Connection) -> None:
    """What a session sends is stored; tokens are counted once."""
    _add_tables(connection, "reduction", "survivor")
    add_column(connection, "message", "encoding")
    add_column(connection, "tool_call", "tokens")


def _step_3(connection: Connection) -> None:
    """What the playbook did in each turn, reflections not applied yet, and whether a strategy's anchors still stand."""
    _add_tables(connection, *(table.__tablename__ for table in PLAYBOOK_TABLES))
    add_column(connection, "bullet", "verified_at")
    add_column(connection, "bullet", "stale")


def _step_4(connection: Connection) -> None:
    """Reviews and their findings outlive the session."""
    _add_tables(connection, *(table.__tablename__ for table in REVIEW_TABLES))


def _step_5(connection: Connection) -> None:
    """A finding knows the whole of its lines, so that it is not called fixed when they were only reformatted."""
    add_column(connection, "finding", "block")


def _step_6(connection: Connection) -> None:
    """What strategies are worth is not counted from the first turn at every turn; how they were chosen is kept."""
    _add_tables(connection, "playbook_choice")
    _add_index(connection, "delta", "ix_delta_turn")
    _add_index(connection, "delta", "ix_delta_undone")


def _step_7(connection: Connection) -> None:
    """A change of the playbook that was taken back can be brought back; a strategy that was taken in again is known."""
    add_column(connection, "delta", "turned")
    add_column(connection, "delta", "kept")
    add_column(connection, "delta", "judged")
    _add_index(connection, "delta", "ix_delta_turned")
    add_column(connection, "bullet", "vouched_at")
    _add_index(connection, "bullet", "ix_bullet_vouched")


def _step_8(connection: Connection) -> None:
    """What an answer has so far is kept while it streams."""
    add_column(connection, "interaction", "partial")
    add_column(connection, "interaction", "partial_after")


def _step_9(connection: Connection) -> None:
    """What tools returned is searched for words too."""
    sqlite.create_search(connection)


def _step_10(connection: Connection) -> None:
    """Findings have verdicts and a history. What was called fixed because its code was gone was never looked at."""
    _add_tables(connection, "finding_change", "judgement")
    add_column(connection, "finding", "more")
    add_column(connection, "review", "spent")
    guessed = "the code it spoke of is gone"
    connection.exec_driver_sql("UPDATE finding SET state = 'gone' WHERE state = 'fixed' AND reason = ?", (guessed,))


def _step_11(connection: Connection) -> None:
    """Transcripts of other tools are imported with their own lines."""
    _add_tables(connection, "transcript_line")


def _step_12(connection: Connection) -> None:
    """What a provider sent that only it can read goes back to it, also after a restart."""
    add_column(connection, "message", "blocks")


def _step_13(connection: Connection) -> None:
    """What a strategy is worth stands with it, as what its evidence left of the prior; what was counted before is one
    such piece. How far turns were counted is not kept any more: there is nothing to count again."""
    _add_tables(connection, "playbook_check", "playbook_learned")
    for column in ("when", "belief", "uses"):
        add_column(connection, "bullet", column)
    for column in ("kind", "tag", "factors", "forget"):
        add_column(connection, "evidence", column)
    connection.exec_driver_sql("DROP TABLE IF EXISTS playbook_standing")
    _count_what_was_counted(connection)


def _count_what_was_counted(connection: Connection) -> None:
    """For each bullet of an older version one verdict that stands for its counts, and the belief that it leaves."""
    question = "SELECT number, trust, helpful, harmful, neutral FROM bullet WHERE helpful + harmful + neutral > 0"
    adding = (
        "INSERT INTO evidence (bullet, source, quote, session_id, call_id, trust, kind, tag, factors, forget)"
        " VALUES (:bullet, 'counts', :counts, '', '', 'reasoning', 'before', '', :factors, 0)"
    )
    for row in connection.execute(text(question)).all():
        factors = factors_of_counts(row.helpful, row.harmful)
        prior = PRIORS.get(row.trust, PRIORS["reasoning"])
        belief, uses = list(after_verdict(prior, prior, factors, 0.0)), row.helpful + row.harmful + row.neutral
        counts = f"{row.helpful} {row.harmful} {row.neutral}"
        connection.execute(text(adding), {"bullet": row.number, "counts": counts, "factors": json.dumps(factors)})
        change = "UPDATE bullet SET belief = :belief, uses = :uses WHERE number = :number"
        connection.execute(text(change), {"belief": json.dumps(belief), "uses": uses, "number": row.number})


# The n-th step leads from shape n-1 to shape n, by adding only. Steps are never changed once released.
STEPS: tuple[Step, ...] = (
    _step_1,
    _step_2,
    _step_3,
    _step_4,
    _step_5,
    _step_6,
    _step_7,
    _step_8,
    _step_9,
    _step_10,
    _step_11,
    _step_12,
    _step_13,
)


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
