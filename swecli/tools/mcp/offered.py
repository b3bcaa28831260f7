"""The tools of approved servers, as the model is offered them: from the record of what the user approved, so that no
server is needed to start, and a request has the same bytes whether servers run, are gone or have changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.models.json_value import Json
from swecli.models.message import Display, Effects, Offer, ToolResult, ToolSpec
from swecli.text import escape_hidden
from swecli.tools.base import READ, PermissionKind, Tool, ToolContext, ToolError, ToolPlan
from swecli.tools.limits import one_line
from swecli.tools.mcp.files import project_file, user_file
from swecli.tools.mcp.finding import CALL, CALL_SCHEMA, FIND, FIND_SCHEMA, find_tools
from swecli.tools.mcp.names import PREFIX, how_to, name_tools
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.servers import Server, Servers, ServerState, read_servers
from swecli.tools.permission_rules import SERVER_TOOLS
from swecli.values import dataclass

if TYPE_CHECKING:
    from pydantic import RootModel

    from swecli.tools.mcp.connections import Connections

MCP = PermissionKind(
    SERVER_TOOLS,
    "Call this tool of a server?",
    "asks before it calls a tool of an MCP server, whatever the server says of it",
)
# the program of a server may write to the workspace
_MCP_PROGRAM = replace(MCP, may_change="any file")
_OFFER = Offer(in_tasks=False, in_reviews=False)


@dataclass(frozen=True, slots=True)
class _Offered:
    """A tool of an approved server, and its name for the model."""

    name: str
    server: Server
    remote: RemoteTool

    @property
    def spec(self) -> ToolSpec:
        """What the model is told: what the user saw, with hidden characters as escapes."""
        description = escape_hidden(self.remote.description)
        return ToolSpec(self.name, description, _without_hidden(self.remote.schema), _OFFER)


class ServerTools:
    """The tools of a run's approved servers. Their files are looked at before each request, and read when they have
    changed, so that an approval counts from the next request on."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._connections: Connections | None = None
        self._seen: object = None  # the state of the files
        self._servers = Servers()

    @property
    def servers(self) -> Servers:
        """The servers as the files name them now."""
        state = [_state_of(file) for file in self._files()]
        if state != self._seen:
            self._seen = state
            self._servers = read_servers(self._start)
        return self._servers

    def specs(self) -> list[ToolSpec]:
        """Return the specifications of all approved tools."""
        return [one.spec for one in self._offered()]

    def tools(self) -> dict[str, Tool]:
        """Return all approved tools by name, and if there are any those that find and call them."""
        tools = {one.name: self._tool(one) for one in self._offered()}
        return {**tools, FIND: self._finding_tool(), CALL: _calling_tool(tools)} if tools else {}

    def notices(self) -> list[str]:
        """Return a line for each server that cannot be used."""
        lines = list(self.servers.problems)
        for server in self.servers.by_name.values():
            if server.state is not ServerState.APPROVED:
                lines.append(
                    f"the MCP server {server.name} is not used: {server.state}. See {how_to('approve', server.name)}"
                )
        return lines

    def _files(self) -> Iterator[str]:
        yield str(user_file(self._start))
        yield str(project_file(self._start))
        # an approval replaces a file in it
        yield str(self._start.paths.state / "trust")

    def _offered(self) -> Iterator[_Offered]:
        for server in self.servers.by_name.values():
            if server.approved is None or server.state is not ServerState.APPROVED:
                continue
            named = name_tools(server.name, server.approved.tools)
            for remote_name, name in named.items():
                yield _Offered(name, server, server.approved.tools[remote_name])

    def _tool(self, offered: _Offered) -> Tool:
        server, remote = offered.server, offered.remote
        kind = MCP if server.entry.url else _MCP_PROGRAM
        subject = offered.name.removeprefix(PREFIX)

        def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
            arguments = json.dumps(params.root, ensure_ascii=False, indent=1)
            return ToolPlan(
                f"{server.name}: {one_line(remote.name, 80)} {one_line(arguments, 100)}",
                preview=Display(body=arguments),
                subject=subject,
                effects=Effects(origin="web"),
            )

        async def run(
            params: RootModel[dict[str, Json]], ctx: ToolContext, plan: ToolPlan
        ) -> ToolResult:
            return await self._call(offered, params.root, ctx)

        spec = offered.spec
        return Tool(
            spec.name,
            spec.description,
            _any_arguments(),
            kind,
            run,
            plan,
            _OFFER,
            spec.parameters,
        )

    def _finding_tool(self) -> Tool:
        def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
            return ToolPlan(f"Find a tool of MCP servers: {one_line(_text(params, 'query'), 80)}")

        async def run(
            params: RootModel[dict[str, Json]], ctx: ToolContext, plan: ToolPlan
        ) -> ToolResult:
            specs = {spec.name: spec for spec in self.specs()}
            found = [
                spec.to_api()["function"] for spec in find_tools(_text(params, "query"), specs)
            ]
            names = ", ".join(function["name"] for function in found)
            return ToolResult(True, json.dumps(found, indent=1), Display(title=names))

        return Tool(FIND, "", _any_arguments(), READ, run, plan, _OFFER, FIND_SCHEMA)

    async def _call(
        self, offered: _Offered, arguments: dict[str, Json], ctx: ToolContext
    ) -> ToolResult:
        # late: only a call needs them
        from swecli.tools.mcp.connections import Connections
        from swecli.tools.mcp.results import to_result

        if self._connections is None:
            self._connections = Connections(self._start, ctx.commands.sandbox)
        server, remote = offered.server, offered.remote
        result = await self._connections.call(server, remote, arguments, ctx.guard)
        return to_result(server.name, remote.name, result, self._connections.take_notes())


