"""Test what a file with MCP servers may say, and one line for each thing that it may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swecli.config.mcp_file import (
    RegisteredClient,
    ServerEntry,
    add_server,
    parse_servers,
    remove_server,
)
from swecli.models.errors import BadInput, ConfigError


def parse(servers: Any) -> Any:
    return parse_servers(json.dumps({"mcpServers": servers}).encode(), ".mcp.json")


def test_a_program_and_a_service_are_read_as_other_assistants_write_them() -> None:
    file = parse(
        {
            "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}},
            "docs": {"type": "http", "url": "https://example.org/mcp", "headers": {"A": "b"}},
        }
    )
    assert file.problems == ()
    assert file.servers["time"] == ServerEntry(
        "time", command="uvx", args=("mcp-server-time",), env={"TZ": "UTC"}
    )
    assert file.servers["docs"].headers == {"A": "b"}
    assert file.servers["docs"].to_json()["type"] == "http"


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("a__b", {"command": "x"}, "the name 'a__b' of an MCP server is invalid"),
        ("a b", {"command": "x"}, "the name 'a b' of an MCP server is invalid"),
        ("x" * 33, {"command": "x"}, "of an MCP server is invalid"),
        ("a", [], "a is not an object"),
        ("a", {}, "needs either command or url"),
        ("a", {"command": "x", "url": "https://e.org"}, "needs either command or url"),
        ("a", {"type": "sse", "url": "https://e.org"}, "has the type 'sse'"),
        ("a", {"command": ""}, "command is not a text"),
        ("a", {"command": "x", "args": "y"}, "args is not a list of texts"),
        ("a", {"command": "x", "env": {"A": 1}}, "env is not an object of texts"),
        ("a", {"command": "x", "sandbox": "no"}, "sandbox is not true or false"),
        ("a", {"url": "file:///etc/passwd"}, "has no http or https address"),
        ("a", {"url": "https://e.org", "oauth": "us"}, "oauth is not an object"),
        ("a", {"url": "https://e.org", "oauth": {}}, "oauth: clientId is not a text"),
        (
            "a",
            {"url": "https://e.org", "oauth": {"clientId": "us", "callbackPort": 70_000}},
            "oauth: callbackPort is not a port",
        ),
    ],
)
def test_an_invalid_server_is_left_out_with_one_line(name: str, entry: Any, words: str) -> None:
    file = parse({name: entry, "good": {"command": "x"}})
    assert list(file.servers) == ["good"]
    assert len(file.problems) == 1
    assert file.problems[0].startswith(".mcp.json: ")
    assert words in file.problems[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[]", 'has no object "mcpServers"'),
        (b'{"servers": {}}', 'has no object "mcpServers"'),
    ],
)
def test_a_broken_file_names_no_servers_and_says_so(data: bytes, words: str) -> None:
    file = parse_servers(data, ".mcp.json")
    assert file.servers == {}
    assert words in file.problems[0]


def test_an_identity_for_logins_is_read_filled_in_and_written_as_it_was() -> None:
    oauth = {"clientId": "us", "clientSecret": "${SECRET}", "callbackPort": 8123}
    entry = parse({"hub": {"url": "https://e.org/mcp", "oauth": oauth}}).servers["hub"]
    assert entry.to_json()["oauth"] == oauth
    assert entry.fill_in({"SECRET": "word"}).client == RegisteredClient("us", "word", 8123)
    with pytest.raises(ConfigError, match="needs the variable SECRET"):
        entry.fill_in({})


def test_variables_are_filled_in_everywhere() -> None:
    entry = ServerEntry("a", command="${X}/run", args=("${Y:-red}",), env={"T": "${X}-${Z:-}"})
    filled = entry.fill_in({"X": "/opt"})
    assert filled.command == "/opt/run"
    assert filled.args == ("red",)
    assert filled.env == {"T": "/opt-"}


def test_a_variable_that_is_not_set_is_named() -> None:
    entry = ServerEntry("a", url="https://e.org", headers={"Authorization": "Bearer ${TOKEN}"})
    with pytest.raises(ConfigError, match="needs the variable TOKEN, which is not set"):
        entry.fill_in({})


def test_adding_and_removing_keeps_what_else_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"b": {"command": "y"}}, "other": 1}')
    add_server(file, ServerEntry("a", command="x", network=True))
    written = json.loads(file.read_text())
    assert written["other"] == 1
    assert written["mcpServers"]["a"] == {"command": "x", "args": [], "network": True}
    assert remove_server(file, "b")
    assert not remove_server(file, "b")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["a"]


def test_a_name_is_added_once_and_a_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    add_server(file, ServerEntry("a", command="x"))
    with pytest.raises(BadInput, match="has an MCP server a already"):
        add_server(file, ServerEntry("a", command="y"))
    file.write_text("{")
    with pytest.raises(BadInput, match="cannot be read"):
        add_server(file, ServerEntry("b", command="y"))
    assert file.read_text() == "{"
