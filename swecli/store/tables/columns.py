"""Column types that sanitize values when they are stored: clean text, clamped numbers, UTC times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Float, Integer, Text, TypeDecorator

from swecli.store.journal.values import (
    clamp,
    clean_json,
    clean_text,
    decode_name,
    encode_name,
    finite,
    read_arguments,
)


class _Clean(TypeDecorator[Any]):
    """A column of type `impl` whose values are sanitized by `clean` when stored, and read by `parse` instead of
    `impl` if it is given."""

    impl: Any = Text
    cache_ok = True
    clean: Any
    parse: Any = None

    def process_bind_param(self, value: Any, dialect: Dialect | None) -> Any:
        """Sanitize a value before it is stored."""
        return None if value is None else self.clean(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that reads a stored value, None if it is read as it is."""
        return self.parse or super().result_processor(dialect, coltype)


class CleanText(_Clean):
    """Text of any length."""

    impl = Text
    cache_ok = True
    clean = staticmethod(clean_text)


class FileName(_Clean):
    """The name of a file, whatever its bytes are."""

    impl = Text
    cache_ok = True
    clean = staticmethod(encode_name)
    parse = staticmethod(decode_name)


class CleanJson(_Clean):
    """A JSON value."""

    impl = JSON
    cache_ok = True
    clean = staticmethod(clean_json)


class Arguments(CleanJson):
    """The arguments of a call: see `read_arguments`."""

    cache_ok = True
    parse = staticmethod(read_arguments)


class Number(_Clean):
    """A 64-bit integer, also as an autoincrement key."""

    impl = Integer
    cache_ok = True
    clean = staticmethod(clamp)


class Money(_Clean):
    """US dollars; NULL if unknown."""

    impl = Float
    cache_ok = True
    clean = staticmethod(finite)


class UtcTime(TypeDecorator[datetime]):
    """A time, stored in UTC and returned as an aware datetime."""

    impl = DateTime
    cache_ok = True

    @staticmethod
    def now() -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to naive UTC: SQLite stores no time zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Attach UTC as the time zone."""
        return None if value is None else value.replace(tzinfo=UTC)


def converted(
    read: Callable[[Any], Any], write: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """Return the column arguments of a column whose values have a type of their own: see `journal.table.json_of` and
    `text_of`. SQLModel reads and writes the JSON values and texts themselves."""
    return {"info": {"read": read, "write": write}}
