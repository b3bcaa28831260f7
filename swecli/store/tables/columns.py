"""Column types that sanitize values when they are stored: clean text, clamped numbers, UTC times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Float, Integer, Text, TypeDecorator

from swecli.text import join_surrogates

LARGEST = 2**63 - 1
# Python refuses to read or write integers of more than 4,300 digits as text; this stays just below that.
_LARGEST_JSON = 10**4299
_REPLACEMENT = "\ufffd"
_DEEPEST_JSON = 100


def clean_text(text: str) -> str:
    """Return the text with NULs and lone surrogates replaced and split surrogate pairs joined, so that it can be stored
    and encoded as UTF-8. Idempotent."""
    return join_surrogates(text.replace("\0", _REPLACEMENT))


def _clamp(number: int) -> int:
    """Return the nearest 64-bit integer."""
    return max(-LARGEST - 1, min(LARGEST, int(number)))


def _finite(number: float | None) -> float | None:
    """Return a finite number unchanged, anything else as None."""
    return float(number) if number is not None and math.isfinite(number) else None


def _clean_json(value: Any, depth: int = 0) -> Any:
    """Return the value as portable JSON: clean text, finite floats (others become null), parseable integers.
    Values nested deeper than 100 levels are replaced by a text that names the limit."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return max(-_LARGEST_JSON, min(_LARGEST_JSON, value))
    if isinstance(value, float):
        return _finite(value)
    if depth >= _DEEPEST_JSON:
        return f"(nested deeper than {_DEEPEST_JSON} levels)"
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_json(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return clean_text(str(value))


def values(of: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of these names."""
    return {name: getattr(of, name) for name in names}


class _Clean(TypeDecorator[Any]):
    """A column of type `impl` whose values are sanitized by `clean` when they are stored."""

    impl: Any = Text
    cache_ok = True
    clean: Any

    def process_bind_param(self, value: Any, dialect: Dialect | None) -> Any:
        """Sanitize a value before it is stored."""
        return None if value is None else self.clean(value)


class CleanText(_Clean):
    """Text of any length."""

    impl, clean, cache_ok = Text, staticmethod(clean_text), True


class CleanJson(_Clean):
    """A JSON value."""

    impl, clean, cache_ok = JSON, staticmethod(_clean_json), True


class Number(_Clean):
    """A 64-bit integer, also as an autoincrement key."""

    impl, clean, cache_ok = Integer, staticmethod(_clamp), True


class Money(_Clean):
    """US dollars; NULL if unknown."""

    impl, clean, cache_ok = Float, staticmethod(_finite), True


class UtcTime(TypeDecorator[datetime]):
    """A time, stored in UTC and returned as an aware datetime."""

    impl, cache_ok = DateTime, True

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
