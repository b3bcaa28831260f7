"""Test `/effort`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext


async def test_effort_sets_the_thinking_of_the_next_request(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "model default" in await ctx.type("/effort")
    assert "thinking high" in await ctx.type("/effort high")
    assert runtime.agent.make_fitter().thinking == "high"
    with pytest.raises(BadInput, match="choose: off, low"):
        await ctx.type("/effort hard")
