"""Test `/fork`, which continues in a copy of the session."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn

pytestmark = pytest.mark.slow


async def test_fork_continues_in_a_copy_and_keeps_the_original(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "first thing")
    old = runtime.sessions.current_session
    assert old is not None
    printed = await ctx.type("/fork")
    now = runtime.sessions.current_session
    assert now is not None
    assert now.id != old.id
    assert now.interactions == 1
    assert f"/resume {old.id[:13]}" in printed
    await run_turn(runtime, "second thing")
    assert len(runtime.sessions.archive.export(old.id)["interactions"]) == 1


async def test_fork_can_end_the_copy_with_an_earlier_turn(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for query in ("one", "two", "three"):
        await run_turn(runtime, query)
    assert "ends with T2" in await ctx.type("/branch t2")
    now = runtime.sessions.current_session
    assert now is not None
    assert [m.content for m in now.messages if m.role == "user"] == ["one", "two"]


@pytest.mark.parametrize("args", ["T4", "T0", "x", "-1", "T1 T2"])
async def test_forking_at_an_unknown_turn_is_refused(
    runtime: Runtime, ctx: ScriptedContext, args: str
) -> None:
    for query in ("one", "two", "three"):
        await run_turn(runtime, query)
    with pytest.raises(BadInput, match=r"is not a turn|There is no turn T4 in this session"):
        await ctx.type(f"/fork {args}")


async def test_forking_before_the_first_turn_is_refused(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match="There is no turn yet"):
        await ctx.type("/fork T1")
