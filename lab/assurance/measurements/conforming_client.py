"""Do with a server what a user does, by the program's own client: `conforming_client.py ADDRESS`. The tools are listed,
with a login if the server asks for one, and each is called with arguments that its schema allows."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from swecli.config.paths import Paths
from swecli.config.settings import Settings, Start
from swecli.models.errors import ToolError
from swecli.models.json_value import JsonObject
from swecli.models.model_choice import ModelChoice
from swecli.tools.guard import Guard
from swecli.tools.mcp.connections import Connections, list_tools
from swecli.tools.mcp.login import log_in_at
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.results import to_result
from swecli.tools.mcp.servers import Server, read_servers

NAME = "one"
_SECONDS = 20  # that a call may take
_VALUES: JsonObject = {"integer": 5, "number": 5, "boolean": True, "array": [], "object": {}}
_Result = TypeVar("_Result")


def make_start(folder: Path, entry: JsonObject) -> Start:
    """Return the configuration of a run whose user has this one server. It works in `work` of a folder."""
    os.environ["SWECLI_HOME"] = str(folder / "home")
    paths = Paths.find(os.environ)
    paths.ensure()
    (paths.config / "mcp.json").write_text(json.dumps({"mcpServers": {NAME: entry}}))
    work = folder / "work"
    work.mkdir(exist_ok=True)
    settings = replace(Settings(), command_timeout=_SECONDS)
    choice = ModelChoice("scripted/test", "no model is asked")
    return Start(settings=settings, paths=paths, cwd=work, environ=dict(os.environ), choice=choice)


def the_server(start: Start) -> Server:
    servers = read_servers(start)
    assert not servers.problems, servers.problems
    return servers.by_name[NAME]


def arguments_for(tool: RemoteTool) -> JsonObject:
    """Return a value of the right type for each argument that a tool requires."""
    properties = tool.schema["properties"]
    return {name: _value_for(properties.get(name, {})) for name in tool.schema.get("required", [])}


def _value_for(schema: JsonObject) -> Any:
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


async def _with_login(start: Start, work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Do something, once more after a login if one is asked for. Raises ToolError."""
    try:
        return await work()
    except ToolError as error:
        if "it asks for a login" not in str(error):
            raise
    await _log_in(start)
    return await work()


async def use(start: Start) -> list[str]:
    """List the tools, call each, and return the results as texts. Raises ToolError."""
    guard = Guard(start.cwd)
    tools = await _with_login(start, lambda: list_tools(the_server(start), start, guard, None))
    run = Connections(start, None)

    async def call(tool: RemoteTool) -> str:
        result = await run.call(the_server(start), tool, arguments_for(tool), guard)
        return to_result(NAME, tool.name, result).for_model

    return [await _with_login(start, lambda tool=tool: call(tool)) for tool in tools]  # type: ignore[misc]


def main(address: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        entry: JsonObject = {"type": "http", "url": address}
        given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        if "client_id" in given:
            entry["oauth"] = {
                "clientId": given["client_id"],
                "clientSecret": given["client_secret"],
            }
        start = make_start(Path(temporary), entry)
        try:
            print("\n".join(asyncio.run(use(start))))
        except ToolError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1])
