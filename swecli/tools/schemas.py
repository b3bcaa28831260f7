"""What models read of the built-in tools, as a file: a first request goes out before the tools are loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from swecli.models.message import ToolSpec

_LEAN = ("edit_file", "read_file", "run_command", "search_files", "write_file")
_NOT_LEAN = "background"  # a parameter: what runs in the background is read with a tool that is not among them
_ENTRIES = "*.dist-info/entry_points.txt"
_SCHEMAS = Path(__file__).with_name("schemas.json")


def lean_specs(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """What a model with a small window gets of them: the few without which nothing can be done, in a sentence each."""
    return [
        ToolSpec(spec.name, _sentence(spec.description), _bare(spec.parameters)) for spec in specs if spec.name in _LEAN
    ]


def usable_specs(specs: Iterable[ToolSpec], *, more: bool, skills: Collection[str]) -> list[ToolSpec]:
    """Those that can find something: there are `more` strategies than the prompt has, or `skills`."""
    return [spec for spec in specs if (more or spec.name != "recall") and (skills or spec.name != "skill")]


def _sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _bare(schema: Any) -> Any:
    """A schema without its descriptions, and without what needs another tool."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part for name, part in schema.items() if name != "description" or isinstance(part, dict)}
    return {name: _bare(part) for name, part in kept.items() if name != _NOT_LEAN}


def bundled_specs() -> list[ToolSpec] | None:
    """The specifications, sorted by name; None where an installed package may bring more tools."""
    if any(b"swecli.tools" in file.read_bytes() for folder in sys.path for file in Path(folder or ".").glob(_ENTRIES)):
        return None
    functions = [spec["function"] for spec in json.loads(_SCHEMAS.read_bytes())]
    return [ToolSpec(spec["name"], spec["description"], spec["parameters"]) for spec in functions]
