"""Tool parameters: the pydantic base they share, and the JSON schema the model is shown for them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Base of every tool's parameters: unknown names are refused, values do not change after they are checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def plain_schema(params: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `params`, in the plainest form every provider takes.

    References are written out in place, titles and class docstrings left out, and "this or null" becomes "this":
    a parameter that may be left out need not be sent as null.
    """
    schema = params.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    return {"type": "object", "properties": plain.get("properties", {}), **plain, "additionalProperties": False}


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _plain({k: v for k, v in target.items() if k != "description"}, definitions)
    kept = {key: value for key, value in node.items() if key != "title" and (key, value) != ("default", None)}
    if node.get("type") == "object":
        kept.pop("description", None)
    if "properties" in kept:
        kept["properties"] = {name: _plain(prop, definitions) for name, prop in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _plain(kept["items"], definitions)
    if options := kept.pop("anyOf", None):
        real = [_plain(option, definitions) for option in options if option.get("type") != "null"]
        kept = kept | (real[0] if len(real) == 1 else {"anyOf": real})
    return kept
