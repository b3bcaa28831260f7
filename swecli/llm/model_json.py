"""Reads the JSON of a model by one rule: parse it, compare it with the declared schema, and say what is wrong, so that
the model can be asked once more. Nothing is guessed: a value that is cut off or has a fault is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from swecli.models.json_value import Json, JsonObject
from swecli.text import truncate
from swecli.values import dataclass

_MOST_TRIES = 2_000  # opening brackets tried per text
_LONGEST_FAULT = 500  # characters: a validator quotes the whole value
_OPENS = re.compile(r"[\[{]")
# A fence, which models put around JSON although they are told not to, and marks of a chat template that servers leave.
_AROUND = re.compile(r"\A\s*```\w*\s*\n|\n\s*```\s*\Z|(?:\s*<\|[^|<>]*\|>)+\s*\Z")


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A JSON value that stands in a text from `start` to `end`."""

    value: Json
    start: int
    end: int


def parse_json(text: str) -> Json:
    """Parse a text that is one JSON value, maybe in a code fence. Faults of servers, which asking again would not cure,
    are read over: the value twice, {} before it, the marks of a chat template behind it, line breaks in strings.
    Raises ValueError or RecursionError."""
    decoder = json.JSONDecoder(strict=False)
    rest = _AROUND.sub("", text).strip()
    value: Json = {}
    if not rest:
        raise ValueError("it is empty")
    while rest:
        parsed, end = decoder.raw_decode(rest)
        if value and parsed not in ({}, value):
            raise ValueError("two values in a row")
        value = value or parsed
        rest = rest[end:].strip()
    return value


def find_values(text: str) -> Iterator[FoundValue]:
    """Yield the outermost objects and arrays in a text that are whole, in order."""
    decoder = json.JSONDecoder(strict=False)
    position = 0
    for _ in range(_MOST_TRIES):
        opens = _OPENS.search(text, position)
        if opens is None:
            return
        position = opens.end()
        with suppress(ValueError, RecursionError):
            value, position = decoder.raw_decode(text, opens.start())
            yield FoundValue(value, opens.start(), position)


def read_object(text: str, schema: JsonObject) -> tuple[JsonObject, str]:
    """Return the last object in a text that follows a schema, and ""; or {} and what is wrong with the last one."""
    values = [found_value.value for found_value in find_values(text)]
    objects = [value for value in values if isinstance(value, dict) and value]
    last_fault = "the answer has no complete JSON object"
    for value in reversed(objects):
        fault = find_fault(value, schema)
        if not fault:
            return value, ""
        if value is objects[-1]:
            last_fault = fault
    return {}, last_fault


def find_fault(value: Json, schema: JsonObject) -> str:
    """Return where a value does not follow a schema, and how; "" if it does."""
    # late: 0.1 s, and most requests have no schema
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    return f"{error.json_path}: {truncate(error.message, _LONGEST_FAULT)}" if error else ""


def require_all(schema: Json) -> Json:
    """Return a schema in which every property is required, as strict services want it. A model leaves a field empty
    then, where another one leaves it out."""
    if isinstance(schema, list):
        return [require_all(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: require_all(item) for key, item in schema.items()}
    if "properties" in schema:
        changed["required"] = list(schema["properties"])
    return changed


def ask_again(fault: str) -> str:
    """Return the words that ask for an answer once more."""
    return f"That answer does not follow the schema: {fault}. Answer again, with the JSON alone."
