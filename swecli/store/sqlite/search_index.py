"""The search indexes and the triggers that keep them: the only code inside the database. Imports no SQLModel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from swecli.models.errors import DamagedDatabase

# Full-text indexes without their own copy of the text, updated by triggers. By table: its text, its key and more
# options; results are searched by words, not phrases
SEARCHED = {
    "message": ("content", "id", ""),
    "session": ("title", "number", ""),
    "tool_call": ("result", "id", ", detail=none"),
}
_INDEX = "CREATE VIRTUAL TABLE {table}_fts USING fts5({column}, content='{table}', content_rowid='{key}'{more})"
# `refuse_foreign_code` compares these texts with those of a file: a change needs a migration that replaces them.
_TRIGGERS = (
    "CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN "
    "INSERT INTO {table}_fts(rowid, {column}) VALUES (new.{key}, new.{column}); END",
    "CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN "
    "INSERT INTO {table}_fts({table}_fts, rowid, {column}) VALUES ('delete', old.{key}, old.{column}); END",
    "CREATE TRIGGER {table}_fts_update AFTER UPDATE OF {column} ON {table} BEGIN "
    "INSERT INTO {table}_fts({table}_fts, rowid, {column}) VALUES ('delete', old.{key}, old.{column}); "
    "INSERT INTO {table}_fts(rowid, {column}) VALUES (new.{key}, new.{column}); END",
)
_REBUILD = "INSERT INTO {table}_fts({table}_fts) VALUES ('rebuild')"
STORED_CODE = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
_VIEWS = Path(__file__).parents[1] / "views.sql"  # `swecli sql --copy` adds them to a copy


def index_statements(table: str) -> list[str]:
    """Return the statements that create a table's index with its triggers, and fill it."""
    column, key, more = SEARCHED[table]
    return [
        statement.format(table=table, column=column, key=key, more=more)
        for statement in (_INDEX, *_TRIGGERS, _REBUILD)
    ]


def rebuild_statement(table: str) -> str:
    """Return the statement that fills a table's index anew."""
    return _REBUILD.format(table=table)


def refuse_foreign_code(rows: Iterable[tuple[str, str, str]], path: Path | None) -> None:
    """Raise DamagedDatabase for a trigger or view that swecli did not make, which would run with the next statement
    that names its table. `rows` are the rows of STORED_CODE."""
    own_statements = {statement for table in SEARCHED for statement in index_statements(table)}
    for kind, name, statement in rows:
        is_own = statement in own_statements
        if kind == "view":
            is_own = statement in _VIEWS.read_text(encoding="utf-8")
        if not is_own:
            raise DamagedDatabase(
                f"The database {path} holds a {kind} that swecli did not make: {name!r}.",
                "It was not run: restore a backup, or drop it with sqlite3 if you know where the file comes from.",
            )
