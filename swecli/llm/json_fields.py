"""Read fields of JSON that others send: what is of another type than expected counts as missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from swecli.models.json_value import Json, JsonObject

Kind = TypeVar("Kind")
_BY_NAME = ("properties", "$defs")


def typed_field(holder: Any, name: str, kind: type[Kind]) -> Kind:
    """Return a field of an object if it is of this type, else the type's empty value."""
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, kind) else kind()


def objects_in(holder: Any, name: str) -> list[JsonObject]:
    """Return the objects of a list field, [] if it is no list."""
    return [item for item in typed_field(holder, name, list) if isinstance(item, dict)]


def joined_text(holder: Any, name: str, field: str) -> str:
    """Return the joined texts that the objects of a list field have in this field of theirs."""
    return "".join(typed_field(part, field, str) for part in objects_in(holder, name))


def number_in(holder: Any, *names: str) -> float | None:
    """Return the first of these fields that is a number which can be counted or paid, None if none is."""
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return value
    return None


def token_count(holder: Any, *names: str) -> int:
    """Return the first of these fields that is a number of tokens above 0, 0 if none is."""
    return next((int(count) for name in names if (count := number_in(holder, name))), 0)


def rebuilt(value: Json, change: Callable[[JsonObject], JsonObject]) -> Json:
    """Return a deep copy of a JSON value in which each object is what `change` makes of it, inner ones first. Objects
    that hold schemas by name (`properties`) are no fields: their keys are left alone."""
    if isinstance(value, list):
        return [rebuilt(inner, change) for inner in value]
    if not isinstance(value, dict):
        return value
    fields: JsonObject = {}
    for name, inner in value.items():
        if name in _BY_NAME and isinstance(inner, dict):
            fields[name] = {key: rebuilt(schema, change) for key, schema in inner.items()}
        else:
            fields[name] = rebuilt(inner, change)
    return change(fields)
