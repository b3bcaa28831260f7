"""Test the two JSON files of Agent Plugins 1.0.0, section by section."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.config.plugin_folder import PluginFormat, read_plugin
from swecli.models.errors import BadInput
from tests.support.plugins import SCHEMAS, SKILL, agent_plugin, servers, write_files

_PROGRAM = {"type": "stdio", "command": "server"}
_SERVICE = {"type": "streamable-http", "url": "https://e.org"}


def test_a_manifest_its_skills_and_servers_are_read() -> None:
    files = {
        "skills/deploy/SKILL.md": SKILL.format(name="deploy", text="Do it."),
        "skills/deploy/deeper/SKILL.md": SKILL.format(name="deeper", text="Not found."),
        "mcp.json": servers(
            local={**_PROGRAM, "command": "./bin/server", "args": ["${PLUGIN_DATA}"]},
            remote={"type": "streamable-http", "url": "https://example.com/mcp"},
        ),
    }
    plugin = read_plugin(agent_plugin("acme.tools", files, version="1.2"), "x")
    assert (plugin.name, plugin.version, plugin.format) == (
        "acme.tools",
        "1.2",
        PluginFormat.AGENT_PLUGINS,
    )
    assert [file.parent.name for file in plugin.skills] == ["deploy"]
    assert plugin.servers.servers["local"].command == str(plugin.root / "bin/server")
    assert plugin.servers.servers["local"].cwd == "${PLUGIN_ROOT}"
    assert plugin.servers.servers["remote"].url == "https://example.com/mcp"
    assert not plugin.problems
    assert not plugin.unused


@pytest.mark.parametrize(
    ("manifest", "error"),
    [
        ({}, "plugin.json is for null, which is not known"),
        ({"$schema": f"{SCHEMAS[:-5]}2.0.0/plugin.schema.json"}, "2.0.0/plugin.schema.json"),
        ({"name": "My-Plugin"}, 'the name "My-Plugin" of the plug-in is invalid'),
        ({"name": "has--double"}, "is invalid"),
        ({"name": "too..many"}, "is invalid"),
        ({"name": "-start"}, "is invalid"),
        ({"name": "x" * 65}, "is invalid"),
        ({"name": ""}, "is invalid"),
        ({"name": 3}, "is invalid"),
        ({"version": 1}, "version is not a text"),
        ({"keywords": "x"}, "keywords is not a list"),
        ({"author": "me"}, "author is not an object"),
        ({"author": {"name": "me", "age": "3"}}, "author is not an object"),
    ],
)
def test_a_manifest_of_another_version_or_type_is_refused(
    manifest: dict[str, Any], error: str
) -> None:
    folder = agent_plugin()
    whole = {"$schema": f"{SCHEMAS}/plugin.schema.json", "name": "tools", **manifest}
    write_files(folder, {"plugin.json": whole if manifest else {"name": "tools"}})
    with pytest.raises(BadInput) as caught:
        read_plugin(folder, "x")
    assert error in caught.value.message


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "[]", '"x"'])
def test_a_broken_manifest_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"plugin\.json is not"):
        read_plugin(write_files(agent_plugin(), {"plugin.json": text}), "x")


def test_unknown_fields_and_extensions_are_named_and_the_rest_is_used() -> None:
    plugin = read_plugin(agent_plugin(hooks={}, extensions={"com.example": {}}), "x")
    assert plugin.unused == (
        "fields of plugin.json that its format does not have: hooks",
        "extensions of other programs: com.example",
    )
    assert "is not an object" in read_plugin(agent_plugin(extensions=3), "x").unused[0]


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (3, "it is not an object"),
        ({"command": "x"}, "its type is null"),
        ({"type": "sse", "url": "https://e.org"}, "its transport sse is not spoken here"),
        ({**_PROGRAM, "network": True}, "it has the unknown field network"),
        ({**_PROGRAM, "url": "https://e.org"}, "it has the unknown field url"),
        ({"type": "stdio"}, "command is not a text"),
        ({**_PROGRAM, "command": "../x"}, "neither a name nor a path that begins with ./"),
        ({**_PROGRAM, "command": "./../x"}, "its command leads out of the folder"),
        ({**_PROGRAM, "command": 3}, "command is not a text"),
        ({**_PROGRAM, "args": "x"}, "args is not a list of texts"),
        ({**_PROGRAM, "env": {"PLUGIN_ROOT": "/"}}, "sets PLUGIN_ROOT"),
        ({**_PROGRAM, "cwd": "data"}, "its cwd begins with neither"),
        ({**_PROGRAM, "cwd": "/etc"}, "its cwd begins with neither"),
        ({**_PROGRAM, "cwd": "${PLUGIN_ROOT}x"}, "its cwd begins with neither"),
        ({**_PROGRAM, "cwd": "${PLUGIN_DATA}/../../x"}, "its cwd leads out"),
        ({**_SERVICE, "headers": {"A": "x", "a": "y"}}, "its headers have a name twice"),
        ({**_SERVICE, "headers": 3}, "headers is not an object of texts"),
        ({"type": "streamable-http", "url": "ftp://e.org"}, "no http or https address"),
        ({"type": "streamable-http", "url": "http://e.org"}, "its url is not https"),
        ({"type": "streamable-http", "url": "https://me@e.org"}, "a user or a fragment"),
        ({"type": "streamable-http", "url": "https://e.org/#x"}, "a user or a fragment"),
    ],
)
def test_a_wrong_server_is_left_out_and_the_others_are_used(entry: Any, error: str) -> None:
    folder = agent_plugin(files={"mcp.json": servers(wrong=entry, right=_PROGRAM)})
    file = read_plugin(folder, "x").servers
    assert [*file.servers] == ["right"]
    [problem] = file.problems
    assert problem.startswith("mcp.json: the MCP server wrong")
    assert error in problem


def test_http_is_allowed_on_loopback() -> None:
    entry = {"type": "streamable-http", "url": "http://127.0.0.1:80/mcp"}
    file = read_plugin(agent_plugin(files={"mcp.json": servers(local=entry)}), "x").servers
    assert [*file.servers] == ["local"]


@pytest.mark.parametrize(
    "value",
    [
        "{",
        {"mcpServers": {}},
        {**servers(), "more": 1},
        {**servers(), "$schema": f"{SCHEMAS[:-5]}1.1.0/mcp.schema.json"},
        {**servers(), "mcpServers": []},
    ],
)
def test_a_wrong_file_with_servers_has_none_and_the_skills_are_used(value: Any) -> None:
    skill = SKILL.format(name="deploy", text="Do it.")
    folder = agent_plugin(files={"mcp.json": value, "skills/deploy/SKILL.md": skill})
    plugin = read_plugin(folder, "x")
    assert len(plugin.skills) == 1
    assert plugin.servers.problems[0].startswith("mcp.json is not used: ")


def test_a_manifest_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    folder = agent_plugin()
    (folder / "plugin.json").rename(tmp_path / "elsewhere.json")
    (folder / "plugin.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(BadInput, match="leads out of the folder"):
        read_plugin(folder, "x")
