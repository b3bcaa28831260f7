"""Test the registered tools and their specifications."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import swecli.tools
from swecli.discovery import NameClash
from swecli.tools.registry import ToolRegistry

SNAPSHOT = Path(swecli.tools.__file__).with_name("schemas.json")


def test_the_specifications_equal_the_snapshot() -> None:
    """Specifications change only on purpose, because a change invalidates the provider's cache of every session."""
    specs = [tool.spec().to_json() for tool in ToolRegistry.discover().values()]
    bundled = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    assert specs == bundled, "to accept the change, run scripts/reference"


def test_the_tools_are_sorted_by_name() -> None:
    names = [*ToolRegistry.discover()]
    assert names == sorted(names)
    assert {"read_file", "run_command", "edit_file"} < {*names}


def test_the_specifications_use_only_what_every_provider_accepts() -> None:
    for spec in ToolRegistry.discover().specs():
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", spec.name)
        assert 40 < len(spec.description) < 1200
        text = json.dumps(spec.parameters)
        assert "$ref" not in text
        assert "anyOf" not in text
        assert spec.parameters["type"] == "object"
        assert spec.parameters["additionalProperties"] is False
        assert all("description" in prop for prop in spec.parameters["properties"].values())


def test_two_tools_with_the_same_name_clash() -> None:
    one = ToolRegistry.discover().get("todo")
    other = ToolRegistry.discover().get("read_file")
    assert one is not None
    assert other is not None
    twin = type(one)("todo", "x", other.params, other.kind, other.run, other.plan)
    with pytest.raises(NameClash):
        ToolRegistry([one, twin])
