"""Select the tools that a request offers; imported before the first request, so without pydantic."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from swecli.config.settings import Settings
from swecli.models.message import ToolSpec

PRESENT_PLAN = "present_plan"  # the tool that ends plan mode
# A parameter that a small window lacks: the output of background commands is read with a tool that it lacks too.
_NOT_LEAN = "background"
_ENTRIES = "*.dist-info/entry_points.txt"
_SCHEMAS = Path(__file__).with_name("schemas.json")


def lean_specs(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return what a model with a small window gets: the essential tools, each described in one sentence."""
    return [
        ToolSpec(spec.name, _sentence(spec.description), _bare(spec.parameters), spec.offer)
        for spec in specs
        if spec.offer.in_small_windows
    ]


def usable_specs(
    specs: Iterable[ToolSpec], *, more: bool, skills: Collection[str], settings: Settings
) -> list[ToolSpec]:
    """Drop what needs strategies unless there are `more` than the prompt has, what needs skills if there are no
    `skills`, and what needs settings that are not set."""
    is_there: dict[str, bool] = {
        "": True,
        "strategies": more,
        "skills": bool(skills),
        "diagnostics": bool(settings.diagnostics),
        "search": bool(settings.search_url),
    }
    return [spec for spec in specs if is_there[spec.offer.needs]]


def _sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _bare(schema: Any) -> Any:
    """Return a schema without descriptions and without `background`."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept_parts = {
        name: part
        for name, part in schema.items()
        if name != "description" or isinstance(part, dict)
    }
    return {name: _bare(part) for name, part in kept_parts.items() if name != _NOT_LEAN}


def bundled_specs() -> list[ToolSpec] | None:
    """Return the specifications, sorted by name; None if an installed package may add tools."""
    specs = _read_bundled(tuple(sys.path))
    return None if specs is None else [*specs]


@cache  # each request asks for them several times
def _read_bundled(path: Sequence[str]) -> tuple[ToolSpec, ...] | None:
    if any(
        b"swecli.tools" in file.read_bytes()
        for folder in path
        for file in Path(folder or ".").glob(_ENTRIES)
    ):
        return None
    return tuple(ToolSpec.from_json(row) for row in json.loads(_SCHEMAS.read_bytes()))