def _without_hidden(value: Json) -> Json:
    """Return JSON with the hidden characters of its texts as escapes; names are left, since the server reads them."""
    if isinstance(value, str):
        return escape_hidden(value)
    if isinstance(value, list):
        return [_without_hidden(part) for part in value]
    if isinstance(value, dict):
        return {name: _without_hidden(part) for name, part in value.items()}
    return value


def _calling_tool(tools: Mapping[str, Tool]) -> Tool:
    """Return the tool that calls another one, which is planned, permitted and run as if the model had named it."""

    def named(params: RootModel[dict[str, Json]]) -> tuple[Tool, RootModel[dict[str, Json]]]:
        name = _text(params, "name")
        if name not in tools:
            raise ToolError(f"There is no tool {one_line(name, 80)!r}. See {FIND}.")
        arguments = params.root.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ToolError("arguments is not an object. Nothing was done.")
        return tools[name], _any_arguments()(arguments)

    def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
        tool, arguments = named(params)
        return tool.plan(arguments, ctx)

    async def run(
        params: RootModel[dict[str, Json]], ctx: ToolContext, plan: ToolPlan
    ) -> ToolResult:
        tool, arguments = named(params)
        return await tool.run(arguments, ctx, plan)

    return Tool(CALL, "", _any_arguments(), _MCP_PROGRAM, run, plan, _OFFER, CALL_SCHEMA)


def _text(params: RootModel[dict[str, Json]], name: str) -> str:
    """Return an argument that has to be a text. Raises ToolError."""
    value = params.root.get(name)
    if not isinstance(value, str):
        raise ToolError(f"{name} is not a text. Nothing was done.")
    return value


def _any_arguments() -> type[RootModel[dict[str, Json]]]:
    """Return the type of a remote tool's arguments: any, since the server checks them."""
    # late: as with the parameters of other tools
    from pydantic import RootModel

    return RootModel[dict[str, Json]]


def _state_of(file: str) -> object:
    """Return what changes with a file's contents; None if there is none."""
    try:
        now = os.stat(file)  # noqa: PTH116  raises nothing else
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino
