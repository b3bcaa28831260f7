"""Test what `/undo` says; what it restores is tested in tests/undo."""

from __future__ import annotations

from swecli.app import Runtime
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


async def test_undo_says_that_the_window_moved_back(runtime: Runtime, ctx: ScriptedContext) -> None:
    for n in range(1, 4):
        await run_turn(runtime, f"query {n}")
    await ctx.type("/window 1")
    await run_turn(runtime, "query 4")
    printed = await ctx.type("/undo 2")
    assert "The window is 5+3 again, it was 1." in printed
    assert "T1 to T2 are sent again" in printed


async def test_undo_without_an_effect_on_the_window_is_silent_about_it(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "query 1")
    await run_turn(runtime, "query 2")
    printed = await ctx.type("/undo")
    assert 'Undone: "query 2". /redo brings it back.' in printed
    assert "window" not in printed
    assert "sent again" not in printed
