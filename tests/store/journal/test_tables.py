"""Test that the journal writes and reads what the SQLModel classes declare."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from scripts.stored_tables import row_classes, write_tables
from swecli.store.journal import tables

MODELS = [row for row in row_classes() if row.stores is not None]


def test_the_tables_of_the_journal_are_those_that_the_classes_declare() -> None:
    written = Path(tables.__file__).read_text(encoding="utf-8")
    assert written == write_tables(), "run scripts/reference"


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row.__name__)
def test_each_declared_field_is_one_of_the_stored_model(row: Any) -> None:
    assert set(row.stored_fields()) <= {field.name for field in fields(row.stores)}


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row.__name__)
def test_the_columns_that_hold_no_field_are_columns(row: Any) -> None:
    assert row.other_columns <= row.model_fields.keys()
