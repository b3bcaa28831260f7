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

    kept = dict(node)
    kept.pop("title", None)
    if kept.get("default", "") is None:
        del kept["default"]
    if node.get("type") == "object":
        kept.pop("description", None)

    if "properties" in kept:
        properties = kept["properties"].items()
        kept["properties"] = {name: _plain(prop, definitions) for name, prop in properties}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _plain(kept["items"], definitions)
    options = [option for option in kept.pop("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        kept |= _plain(options[0], definitions)
    elif options:
        kept["anyOf"] = [_plain(option, definitions) for option in options]
    return kept
