"""The JSON schema of a tool's parameters, in the form that every provider accepts."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel


@cache  # pydantic takes milliseconds for each, and every turn needs all of them
def plain_schema(params: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of `params`: references resolved, titles and class docstrings removed, "X or null" reduced to
    "X"."""
    schema = params.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    return {
        "type": "object",
        "properties": plain.get("properties", {}),
        **plain,
        "additionalProperties": False,
    }


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = dict(definitions[node["$ref"].rsplit("/", 1)[-1]])
        target.pop("description", None)
        return _plain(target, definitions)

    schema = dict(node)
    schema.pop("title", None)
    if schema.get("default", "") is None:
        del schema["default"]
    if node.get("type") == "object":
        schema.pop("description", None)

    if "properties" in schema:
        properties = schema["properties"].items()
        schema["properties"] = {name: _plain(prop, definitions) for name, prop in properties}
    if isinstance(schema.get("items"), dict):
        schema["items"] = _plain(schema["items"], definitions)
    options = [option for option in schema.pop("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        schema |= _plain(options[0], definitions)
    elif options:
        schema["anyOf"] = [_plain(option, definitions) for option in options]
    return schema
