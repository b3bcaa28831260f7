"""Test the tables' definitions."""

from __future__ import annotations

from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from swecli.store.sqlite.database import Database
from swecli.store.sqlite.search_index import SEARCHED
from swecli.store.tables.playbook import BulletRow
from swecli.store.tables.sessions import Row


def test_the_tables_compile_for_postgresql() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in Row.metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert "CREATE INDEX" in str(CreateIndex(index).compile(dialect=dialect))


def test_listing_and_resuming_sessions_use_indexes() -> None:
    columns = {
        name: [i.columns.keys() for i in table.indexes]
        for name, table in Row.metadata.tables.items()
    }
    assert ["session_id", "id"] in columns["message"]
    assert ["session_id", "interaction"] in columns["message"]
    assert ["directory", "updated_at"] in columns["session"]


def test_the_number_of_a_deleted_row_is_not_reused(memory: Database) -> None:
    for number in (1, 2):
        with memory.transaction() as db:
            row = BulletRow(content="x")
            db.add(row)
            db.flush()
            assert row.number == number
        with memory.transaction() as db:
            db.delete(row)


def test_searched_columns_exist() -> None:
    for table, (column, key, _) in SEARCHED.items():
        assert {column, key} <= set(Row.metadata.tables[table].columns.keys())
