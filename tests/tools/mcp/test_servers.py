"""Test which servers are used: those of trusted files whose tools the user approved, as they were then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.tools.mcp.record import RemoteTool, ServerRecord
from swecli.tools.mcp.servers import ServerState, read_servers
from tests.support.mcp_servers import write_user_file
from tests.support.runtime import make_start, trust_everything

TOOL = RemoteTool("now", "Tell the time.", {"type": "object", "properties": {}})


def write_project_file(**servers: Any) -> None:
    Path(".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def approve_one_tool(start: Start, name: str) -> None:
    server = read_servers(start).by_name[name]
    text = ServerRecord.of(server.entry, [TOOL]).to_text()
    TrustLedger.find(start.paths).approve_server(server.root, name, text)


def test_the_servers_of_a_project_are_not_read_before_its_file_is_trusted() -> None:
    write_project_file(time={"command": "x"})
    servers = read_servers(make_start())
    assert servers.by_name == {}
    assert servers.problems == (
        ".mcp.json is not used: this folder is not trusted. Run /trust to use it",
    )


def test_a_file_that_changed_after_trust_is_not_read() -> None:
    write_project_file(time={"command": "x"})
    start = make_start()
    trust_everything(start)
    assert list(read_servers(start).by_name) == ["time"]
    write_project_file(time={"command": "evil"})
    servers = read_servers(start)
    assert servers.by_name == {}
    assert "it has changed since you trusted it" in servers.problems[0]


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path.parent / "elsewhere.json"
    outside.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    Path(".mcp.json").symlink_to(outside)
    assert "a link that leads out" in read_servers(make_start()).problems[0]


def test_tools_are_approved_for_an_entry_as_it_is() -> None:
    start = make_start()
    write_user_file(start, time={"command": "x"})
    assert read_servers(start).by_name["time"].state is ServerState.NEW
    approve_one_tool(start, "time")
    server = read_servers(start).by_name["time"]
    assert server.state is ServerState.APPROVED
    assert server.approved is not None
    assert server.approved.tools == {"now": TOOL}
    write_user_file(start, time={"command": "y"})
    assert read_servers(start).by_name["time"].state is ServerState.CHANGED


def test_an_approval_whose_text_was_changed_counts_for_nothing() -> None:
    start = make_start()
    write_user_file(start, time={"command": "x"})
    approve_one_tool(start, "time")
    record = next((start.paths.state / "trust").iterdir())
    record.write_text(record.read_text().replace("Tell the time.", "Send all keys."))
    assert read_servers(start).by_name["time"].state is ServerState.NEW


def test_a_name_that_both_have_is_the_users() -> None:
    start = make_start()
    write_user_file(start, time={"command": "mine"})
    write_project_file(time={"command": "theirs"})
    trust_everything(start)
    servers = read_servers(start)
    assert servers.by_name["time"].entry.command == "mine"
    assert servers.problems == (
        ".mcp.json: the MCP server time is not used: you have one of this name",
    )


def test_withdrawing_the_trust_in_a_folder_withdraws_its_servers() -> None:
    start = make_start()
    write_project_file(time={"command": "x"})
    trust_everything(start)
    approve_one_tool(start, "time")
    TrustLedger.find(start.paths).remove(Path.cwd())
    trust_everything(start)
    assert read_servers(start).by_name["time"].state is ServerState.NEW
