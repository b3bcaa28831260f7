"""The servers that a run has started or reached, each when it was first needed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.mcp_file import ServerEntry
from swecli.config.settings import Start
from swecli.models.errors import ToolError
from swecli.models.json_value import Json
from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.mcp.connection import Connection, Link
from swecli.tools.mcp.login import find_login
from swecli.tools.mcp.names import how_to
from swecli.tools.mcp.pipes import Pipes, Program
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.servers import Server
from swecli.tools.mcp.service import Service
from swecli.tools.own_programs import find_program
from swecli.tools.plugin_data import make_data_folder
from swecli.tools.run_inside import FurtherAccess
from swecli.tools.sandbox import Sandbox
from swecli.tools.toolchains import places_of
from swecli.values import dataclass

# the sandbox starts each program in the workspace
_IN_FOLDER = 'cd -- "$1" && shift && exec "$@"'

if TYPE_CHECKING:
    from mcp_types import CallToolResult


def find_link(server: Server, start: Start, guard: Guard, sandbox: Sandbox | None) -> Link:
    """Return how a server is reached. Raises ConfigError if a variable is not set, and ToolError."""
    entry = server.filled_entry(start)
    if entry.url:
        service = Service(server.name, entry.url, entry.headers)
        service.auth = find_login(server, entry, start, service.fail)
        return service
    return Pipes(_program_of(server, entry, start, guard, sandbox))


def _program_of(
    server: Server, entry: ServerEntry, start: Start, guard: Guard, sandbox: Sandbox | None
) -> Program:
    """Return how a server's program is started, by its entry with the values of variables. Raises ToolError if it may
    not run at all."""
    if sandbox is not None and entry.sandbox and sandbox.refusal:
        raise ToolError(sandbox.refusal)
    is_inside = sandbox is not None and entry.sandbox and sandbox.is_active
    root = start.cwd.resolve()
    argv = [os.path.expanduser(entry.command), *entry.args]  # noqa: PTH111  a command need not be a path
    if entry.cwd:
        argv = ["/bin/sh", "-c", _IN_FOLDER, "sh", entry.cwd, *argv]
    env, writable_folders = entry.env, tuple[str, ...]()
    if server.plugin is not None:
        env = {**env, **server.plugin.environment}
        try:
            writable_folders = (make_data_folder(server.plugin),)
        except OSError as error:
            raise ToolError(f"{server.plugin.data} cannot be made: {error.strerror}") from error
    return Program(
        argv if is_inside else [*_end_with_us(start, root), *argv],
        cwd=root,
        env=child_environment(start.environ),
        guard=guard,
        sandbox=sandbox if is_inside else None,
        access=FurtherAccess(entry.network, env, shown_to(entry, start), writable_folders),
    )


def _end_with_us(start: Start, root: Path) -> list[str]:
    """Return the words before a command that let it end with this program, however that ends, as the sandbox does by
    itself; none where there is no program for it, and then it ends if it reads to the end of its input."""
    setpriv = find_program("setpriv", start.environ, root)
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def shown_to(entry: ServerEntry, start: Start) -> tuple[str, ...]:
    """Return the paths outside the workspace that a server may read because its command names them: its program, with
    what lies beside it, and existing files and folders."""
    root = start.cwd.resolve()
    program = shutil.which(os.path.expanduser(entry.command), path=start.environ.get("PATH"))  # noqa: PTH111  as above
    absolute_paths = [Path(argument) for argument in entry.args if argument.startswith("/")]
    if program is not None:
        absolute_paths.insert(0, Path(program).absolute())
    places: set[Path] = set()
    for path in absolute_paths:
        places |= places_of(path, start.environ)
    outside = (path for path in places if not path.is_relative_to(root))
    return tuple(sorted(map(str, outside)))


@dataclass(slots=True)
class _Running:
    """A server that was started or reached, by the entry of then, and its tools by name as it listed them last."""

    entry: Json
    connection: Connection
    tools: dict[str, RemoteTool] = field(default_factory=dict)

    async def list_tools(self) -> None:
        """Ask for the tools again. Raises ToolError."""
        self.tools = {tool.name: tool for tool in await self.connection.list_tools()}


class Connections:
    """The open connections of a run by the server's name. All end with the event loop at the latest."""

    def __init__(self, start: Start, sandbox: Sandbox | None) -> None:
        self._start = start
        self._sandbox = sandbox
        self._running: dict[str, _Running] = {}
        self._links: list[Link] = []
        self._locks: dict[str, asyncio.Lock] = {}

    async def call(
        self, server: Server, tool: RemoteTool, arguments: Mapping[str, Json], guard: Guard
    ) -> CallToolResult:
        """Call a tool that the user approved. Raises ToolError, also if the server says something else of the tool
        now."""
        async with self._locks.setdefault(server.name, asyncio.Lock()):
            running = await self._connect(server, guard)
            if running.tools.get(tool.name) != tool or running.connection.changed:
                await running.list_tools()
        now = running.tools.get(tool.name)
        if now is None:
            raise ToolError(f"The MCP server {server.name} has no tool {tool.name!r} any more.")
        if now != tool:
            raise ToolError(
                f"The MCP server {server.name} describes {tool.name!r} in other words than those that the user"
                f" approved. It is not called until the user has seen them: {how_to('approve', server.name)}"
            )
        seconds = float(self._start.settings.command_timeout)
        return await running.connection.call(tool.name, arguments, seconds)

    def take_notes(self) -> list[str]:
        """Return, once, the lines on what was put back in the workspace when a server had ended."""
        notes: list[str] = []
        for link in self._links:
            notes += link.notes
            link.notes.clear()
        return notes

    async def _connect(self, server: Server, guard: Guard) -> _Running:
        """Return the server with an open connection, and the tools that it listed last. Raises ToolError."""
        entry = server.entry.to_json()
        running = self._running.pop(server.name, None)
        if running is not None and running.connection.is_open and running.entry == entry:
            self._running[server.name] = running
            return running
        if running is not None:
            await running.connection.close()
        link = find_link(server, self._start, guard, self._sandbox)
        self._links.append(link)
        running = _Running(entry, Connection(server.name, link))
        await running.connection.open()
        self._running[server.name] = running
        await running.list_tools()
        return running


async def list_tools(
    server: Server, start: Start, guard: Guard, sandbox: Sandbox | None
) -> list[RemoteTool]:
    """Return what a server says of its tools now, by a connection of its own. Raises ToolError and ConfigError."""
    connection = Connection(server.name, find_link(server, start, guard, sandbox))
    await connection.open()
    try:
        return await connection.list_tools()
    finally:
        await connection.close()
