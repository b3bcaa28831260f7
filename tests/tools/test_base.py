"""Test declaring tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from swecli.tools.base import READ, PermissionKind, ToolContext
from swecli.tools.builtin import read_file as module


def test_a_tool_takes_its_description_from_the_markdown_file_of_its_name() -> None:
    tool = module.read_file
    assert (tool.name, tool.kind) == ("read_file", READ)
    assert (
        tool.description
        == Path(module.__file__).with_name("read_file.md").read_text(encoding="utf-8").strip()
    )


def test_two_tool_contexts_share_no_state(tmp_path: Path) -> None:
    one, two = ToolContext(tmp_path), ToolContext(tmp_path)
    one.todos.append({})
    one.files.digests[tmp_path] = "x"
    assert (two.todos, two.files.digests) == ([], {})


def test_an_allow_pattern_of_the_workspace_covers_nothing_outside_it(tmp_path: Path) -> None:
    ctx = ToolContext(tmp_path)
    inside = ["**/*.md", "/usr/**", "*.md"]
    assert READ.coverage(inside, "docs/a.md", ctx).is_covered
    assert not READ.coverage(inside, "/usr/share/a.md", ctx).is_covered
    assert READ.coverage(["//usr/**"], "/usr/share/a.md", ctx).is_covered
    assert not READ.coverage(["//usr/**"], "usr/share/a.md", ctx).is_covered
    assert READ.touches("*.md", "/usr/share/a.md"), "a deny or ask rule matches generously"


def test_a_kind_that_says_objection_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="Old has to say `coverage` in place of `objection`"):

        class Old(PermissionKind):
            def objection(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> None:
                return None
