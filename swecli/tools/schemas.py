"""Specifications of tools: made from their parameters, and from a file for the first request, which is sent before the
tools are loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.models.message import ToolSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

_LEAN = ("edit_file", "read_file", "run_command", "search_files", "write_file")
_NOT_LEAN = "background"  # a parameter: output of background commands is read with a tool that is not lean
_ENTRIES = "*.dist-info/entry_points.txt"
_SCHEMAS = Path(__file__).with_name("schemas.json")


def lean_specs(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return what a model with a small window gets: the essential tools, each described in one sentence."""
    return [
        ToolSpec(spec.name, _sentence(spec.description), _bare(spec.parameters)) for spec in specs if spec.name in _LEAN
    ]


def usable_specs(specs: Iterable[ToolSpec], *, more: bool, skills: Collection[str]) -> list[ToolSpec]:
    """Drop `recall` unless there are `more` strategies than the prompt has, and `skill` if there are no `skills`."""
    return [spec for spec in specs if (more or spec.name != "recall") and (skills or spec.name != "skill")]


def _sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _bare(schema: Any) -> Any:
    """Return a schema without descriptions and without `background`."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part for name, part in schema.items() if name != "description" or isinstance(part, dict)}
    return {name: _bare(part) for name, part in kept.items() if name != _NOT_LEAN}


def bundled_specs() -> list[ToolSpec] | None:
    """Return the specifications, sorted by name; None if an installed package may add tools."""
    if any(b"swecli.tools" in file.read_bytes() for folder in sys.path for file in Path(folder or ".").glob(_ENTRIES)):
        return None
    functions = [spec["function"] for spec in json.loads(_SCHEMAS.read_bytes())]
    return [ToolSpec(spec["name"], spec["description"], spec["parameters"]) for spec in functions]


@cache  # pydantic takes milliseconds for each, and every turn needs all of them
def plain_schema(params: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of `params` in a form that every provider accepts: references resolved, titles and class
    docstrings removed, "X or null" reduced to "X"."""
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
