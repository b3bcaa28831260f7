"""Test that database failures are reported in one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from swecli.models.errors import DamagedDatabase, StoreError
from swecli.store.sqlite import files


def failure(code: int) -> OperationalError:
    origin = sqlite3.OperationalError("as the\nlibrary says it")
    origin.sqlite_errorcode = code
    return OperationalError("SELECT", {}, origin)


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        9999,
        0,
    ],
)
def test_sqlite_errors_are_reported_in_one_line(code: int) -> None:
    error = files.to_store_error(failure(code), Path("/some{path}/db"))
    assert type(error) is StoreError
    assert "\n" not in error.message
    assert error.message.endswith((".", "as the library says it"))


def test_corruption_has_its_own_exception() -> None:
    assert isinstance(
        files.to_store_error(failure(sqlite3.SQLITE_CORRUPT_INDEX), None), DamagedDatabase
    )
    assert not isinstance(files.to_store_error(failure(sqlite3.SQLITE_FULL), None), DamagedDatabase)
