"""Test `/mode` and `/yolo`: without a sandbox, auto is confirmed once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.journeys.test_sandbox import skip_without_sandbox
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

YES, NO = "1", "3"


@pytest.fixture
def bare() -> Iterator[Runtime]:
    """A runtime whose commands run in no sandbox."""
    made = make_runtime(sandbox="off")
    yield made
    made.close()


async def test_without_a_sandbox_auto_is_set_after_a_yes(bare: Runtime) -> None:
    ctx = ScriptedContext(bare, YES)
    assert "mode auto" in await ctx.type("/mode auto")
    assert bare.agent.permissions.mode == "auto"


async def test_the_question_says_what_auto_means_and_why_there_is_no_sandbox(bare: Runtime) -> None:
    ctx = ScriptedContext(bare, NO)
    await ctx.type("/yolo")
    [title] = ctx.titles
    assert title.startswith("Run every command as you, without a question?")
    assert "the setting sandbox is off" in title
    assert ctx.offered == [[("1", "yes, until swecli ends"), ("3", "no, stay in mode ask")]]


@pytest.mark.parametrize("answer", [NO, None])
@pytest.mark.parametrize("line", ["/mode auto", "/yolo"])
async def test_without_a_yes_the_mode_stays_as_it_was(
    bare: Runtime, line: str, answer: str | None
) -> None:
    bare.set_mode("edits")
    printed = await ScriptedContext(bare, answer).type(line)
    assert "mode edits · nothing was changed" in printed
    assert bare.agent.permissions.mode == "edits"


async def test_a_yes_holds_until_the_program_ends(bare: Runtime) -> None:
    ctx = ScriptedContext(bare, YES)
    for line in ("/mode auto", "/plan", "/new", "/yolo"):
        await ctx.type(line)
    assert len(ctx.titles) == 1
    assert bare.agent.permissions.mode == "auto"


async def test_after_a_no_it_is_asked_again(bare: Runtime) -> None:
    ctx = ScriptedContext(bare, NO, YES)
    for _ in range(2):
        await ctx.type("/mode auto")
    assert bare.agent.permissions.mode == "auto"


async def test_who_starts_in_auto_is_not_asked() -> None:
    runtime = make_runtime(sandbox="off", mode="auto")
    ctx = ScriptedContext(runtime)
    for line in ("/mode ask", "/mode auto"):
        await ctx.type(line)
    assert runtime.agent.permissions.mode == "auto"
    runtime.close()


async def test_with_a_sandbox_auto_is_not_asked_about(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    skip_without_sandbox(runtime)
    await ctx.type("/mode auto")
    assert runtime.agent.permissions.mode == "auto"


@pytest.mark.parametrize("mode", ["ask", "edits", "plan"])
async def test_other_modes_are_not_asked_about(bare: Runtime, mode: str) -> None:
    await ScriptedContext(bare).type(f"/mode {mode}")
    assert bare.agent.permissions.mode == mode


async def test_mode_alone_marks_the_present_one(ctx: ScriptedContext) -> None:
    assert "now  ask" in " ".join((await ctx.type("/mode")).split(" ")).replace("   ", "  ")


async def test_an_unknown_mode_is_refused_with_the_known_ones(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match="Unknown mode 'wild'"):
        await ctx.type("/mode wild")


async def test_mode_plan_and_yolo_change_the_mode(runtime: Runtime, ctx: ScriptedContext) -> None:
    assert "mode plan · read only" in await ctx.type("/mode plan")
    modes = [runtime.agent.permissions.mode]
    for line in ("/yolo", "/plan"):
        await ctx.type(line)
        modes.append(runtime.agent.permissions.mode)
    assert modes == ["plan", "auto", "plan"]
