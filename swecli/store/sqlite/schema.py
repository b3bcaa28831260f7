"""Create the tables, columns and indexes that a database lacks, from the tables' definitions."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Connection, inspect
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, Table

from swecli.store.sqlite.search_index import SEARCHED, index_statements
from swecli.store.tables import playbook, projects, reviews, turns, undo  # noqa: F401  # defines tables
from swecli.store.tables.columns import CleanJson
from swecli.store.tables.sessions import Row

TABLES: tuple[Table, ...] = tuple(Row.metadata.sorted_tables)  # parents before children


def create_missing(connection: Connection) -> bool:
    """Create missing tables, columns and indexes; return whether there was any table. A NOT NULL column needs a
    `server_default`, which SQLite requires for a table with rows; JSON columns default to JSON null."""
    inspector = inspect(connection)
    present = set(inspector.get_table_names())
    for table in TABLES:
        if table.name not in present:
            for statement in _create_statements(table):
                connection.exec_driver_sql(statement)
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in columns:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                needs_null = isinstance(column.type, CleanJson) and column.server_default is None
                default = " DEFAULT 'null'" if needs_null else ""
                connection.exec_driver_sql(
                    f"ALTER TABLE {table.name} ADD COLUMN {definition}{default}"
                )
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    for name in SEARCHED:
        if f"{name}_fts" not in present:
            for statement in index_statements(name):
                connection.exec_driver_sql(statement)
    return bool(present)


@cache  # compiled once for all databases of a process
def _create_statements(table: Table) -> tuple[str, ...]:
    """Return the statements that create a table and its indexes."""
    elements: list[CreateTable | CreateIndex] = [CreateTable(table)]
    elements += map(CreateIndex, table.indexes)
    return tuple(str(element.compile(dialect=sqlite.dialect())) for element in elements)
