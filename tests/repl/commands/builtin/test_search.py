"""Test `/search`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import UsageError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


async def test_search_finds_words_in_all_sessions(runtime: Runtime, ctx: ScriptedContext) -> None:
    await run_turn(runtime, "where is the teapot")
    await ctx.type("/new")
    assert "teapot" in await ctx.type("/search teapot")
    assert "no matches" in await ctx.type("/search samovar")
    with pytest.raises(UsageError):
        await ctx.type("/search")
