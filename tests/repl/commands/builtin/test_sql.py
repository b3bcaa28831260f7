"""Test `/sql`, which queries the database from the prompt."""

from __future__ import annotations

import asyncio

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


async def test_sql_prints_rows_under_their_column_names(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "first thing")
    printed = await ctx.type("/sql SELECT turn, query FROM turns")
    assert [line.split() for line in printed.splitlines()][::2] == [
        ["turn", "query"],
        ["1", "first", "thing"],
    ]
    assert "No rows." in await ctx.type("/sql SELECT * FROM findings")


async def test_sql_without_a_query_lists_the_views(ctx: ScriptedContext) -> None:
    assert "strategies" in await ctx.type("/sql")


async def test_a_query_that_writes_is_refused(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match="Only read-only queries"):
        await ctx.type("/sql DELETE FROM sessions")


async def test_cancelling_stops_an_endless_query(ctx: ScriptedContext) -> None:
    running = asyncio.create_task(ctx.type(f"/sql {ENDLESS}"))
    await asyncio.sleep(0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
