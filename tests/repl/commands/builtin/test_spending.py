"""Test `/cost`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


@pytest.mark.slow
async def test_cost_shows_five_kinds_of_tokens_and_a_total(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "hello")
    printed = await ctx.type("/cost")
    for words in ("input (uncached)", "cache reads", "cache writes", "output", "reasoning"):
        assert words in printed
    assert "1 request · cost $0.00" in printed
