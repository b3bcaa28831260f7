"""Test the tool `diagnostics` with checkers that are small shell scripts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.config.settings import Settings
from swecli.models.approval import Decision
from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.offers import usable_specs
from swecli.tools.permission_rules import PermissionRule
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]
CHECKER = 'code=0; for f in *.txt; do grep -n "bad" "$f" /dev/null && code=1; done; exit $code\n'


@pytest.fixture
def checker(root: Path, ctx: ToolContext) -> str:
    """Configure a checker that reports each line with the word bad."""
    (root / "check.sh").write_text(CHECKER)
    ctx.commands.diagnostics = ["sh check.sh"]
    return "sh check.sh"


async def test_the_first_run_shows_all_and_later_ones_only_what_is_new(
    run: RunTool, root: Path, checker: str
) -> None:
    (root / "a.txt").write_text("fine\nbad one\n")
    first = await run("diagnostics")
    assert not first.ok
    assert "first run" in first.for_model
    assert "a.txt:2:bad one" in first.for_model
    assert (await run("diagnostics")).for_model == f"{checker}: nothing new (exit code 1)"
    (root / "a.txt").write_text("more\nfine\nbad one\nbad two\n")
    assert (await run("diagnostics")).for_model.split("\n") == [
        f"{checker}: 1 new line (exit code 1):",
        "a.txt:4:bad two",
    ]
    (root / "a.txt").write_text("fine\n")
    assert (await run("diagnostics")).for_model == f"{checker}: no problems (exit code 0)"


async def test_problems_after_a_clean_first_run_are_new(
    run: RunTool, root: Path, checker: str
) -> None:
    (root / "a.txt").write_text("fine\n")
    assert (await run("diagnostics")).ok
    (root / "a.txt").write_text("bad\n")
    assert "1 new line" in (await run("diagnostics")).for_model


async def test_the_commands_are_asked_about_like_any_other(
    run: RunTool, root: Path, ctx: ToolContext, answers: Answers, permissions: Permissions
) -> None:
    ctx.commands.diagnostics = ["touch one", "touch two"]
    answers.decision = Decision(False)
    assert (await run("diagnostics")).denied
    assert answers.asked[0].summary == "Check with touch one; touch two"
    assert answers.asked[0].preview.body == "touch one; touch two"
    permissions.deny.append(PermissionRule.parse("run(touch two)"))
    assert "forbids it" in (await run("diagnostics")).for_model
    permissions.mode = "plan"
    assert not (await run("diagnostics")).ok
    assert list(root.iterdir()) == []


async def test_a_checker_that_hangs_is_stopped_and_is_no_baseline(
    run: RunTool, ctx: ToolContext
) -> None:
    ctx.commands.timeout = 0.5
    ctx.commands.diagnostics = ["sleep 60"]
    result = await run("diagnostics")
    assert result.for_model == "sleep 60: stopped after 0.5 s, so nothing is known"
    assert ctx.commands.known_problems == {}


async def test_a_checker_that_floods_is_cut_and_says_so(run: RunTool, ctx: ToolContext) -> None:
    ctx.commands.diagnostics = ["yes problem | head -c 100000000; exit 1"]
    result = await run("diagnostics")
    assert "Its output is too long to compare" in result.for_model
    assert "[printed: 100,000,000 characters" in result.for_model
    assert len(result.for_model) < 30_000
    assert ctx.commands.known_problems == {}


async def test_files_that_a_checker_edits_are_named(
    run: RunTool, root: Path, ctx: ToolContext
) -> None:
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("one\n")
    await run("read_file", path="a.txt")
    await run("read_file", path="b.txt")
    ctx.commands.diagnostics = ["sed -i s/one/two/ a.txt"]
    assert "[the checks changed files: a.txt. Read them again]" in (
        (await run("diagnostics")).for_model
    )


async def test_a_checker_that_is_not_installed_is_reported(run: RunTool, ctx: ToolContext) -> None:
    ctx.commands.diagnostics = ["no-such-linter ."]
    result = await run("diagnostics")
    assert result.exit_code == 127
    assert "no-such-linter" in result.for_model.split("\n")[1]


async def test_without_configuration_the_tool_is_neither_offered_nor_run(run: RunTool) -> None:
    assert "No checks are configured" in (await run("diagnostics")).for_model
    specs = ToolRegistry.discover().specs()
    names = [spec.name for spec in usable_specs(specs, more=False, skills=(), settings=Settings())]
    assert "diagnostics" not in names
    own = Settings(diagnostics=("ruff check .",))
    names = [spec.name for spec in usable_specs(specs, more=False, skills=(), settings=own)]
    assert "diagnostics" in names
