"""Test `/exit`."""

from __future__ import annotations

from tests.support.command_context import ScriptedContext


async def test_exit_leaves_the_repl(ctx: ScriptedContext) -> None:
    await ctx.type("/exit")
    assert ctx.left
