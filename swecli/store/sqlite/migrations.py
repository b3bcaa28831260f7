"""Migrate the database: tables, columns and indexes are created from the tables' definitions, steps convert the
rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from swecli.models.errors import StoreError
from swecli.store.sqlite.files import APPLICATION_ID

if TYPE_CHECKING:  # most databases are of the newest version
    from sqlalchemy import Connection

Step = Callable[["Connection"], None] | None


def _mark_guessed_fixes_gone(connection: Connection) -> None:
    """Findings were marked fixed, without a check, if their code was gone."""
    guessed = "the code it spoke of is gone"
    connection.exec_driver_sql(
        "UPDATE finding SET state = 'gone' WHERE state = 'fixed' AND reason = ?", (guessed,)
    )


def _convert_counts_to_verdicts(connection: Connection) -> None:
    """Convert the counts of each bullet to one verdict."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS playbook_standing")
    counted = "WHERE helpful + harmful + neutral > 0"
    connection.exec_driver_sql(
        "INSERT INTO evidence (bullet, source, quote, session_id, call_id, trust, kind, tag)"
        " SELECT number, 'counts', helpful || ' ' || harmful || ' ' || neutral, '', '', 'reasoning', 'before', ''"
        f" FROM bullet {counted}"
    )
    connection.exec_driver_sql(f"UPDATE bullet SET uses = helpful + harmful + neutral {counted}")


def _drop_unused(connection: Connection) -> None:
    """Drop columns that the tables do not define, drafts of reflections, and operations that became verdicts in version
    13."""
    # late: only an older database is converted
    from swecli.store.sqlite.schema import TABLES

    connection.exec_driver_sql("DROP TABLE IF EXISTS reflection_draft")
    for table in TABLES:
        for name in _columns_of(connection, table.name) - set(table.columns.keys()):
            connection.exec_driver_sql(f"ALTER TABLE {table.name} DROP COLUMN {name}")
    known = "json_extract(value, '$.op') NOT IN ('TAG', 'UNTAG', 'MERGE')"
    kept = f"(SELECT coalesce(json_group_array(json(value)), '[]') FROM json_each(delta.ops) WHERE {known})"
    connection.exec_driver_sql(f"UPDATE delta SET ops = {kept}")
    no_mark = "reason NOT IN ('mark good', 'mark bad')"
    connection.exec_driver_sql(f"UPDATE delta SET before = '{{}}' WHERE ops = '[]' AND {no_mark}")


def _columns_of(connection: Connection, table: str) -> set[str]:
    rows = connection.exec_driver_sql("SELECT name FROM pragma_table_info(?)", (table,))
    return {str(name) for (name,) in rows}


def _drop_table(name: str, connection: Connection) -> None:
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")


def _end_holdouts(connection: Connection) -> None:
    """No turn leaves a strategy out to measure it any more. A selection that did so would now be shown wrongly."""
    if "withheld" in _columns_of(connection, "playbook_turn"):
        connection.exec_driver_sql("ALTER TABLE playbook_turn DROP COLUMN withheld")
    left_out = "json_valid(choice) AND json_array_length(choice, '$.withheld') > 0"
    connection.exec_driver_sql(f"DELETE FROM playbook_choice WHERE {left_out}")


# By the name of a tool: the parameter that says what a call did, its JSON type, and the effects in their place.
_EFFECTS_BY_NAME = {
    "read_file": ("$.path", "text", "'read', json_array({0}), 'origin', 'repository'"),
    "list_files": ("$", "object", "'origin', 'repository'"),
    "search_files": ("$", "object", "'origin', 'repository'"),
    "edit_file": ("$.path", "text", "'changed', json_array({0})"),
    "write_file": ("$.path", "text", "'changed', json_array({0})"),
    "run_command": ("$.command", "text", "'ran', {0}"),
    "fetch": ("$", "object", "'origin', 'web'"),
    "todo": ("$.items", "array", "'todo', {0}"),
}


def _say_effects(connection: Connection) -> None:
    """What a call read, changed and ran was concluded from the name of its tool."""
    for name, (place, kind, effects) in _EFFECTS_BY_NAME.items():
        pairs = effects.format(f"json_extract(parameters, '{place}')")
        is_known = f"json_valid(parameters) AND json_type(parameters, '{place}') = '{kind}'"
        connection.exec_driver_sql(
            f"UPDATE tool_call SET effects = json_object({pairs}) WHERE name = ? AND {is_known}",
            (name,),
        )


def _to_19(connection: Connection) -> None:
    _end_holdouts(connection)
    _say_effects(connection)


_OF_BELIEFS = (("bullet", "belief"), ("evidence", "factors"), ("evidence", "forget"))


def _to_20(connection: Connection) -> None:
    """A strategy has counts and no belief any more. They stay as they are until it is judged again."""
    for table, name in _OF_BELIEFS:
        if name in _columns_of(connection, table):
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {name}")
    connection.exec_driver_sql(
        "DELETE FROM playbook_learned WHERE name LIKE 'reflector:%' OR name LIKE 'kind:%'"
    )


# The n-th step migrates the rows from version n-1 to n; None if the version only adds tables, columns or indexes.
# Released steps are never changed.
STEPS: tuple[Step, ...] = (
    None,  # sessions, their messages, strategies
    None,  # reductions, and stored token counts
    None,  # strategies selected in each turn
    None,  # reviews and their findings
    None,  # last lines of findings
    None,  # why strategies were selected
    None,  # redo
    None,  # drafts of answers
    None,  # search in results
    _mark_guessed_fixes_gone,  # findings have verdicts and a history
    None,  # lines of other tools' transcripts
    None,  # opaque blocks of providers
    _convert_counts_to_verdicts,  # scores of strategies
    _drop_unused,  # changes of files, and undo
    None,  # pictures of queries
    partial(_drop_table, "playbook_switch"),  # replaced by a setting
    partial(_drop_table, "judgement"),  # replaced by columns of findings
    partial(_drop_table, "playbook_check"),  # replaced by results that know their turn
    _to_19,  # no holdouts; what calls did; effects of strategies, and judgements of exchanges
    _to_20,  # strategies have counts, and no belief
    None,  # rules allowed for a session
    None,  # undos that are not finished, and what they leave
)


def migrate(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Migrate the database to the newest version within the running transaction. Raises StoreError."""
    # late: most databases are of the newest version
    from swecli.store.sqlite.schema import create_missing

    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    refuse_newer(version, steps)
    if version < len(steps):
        if create_missing(connection):  # a new database has no rows
            for step in filter(None, steps[version:]):
                step(connection)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {len(steps)}")


def refuse_newer(version: int, steps: Sequence[Step]) -> None:
    """Raise StoreError if a newer swecli made the database."""
    if version > len(steps):
        raise StoreError(
            f"The database was made by a newer swecli (format {version}; this one reads up to {len(steps)}).",
            "Update swecli, or choose another database with --db.",
        )
