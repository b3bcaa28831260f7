"""What models read of the built-in tools, as a file: a first request goes out before the tools are loaded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from swecli.models.message import ToolSpec

_ENTRIES = "*.dist-info/entry_points.txt"
_SCHEMAS = Path(__file__).with_name("schemas.json")


def written_specs() -> list[ToolSpec] | None:
    """The specifications, sorted by name; None where an installed package may bring more tools."""
    if any(b"swecli.tools" in file.read_bytes() for folder in sys.path for file in Path(folder or ".").glob(_ENTRIES)):
        return None
    functions = [spec["function"] for spec in json.loads(_SCHEMAS.read_bytes())]
    return [ToolSpec(spec["name"], spec["description"], spec["parameters"]) for spec in functions]
