"""A table as plain sqlite3 reads and writes it: how each column's values are stored and read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from swecli.store.journal.values import (
    clamp,
    clean_json,
    clean_text,
    decode_name,
    encode_name,
    finite,
    read_arguments,
    read_json,
    read_moment,
    to_json,
    write_moment,
)
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of a column are stored and read (None: as SQLite returns them). NULL is None in both directions and
    reaches neither function, except that JSON is always stored: None as its null."""

    store: Callable[[Any], Any]
    parse: Callable[[Any], Any] | None = None
    stores_none: bool = False


def _store_json(value: Any) -> str:
    return to_json(clean_json(value))


TEXT = Kind(clean_text)
ARGUMENTS = Kind(_store_json, read_arguments, stores_none=True)
FILE_NAME = Kind(encode_name, decode_name)  # whatever its bytes are
NUMBER = Kind(clamp)  # an integer of 64 bits
REAL = Kind(finite)  # NULL if it is not finite
FLAG = Kind(int, bool)
JSON = Kind(_store_json, read_json, stores_none=True)
MOMENT = Kind(write_moment, read_moment)


def json_of(make: Callable[[Any], Any], write: Callable[[Any], Any] | None = None) -> Kind:
    """Return the kind of a JSON column whose values have a type of their own: `make` makes one from JSON values, and
    may raise ValueError or TypeError; `write` returns them (None: the value is stored as it is)."""

    def store(value: Any) -> str:
        return _store_json(value if write is None or value is None else write(value))

    def parse(text: Any) -> Any:
        return make(read_json(text))

    return Kind(store, parse, stores_none=True)


def text_of(make: Callable[[str], Any]) -> Kind:
    """Return the kind of a text column whose values are of an enumeration. Reading another text raises ValueError."""
    return Kind(clean_text, make)


def now() -> datetime:
    """Return the current time in UTC; as a default, that of the insertion."""
    return datetime.now(UTC)


REQUIRED: Any = object()  # the default of a column that every new row must be given
ASSIGNED: Any = object()  # the default of a key that SQLite assigns


@dataclass(frozen=True, slots=True)
class Column:
    """A column and the value that a new row has where none is given."""

    kind: Kind
    default: Any = REQUIRED


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `fields` are those of its columns that hold the field of the same name of the model that the table
    stores."""

    name: str
    columns: Mapping[str, Column]
    fields: tuple[str, ...] = ()

    def insert(
        self, db: sqlite3.Connection, row: Mapping[str, Any], *, verb: str = "INSERT"
    ) -> int:
        """Insert a row and return its key. Raises KeyError if a column without a default is missing, or is unknown."""
        if unknown := row.keys() - self.columns.keys():
            raise KeyError(f"{self.name} has no {', '.join(sorted(unknown))}")
        stored_values = {
            name: _to_stored(column, name, row)
            for name, column in self.columns.items()
            if column.default is not ASSIGNED
        }
        names = ", ".join(f'"{name}"' for name in stored_values)
        marks = ", ".join("?" * len(stored_values))
        statement = f"{verb} INTO {self.name} ({names}) VALUES ({marks})"
        return db.execute(statement, list(stored_values.values())).lastrowid or 0

    def replace(self, db: sqlite3.Connection, row: Mapping[str, Any]) -> None:
        """Insert a row in place of the one with the same key."""
        self.insert(db, row, verb="INSERT OR REPLACE")

    def update(
        self, db: sqlite3.Connection, row: Mapping[str, Any], condition: str, *parameters: Any
    ) -> int:
        """Set columns of the rows that match a condition; return how many there are."""
        stored_values = [_store(self.columns[name].kind, value) for name, value in row.items()]
        assignments = ", ".join(f'"{name}" = ?' for name in row)
        statement = f"UPDATE {self.name} SET {assignments} WHERE {condition}"
        return db.execute(statement, (*stored_values, *parameters)).rowcount


def _to_stored(column: Column, name: str, row: Mapping[str, Any]) -> Any:
    value = row.get(name, column.default)
    if value is REQUIRED:
        raise KeyError(f"{name} is missing")
    return _store(column.kind, now() if value is now else value)


def _store(kind: Kind, value: Any) -> Any:
    return None if value is None and not kind.stores_none else kind.store(value)
