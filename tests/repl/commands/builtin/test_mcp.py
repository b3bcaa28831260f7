"""Test `/mcp` in a session: a project's server is used after three answers, and each no leaves things as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.mcp_servers import raw


def offered(runtime: Runtime) -> list[str]:
    return [spec.name for spec in runtime.agent.specs() if spec.name.startswith("mcp__")]


async def trust_a_server(ctx: ScriptedContext) -> str:
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"one": raw("hidden letters")}}))
    ctx.will_pick("1")
    return await ctx.type("/trust")


async def test_the_server_of_a_trusted_file_is_listed_and_offers_nothing(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "There are no MCP servers. /mcp add NAME COMMAND" in await ctx.type("/mcp")
    assert "/mcp approve NAME shows the tools of one" in await trust_a_server(ctx)
    assert "its tools are not approved yet" in await ctx.type("/mcp")
    assert offered(runtime) == []


async def test_a_no_before_the_start_starts_nothing(runtime: Runtime, ctx: ScriptedContext) -> None:
    await trust_a_server(ctx)
    ctx.will_pick("3")
    printed = await ctx.type("/mcp approve one")
    assert "nothing was started or approved" in printed
    assert "IMPORTANT" not in printed


@pytest.mark.slow
async def test_two_answers_offer_the_tools_from_the_next_request_on(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await trust_a_server(ctx)
    ctx.will_pick("1", "3")
    printed = await ctx.type("/mcp approve one")
    assert "Act.\\u202e<IMPORTANT>\\U000e0041\\x1b[2J" in printed
    assert "nothing was approved" in printed
    assert offered(runtime) == []
    ctx.will_pick("1", "1")
    await ctx.type("/mcp approve one")
    assert offered(runtime) == ["mcp__one__act"]


async def test_a_server_is_added_and_removed(runtime: Runtime, ctx: ScriptedContext) -> None:
    await ctx.type("/mcp add time -- 'no such' --zone UTC --env TZ=UTC")
    printed = await ctx.type("/mcp get time")
    assert "'no such' --zone UTC" in " ".join(printed.split())
    assert "variables: TZ" in printed
    assert "time is removed" in await ctx.type("/mcp remove time")


async def test_hints_name_what_can_be_typed_in_a_session(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for line in ("/mcp get time", "/mcp remove time", "/mcp approve time", "/mcp login time"):
        with pytest.raises(BadInput) as caught:
            await ctx.type(line)
        assert caught.value.hint == "See `/mcp list`."
