"""Test that many remote tools are offered by their names, and are found and called as the others are."""

from __future__ import annotations

import json

import pytest

from swecli.config.trust import TrustLedger
from swecli.models.message import CallStatus, ToolSpec
from swecli.tools.base import ToolError
from swecli.tools.mcp.finding import CALL, FIND, defer, find_tools
from swecli.tools.mcp.record import RemoteTool, ServerRecord
from swecli.tools.mcp.servers import read_servers
from tests.support.mcp_servers import approve, raw, write_user_file
from tests.support.runtime import NO, User, calls, make_runtime, make_start, run_turn
from tests.support.scripted import ScriptedModel

SCHEMA = {"type": "object", "properties": {}}
OWN = ToolSpec("read_file", "Read a file.", SCHEMA)


def remote(count: int, description: str = "Do it.") -> list[ToolSpec]:
    return [ToolSpec(f"mcp__s__t{number}", description, SCHEMA) for number in range(count)]


def names(specs: list[ToolSpec]) -> list[str]:
    return [spec.name for spec in specs]


def test_few_short_tools_are_described_in_each_request() -> None:
    specs = [*remote(20), OWN]
    assert defer(specs, 128_000) == specs
    assert defer([OWN], 1_000) == [OWN]


def test_more_than_twenty_are_offered_by_name_in_sorted_order() -> None:
    specs = defer([*remote(21), OWN], 128_000)
    assert names(specs) == [CALL, FIND, "read_file"]
    assert "mcp__s__t20" in specs[1].description


def test_those_that_take_a_tenth_of_the_window_are_offered_by_name() -> None:
    specs = [*remote(3, "word " * 4_000), OWN]
    assert names(defer(specs, 32_000)) == [CALL, FIND, "read_file"]
    assert defer(specs, 1_000_000) == specs
    assert defer(specs, None) == specs


def test_a_tool_is_found_by_its_name_or_by_words() -> None:
    specs = {
        "mcp__git__log": ToolSpec("mcp__git__log", "Show commits.", SCHEMA),
        "mcp__time__now": ToolSpec("mcp__time__now", "Tell the time in a zone.", SCHEMA),
    }
    assert names(find_tools("mcp__git__log", specs)) == ["mcp__git__log"]
    assert names(find_tools("which time is it?", specs))[0] == "mcp__time__now"
    with pytest.raises(ToolError, match="The tools: mcp__git__log, mcp__time__now"):
        find_tools("weather", specs)


async def test_a_tool_that_was_found_is_called() -> None:
    start = make_start()
    write_user_file(start, one=raw("many tools"))
    await approve(start, "one")
    find = (FIND, {"query": "mcp__one__tool7"})
    act = (CALL, {"name": "mcp__one__tool7", "arguments": {}})
    model = ScriptedModel([calls(find), calls(act), "done"])
    runtime = make_runtime(model, allow=("mcp(one__tool7)",))
    await run_turn(runtime, "go", learn=False)
    offered = names(list(model.requests[0].tools))
    assert CALL in offered
    assert "mcp__one__tool7" not in offered
    found, acted = [call for message in runtime.session.messages for call in message.tool_calls]
    assert json.loads(found.result or "")[0]["name"] == "mcp__one__tool7"
    assert (acted.result or "").endswith("done")
    assert acted.effects.origin == "web"


async def test_the_user_is_asked_about_the_tool_that_is_called() -> None:
    start = make_start()
    write_user_file(start, one={"command": "no-such-program"})
    server = read_servers(start).by_name["one"]
    tools = [RemoteTool(f"tool{number}", "Do it.", SCHEMA) for number in range(30)]
    text = ServerRecord.of(server.entry, tools).to_text()
    TrustLedger.find(start.paths).approve_server(server.root, "one", text)
    user = User([NO])
    act = (CALL, {"name": "mcp__one__tool7"})
    wrong = (CALL, {"name": "mcp__one__nothing"})
    runtime = make_runtime([calls(act, wrong), "done"], user)
    await run_turn(runtime, "go", learn=False)
    assert [asked.session_rules for asked in user.asked] == [("mcp(one__tool7)",)]
    acted, failed = [call for message in runtime.session.messages for call in message.tool_calls]
    assert acted.status is CallStatus.REFUSED
    assert "There is no tool 'mcp__one__nothing'" in (failed.result or "")
