"""Do with a server what a user does, by the program's own client: `conforming_client.py ADDRESS`. It approves the tools,
after a login if the server asks for one, and calls each with arguments that its schema allows."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths
from swecli.config.settings import Settings, Start
from swecli.models.json_value import JsonObject
from swecli.models.message import ModelChoice
from swecli.tools.errors import ToolError
from swecli.tools.guard import Guard
from swecli.tools.mcp.connections import Connections, list_tools
from swecli.tools.mcp.login import log_in_at
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.results import to_result
from swecli.tools.mcp.servers import Server, read_servers

_NAME = "one"
_VALUES = {"string": "word", "integer": 5, "number": 5, "boolean": True, "array": [], "object": {}}


def make_start(folder: Path, entry: JsonObject) -> Start:
    """Return the configuration of a run in this folder, whose user has this one server."""
    os.environ["SWECLI_HOME"] = str(folder / "home")
    paths = Paths.find(os.environ)
    paths.ensure()
    (paths.config / "mcp.json").write_text(json.dumps({"mcpServers": {_NAME: entry}}))
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return Start(
        settings=replace(Settings(), command_timeout=20),
        paths=paths,
        cwd=work,
        environ=dict(os.environ),
        choice=ModelChoice("scripted/test", "no model is asked"),
    )


def the_server(start: Start) -> Server:
    servers = read_servers(start)
    assert not servers.problems, servers.problems
    return servers.by_name[_NAME]


def arguments_for(tool: RemoteTool) -> JsonObject:
    """Return a value of the right type for each argument that a tool requires."""
    properties = tool.schema["properties"]
    required = tool.schema.get("required", [])
    return {name: _value_for(properties.get(name, {})) for name in required}


def _value_for(schema: Any) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return _VALUES.get(schema.get("type", ""), "word")


async def _log_in(start: Start) -> None:
    """Log in as a user whose browser follows each redirect."""
    opened: list[asyncio.Task[object]] = []

    def say(line: str) -> None:
        if line.startswith("http"):
            opened.append(asyncio.create_task(asyncio.to_thread(urllib.request.urlopen, line)))

    await log_in_at(the_server(start), start, say)
    await asyncio.gather(*opened)


async def use(start: Start) -> None:
    """List the tools and call each, with a login as soon as one is asked for. Raises ToolError."""
    guard = Guard(start.cwd)
    try:
        tools = await list_tools(the_server(start), start, guard, None)
    except ToolError as error:
        if "it asks for a login" not in str(error):
            raise
        await _log_in(start)
        tools = await list_tools(the_server(start), start, guard, None)
    run = Connections(start, None)
    for tool in tools:
        try:
            result = await run.call(the_server(start), tool, arguments_for(tool), guard)
        except ToolError as error:
            if "it asks for a login" not in str(error):
                raise
            await _log_in(start)
            result = await run.call(the_server(start), tool, arguments_for(tool), guard)
        sys.stdout.write(to_result(_NAME, tool.name, result).for_model + "\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        configured = make_start(Path(temporary), {"type": "http", "url": sys.argv[1]})
        try:
            asyncio.run(use(configured))
        except ToolError as error:
            sys.exit(str(error))
