"""Test how a call of a server's tool is written for the user."""

from __future__ import annotations

import pytest

from swecli.models.json_value import Json
from swecli.tools.base import ToolContext
from swecli.tools.mcp.calling import ServerCalls
from swecli.tools.mcp.offered_tool import OfferedTool
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.servers import read_servers
from tests.support.mcp_servers import write_user_file
from tests.support.runtime import make_start


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        ({}, "stock: count"),
        (
            {"item": "shirts", "sizes": ["S", "M"]},
            'stock: count {"item": "shirts", "sizes": ["S", "M"]}',
        ),
        ({"item": "a\nb"}, 'stock: count {"item": "a\\nb"}'),
    ],
)
def test_a_call_is_named_with_its_arguments_on_one_line(
    ctx: ToolContext, arguments: dict[str, Json], summary: str
) -> None:
    start = make_start()
    write_user_file(start, stock={"command": "no-such-program"})
    server = read_servers(start).by_name["stock"]
    remote = RemoteTool("count", "How many there are.", {"type": "object"})
    offered = OfferedTool("mcp__stock__count", server, remote)
    tool = ServerCalls(start, list).tools([offered])[offered.name]
    assert tool.plan(tool.params.model_validate(arguments), ctx).summary == summary
