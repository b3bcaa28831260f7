"""Test that the journal writes the tables as SQLModel defines them: the same columns, types and defaults."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Boolean, Float

from swecli.store.journal import tables
from swecli.store.sqlite.schema import TABLES
from swecli.store.tables.columns import Arguments, CleanJson, CleanText, Money, Number, UtcTime

STORED_BY = {
    CleanText: tables.text,
    Number: tables.number,
    CleanJson: tables.json_value,
    Arguments: tables.json_value,
    UtcTime: tables.moment,
    Money: tables.real,
    Float: tables.real,
    Boolean: tables.flag,
}
DEFINED = {table.name: table for table in TABLES}


@pytest.mark.parametrize("ours", tables.TABLES, ids=lambda table: table.name)
def test_the_journal_has_the_columns_that_are_defined(ours: tables.Table) -> None:
    defined = {
        column.name: STORED_BY[type(column.type)]
        for column in DEFINED[ours.name].columns
        if not is_assigned(column)
    }
    assert dict(ours.columns) == defined


@pytest.mark.parametrize("ours", tables.TABLES, ids=lambda table: table.name)
def test_the_journal_has_the_defaults_that_are_defined(ours: tables.Table) -> None:
    columns = DEFINED[ours.name].columns
    for name in ours.columns:
        default: Any = columns[name].default
        if default is None:
            is_optional = columns[name].nullable or isinstance(columns[name].type, CleanJson)
            assert ours.defaults.get(name) is None, name
            assert (name in ours.defaults) == is_optional, name
        elif default.is_callable:
            assert ours.defaults[name] is tables.now, name
        else:
            assert ours.defaults[name] == default.arg, name


def is_assigned(column: Any) -> bool:
    """Whether SQLite assigns the column's value: an integer key that refers to no other table."""
    return bool(
        column.primary_key
        and isinstance(column.type, Number)
        and not column.foreign_keys
        and len(column.table.primary_key) == 1
    )
