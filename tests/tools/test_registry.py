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


def specs() -> str:
    return (
        json.dumps(
            [tool.spec().to_json() for tool in ToolRegistry.discover().values()],
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def test_the_specifications_equal_the_snapshot() -> None:
    """Specifications change only on purpose, because a change invalidates the provider's cache of every session. To
    accept a change: PYTHONPATH=. python tests/tools/test_registry.py"""
    assert specs() == SNAPSHOT.read_text(encoding="utf-8")


def test_the_tools_are_sorted_by_name() -> None:
    assert [*ToolRegistry.discover()] == [
        "ask_user",
        "diagnostics",
        "edit_file",
        "fetch",
        "list_files",
        "present_plan",
        "read_file",
        "read_result",
        "recall",
        "remember",
        "repo_map",
        "run_command",
        "search_files",
        "search_session",
        "skill",
        "task",
        "todo",
        "web_search",
        "write_file",
    ]


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


if __name__ == "__main__":
    SNAPSHOT.write_text(specs(), encoding="utf-8")
