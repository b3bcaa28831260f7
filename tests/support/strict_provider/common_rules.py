"""The rules that both protocols share."""

from __future__ import annotations

import json
import re
from typing import Any

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Refused(Exception):
    """An error response for a request that violates a rule."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code


def read_body(raw: bytes) -> dict[str, Any]:
    """Parse the request body. Raises Refused for bytes that are not UTF-8 or not a JSON object."""
    try:
        text = raw.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise Refused(f"the body is not valid UTF-8: {error}") from None
    try:
        body = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except ValueError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from None
    need(isinstance(body, dict), "the body must be a JSON object")
    need(not has_lone_surrogate(body), "the body holds a lone surrogate")
    return dict(body)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has one key twice")
    return found


def has_lone_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict):
        return any(has_lone_surrogate(item) for pair in value.items() for item in pair)
    return isinstance(value, list) and any(has_lone_surrogate(item) for item in value)


def need(condition: bool, message: str) -> None:
    """Raise Refused unless the condition is true."""
    if not condition:
        raise Refused(message)


def only_keys(value: dict[str, Any], allowed: set[str], where: str, message: str) -> None:
    """Raise Refused for a key that the service does not accept; `message` contains {key}."""
    for key in value:
        need(key in allowed, f"{where}{message.format(key=key)}")


def tool_name(name: Any, where: str) -> str:
    need(
        isinstance(name, str) and TOOL_NAME.fullmatch(name) is not None,
        f"{where}: {name!r} is not a valid tool name",
    )
    return str(name)


def unique_names(names: list[str], where: str) -> None:
    need(len(set(names)) == len(names), f"{where}: tool names must be unique")


def object_schema(schema: Any, where: str) -> None:
    need(
        isinstance(schema, dict) and schema.get("type") == "object",
        f"{where}: the schema must be of type object",
    )
