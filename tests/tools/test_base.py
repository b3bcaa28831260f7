"""Test declaring tools."""

from __future__ import annotations

from pathlib import Path

from swecli.tools.base import READ, ToolContext
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
    one.file_digests[tmp_path] = "x"
    assert (two.todos, two.file_digests) == ([], {})


def test_an_allow_pattern_of_the_workspace_covers_nothing_outside_it(tmp_path: Path) -> None:
    ctx = ToolContext(tmp_path)
    inside = ["**/*.md", "/usr/**", "*.md"]
    assert READ.objection(inside, "docs/a.md", ctx) is None
    assert READ.objection(inside, "/usr/share/a.md", ctx) is not None
    assert READ.objection(["//usr/**"], "/usr/share/a.md", ctx) is None
    assert READ.objection(["//usr/**"], "usr/share/a.md", ctx) is not None
    assert READ.touches("*.md", "/usr/share/a.md"), "a deny or ask rule matches generously"
