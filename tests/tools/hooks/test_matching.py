"""Test which names a matcher is for. Its rows with Claude Code's answers are in `test_rows.py`."""

from __future__ import annotations

import pytest

from swecli.tools.hooks.matching import is_for


@pytest.mark.parametrize(
    ("matcher", "name", "expected"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bas", "Bash", False),
        ("Edit|Bash", "Bash", True),
        ("Edit, Bash", "Bash", True),
        ("mcp__my-server__a-tool", "mcp__my-server__a-tool", True),
        ("mcp__my-server", "mcp__my-server__a-tool", False),
        ("mcp__my-server__.*", "mcp__my-server__a-tool", True),
        ("my-server.", "mcp__my-server__a-tool", True),
        ("Not.*", "Bash", False),
        ("Bash(", "Bash(", False),
    ],
)
def test_a_matcher_is_a_list_of_names_or_an_expression(
    matcher: str, name: str, expected: bool
) -> None:
    assert is_for(matcher, {name}) is expected
