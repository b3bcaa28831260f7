"""Test our calls in Claude Code's words, and what a hook changed in ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.tools.base import ToolContext, ToolPlan
from swecli.tools.hooks.names import HookedCall
from swecli.tools.mcp.finding import CALL
from swecli.tools.registry import ToolRegistry

_TOOLS = ToolRegistry.discover()
_ROOT = Path("/srv/shop")
_EDIT = {"old_text": "a", "new_text": "b"}
_THEIR_EDIT = {"old_string": "a", "new_string": "b"}


def _call(name: str, **parameters: Any) -> HookedCall:
    plan = ToolPlan("")
    return HookedCall("call_1", _TOOLS[name], parameters, plan, ToolContext(_ROOT))


@pytest.mark.parametrize(
    ("tool", "ours", "name", "theirs"),
    [
        (
            "run_command",
            {"command": "ls", "timeout": 5},
            "Bash",
            {"command": "ls", "timeout": 5000},
        ),
        (
            "run_command",
            {"command": "ls", "background": True},
            "Bash",
            {"command": "ls", "run_in_background": True},
        ),
        ("read_file", {"path": "a.py"}, "Read", {"file_path": "/srv/shop/a.py"}),
        ("read_file", {"path": "/etc/hosts"}, "Read", {"file_path": "/etc/hosts"}),
        (
            "write_file",
            {"path": "src/a.py", "content": "x"},
            "Write",
            {"file_path": "/srv/shop/src/a.py", "content": "x"},
        ),
        (
            "edit_file",
            {"path": "a.py", "edits": [_EDIT]},
            "Edit",
            {"file_path": "/srv/shop/a.py", **_THEIR_EDIT},
        ),
        (
            "edit_file",
            {"path": "a.py", "edits": [_EDIT] * 2},
            "MultiEdit",
            {"file_path": "/srv/shop/a.py", "edits": [_THEIR_EDIT] * 2},
        ),
        (
            "search_files",
            {"pattern": "x", "path": "src"},
            "Grep",
            {"pattern": "x", "path": "/srv/shop/src"},
        ),
        ("list_files", {"pattern": "*.py"}, "Glob", {"pattern": "*.py"}),
        ("fetch", {"url": "https://a.example"}, "WebFetch", {"url": "https://a.example"}),
    ],
)
def test_a_call_reads_as_one_of_claude_code_and_back(
    tool: str, ours: dict[str, Any], name: str, theirs: dict[str, Any]
) -> None:
    call = _call(tool, **ours)
    assert (call.name, call.input) == (name, theirs)
    changed = call.with_changes(theirs)
    if "edits" in changed:
        changed["edits"] = [
            {k: v for k, v in edit.items() if k in _EDIT} for edit in changed["edits"]
        ]
    assert changed == ours


def test_a_matcher_for_edits_is_for_several_at_once_too() -> None:
    call = _call("edit_file", path="a.py", edits=[_EDIT, _EDIT])
    assert call.names == {"Edit", "MultiEdit", "edit_file"}


def test_a_remote_tool_that_is_offered_by_its_name_has_that_name() -> None:
    tool = replace(_TOOLS["task"], name=CALL)
    given = {"name": "mcp__time__now", "arguments": {"zone": "UTC"}}
    hooked = HookedCall("call_1", tool, given, ToolPlan(""), ToolContext(_ROOT))
    assert (hooked.name, hooked.input) == ("mcp__time__now", {"zone": "UTC"})
    assert hooked.with_changes({"zone": "CET"}) == {
        "name": "mcp__time__now",
        "arguments": {"zone": "CET"},
    }


def test_what_a_hook_leaves_out_stays() -> None:
    call = _call("run_command", command="ls", access="write")
    assert call.with_changes({"command": "ls -l"}) == {"command": "ls -l", "access": "write"}


def test_a_change_in_another_form_is_left_to_the_check_of_arguments() -> None:
    call = _call("edit_file", path="a.py", edits=[_EDIT, _EDIT])
    assert call.with_changes({"edits": "none"})["edits"] == "none"
