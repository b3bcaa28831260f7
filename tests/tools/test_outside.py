"""Test that listing, searching and mapping outside the workspace asks, like reading there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.models.approval import Decision
from swecli.models.message import ToolResult
from swecli.models.mode import Mode
from swecli.tools.permission_rules import PermissionRule
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {}),
    ("search_files", {"pattern": "def "}),
    ("repo_map", {}),
]
MODES: list[Mode] = ["ask", "edits", "plan", "auto"]


@pytest.fixture
def library(root: Path) -> Path:
    """A library beside the workspace, with a file that may hold secrets and one that it ignores."""
    folder = root.parent / "library" / "deep"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("def first(): ...\n")
    (folder / "inner/b.py").write_text("def second(): ...\n")
    (folder / "credentials.py").write_text("def secret(): ...\n")
    (folder / "hidden.py").write_text("def hidden(): ...\n")
    (folder / ".swecliignore").write_text("hidden.py\n")
    return folder


@pytest.mark.parametrize(("name", "parameters"), TOOLS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_folder_outside_is_asked_about_in_every_mode(
    run: RunTool,
    library: Path,
    answers: Answers,
    permissions: Permissions,
    name: str,
    parameters: dict[str, Any],
    mode: Mode,
) -> None:
    permissions.mode = mode
    result = await run(name, path=str(library), **parameters)
    assert f"{library}/a.py" in result.for_model, "paths are given so that they can be read"
    assert f"{library}/inner/b.py" in result.for_model
    [asked] = answers.asked
    assert asked.why == f"{library}/ is outside the workspace"
    assert asked.session_rules == (f"read(/{library}/**)",)
    answers.decision = Decision(False, reason="not there")
    refused = await run(name, path="../library", **parameters)
    assert (refused.ok, refused.denied) == (False, True)
    assert "first" not in refused.for_model


@pytest.mark.parametrize(("name", "parameters"), TOOLS)
async def test_one_yes_for_a_folder_covers_all_tools_that_read(
    run: RunTool, library: Path, answers: Answers, name: str, parameters: dict[str, Any]
) -> None:
    answers.decision = Decision(True, "session")
    await run(name, path=str(library), **parameters)
    assert (await run("list_files", path=f"{library}/inner")).ok
    assert (await run("search_files", path=f"{library}/a.py", pattern="def")).ok
    assert (await run("read_file", path=f"{library}/a.py")).ok
    assert len(answers.asked) == 1
    await run(name, path=str(library.parent), **parameters)
    assert len(answers.asked) == 2


@pytest.mark.parametrize(("name", "parameters"), TOOLS[1:])
async def test_what_may_hold_secrets_or_is_ignored_there_is_not_shown(
    run: RunTool, library: Path, name: str, parameters: dict[str, Any]
) -> None:
    text = (await run(name, path=str(library), **parameters)).for_model
    assert "def first" in text
    assert "def secret" not in text
    assert "def hidden" not in text


@pytest.mark.parametrize("rule", ["read(//**/a.py)", "read_file(//**/a.py)"])
async def test_what_a_rule_bars_outside_is_not_found_in_a_folder_nor_named_freely(
    run: RunTool, library: Path, answers: Answers, permissions: Permissions, rule: str
) -> None:
    permissions.deny.append(PermissionRule.parse(rule))
    permissions.allow_for_session(f"read(/{library}/**)")
    text = (await run("search_files", path=str(library), pattern="def ")).for_model
    assert "def second" in text
    assert "def first" not in text
    answers.decision = Decision(False)
    named = await run("search_files", path=f"{library}/a.py", pattern="def ")
    assert "def first" not in named.for_model


async def test_no_lasting_yes_is_offered_for_a_folder_around_the_workspace(
    run: RunTool, root: Path, answers: Answers
) -> None:
    (root.parent / "beside.txt").write_text("x\n")
    result = await run("list_files", path="..", depth=1)
    assert f"{root.parent}/beside.txt" in result.for_model
    [asked] = answers.asked
    assert asked.session_rules == ()
    assert asked.remedy == "a rule for a folder in it allows that folder"


async def test_a_link_out_of_the_workspace_asks_about_where_it_leads(
    run: RunTool, root: Path, library: Path, answers: Answers
) -> None:
    (root / "link").symlink_to(library)
    assert (await run("search_files", path="link", pattern="def ")).ok
    assert answers.asked[0].why == f"{library}/ is outside the workspace"


async def test_what_is_missing_outside_is_told_only_after_a_yes(
    run: RunTool, root: Path, answers: Answers
) -> None:
    answers.decision = Decision(False)
    assert "does not exist" not in (await run("list_files", path="../nothing")).for_model
    answers.decision = Decision(True)
    assert "does not exist" in (await run("list_files", path="../nothing")).for_model
