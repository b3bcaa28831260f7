"""Test `/good` and `/bad`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


async def test_good_and_bad_mark_the_last_turn(runtime: Runtime, ctx: ScriptedContext) -> None:
    await ctx.type("/playbook add Run the tests with make check")
    await run_turn(runtime, "run the tests [P-1]")
    assert "T1 is marked bad" in await ctx.type("/bad it was slow")
    assert "T1 is marked good" in await ctx.type("/good")
    info = runtime.sessions.turns.turn(runtime.sessions.session.id, 1)
    assert info is not None
    assert info.mark == "good"


@pytest.mark.parametrize("line", ["/good", "/bad why"])
async def test_marking_without_a_turn_is_refused(ctx: ScriptedContext, line: str) -> None:
    with pytest.raises(BadInput):
        await ctx.type(line)
