"""Test the registered tools and their specifications."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import swecli.tools
from swecli.discovery import NameClash
from swecli.models.errors import BadInput
from swecli.tools.registry import ToolRegistry

OLD_KIND = """
from swecli.tools.base import PermissionKind
class Deploy(PermissionKind):
    def objection(self, patterns, subject, ctx):
        return None
"""
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


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package whose tool is made for another version: return its module, which is still empty."""
    info = tmp_path / "swecli_count-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: swecli-count\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[swecli.tools]\ncount = swecli_count:count\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "swecli_count", raising=False)
    return tmp_path / "swecli_count.py"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("from swecli.tools.base import Gone", "ImportError: cannot import name 'Gone'"),
        (OLD_KIND, "TypeError: Deploy has to say `coverage` in place of `objection`"),
    ],
)
def test_an_installed_tool_that_cannot_be_loaded_is_named_in_one_line(
    package: Path, source: str, why: str
) -> None:
    package.write_text(source)
    with pytest.raises(BadInput) as caught:
        ToolRegistry.discover().load()
    assert caught.value.message.startswith(f"The plug-in 'count' cannot be loaded: {why}")
    assert "\n" not in caught.value.message
    assert caught.value.hint == "Update or remove the package that brings swecli_count."
