"""Column types that make every stored value safe on its way in: clean text, clamped numbers, UTC times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Float, Integer, Text, TypeDecorator
from sqlmodel import SQLModel

LARGEST = 2**63 - 1
# Python refuses to read or write integers of more than 4,300 digits as text; this stays just below that.
_LARGEST_JSON = 10**4299
_REPLACEMENT = "\ufffd"
_DEEPEST_JSON = 100


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


def clean_text(text: str) -> str:
    """Text that every database and every UTF-8 sink takes: no NUL, no lone surrogate. Idempotent.

    A surrogate pair that was split into two letters becomes the one letter it stands for.
    """
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clamp(number: int) -> int:
    """The nearest integer that fits in 64 bits."""
    return max(-LARGEST - 1, min(LARGEST, int(number)))


def finite(number: float | None) -> float | None:
    """A number a column can hold; what is not a finite number is unknown."""
    return float(number) if number is not None and math.isfinite(number) else None


def clean_json(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it everywhere: clean text, finite floats (others become null), readable integers.

    What is nested deeper than 100 levels is replaced by a line that names the limit: no reader could import it again.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return max(-_LARGEST_JSON, min(_LARGEST_JSON, value))
    if isinstance(value, float):
        return finite(value)
    if depth >= _DEEPEST_JSON:
        return f"(nested deeper than {_DEEPEST_JSON} levels)"
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return clean_text(str(value))


def shared(model: Any, table: type[SQLModel], *others: str) -> tuple[str, ...]:
    """The names that a model (a dataclass) and a table both have, without those that differ."""
    return tuple(field.name for field in fields(model) if field.name in table.model_fields and field.name not in others)


def values(of: Any, names: Sequence[str]) -> dict[str, Any]:
    """What something has under these names."""
    return {name: getattr(of, name) for name in names}


class _Clean(TypeDecorator[Any]):
    """A column of the type `impl` whose values are made safe by `clean` on their way in."""

    impl: Any = Text
    cache_ok = True
    clean: Any

    def process_bind_param(self, value: Any, dialect: Dialect | None) -> Any:
        """Clean what goes in."""
        return None if value is None else self.clean(value)


class CleanText(_Clean):
    """Text of any length."""

    impl, clean, cache_ok = Text, staticmethod(clean_text), True


class CleanJson(_Clean):
    """A JSON value."""

    impl, clean, cache_ok = JSON, staticmethod(clean_json), True


class Number(_Clean):
    """A 64-bit integer, also as a key that counts up."""

    impl, clean, cache_ok = Integer, staticmethod(clamp), True


class Money(_Clean):
    """US dollars; NULL where unknown."""

    impl, clean, cache_ok = Float, staticmethod(finite), True


class UtcTime(TypeDecorator[datetime]):
    """A moment, kept in UTC and given back with its zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn into UTC; SQLite keeps no zone, so none is written."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Say that it is UTC."""
        return None if value is None else value.replace(tzinfo=UTC)
