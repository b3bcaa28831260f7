"""The tools of approved servers as the loop calls them: planned, permitted and run like any other tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.models.json_value import Json
from swecli.models.message import Display, Effects, ToolResult, ToolSpec
from swecli.tools.base import READ, PermissionKind, Tool, ToolContext, ToolError, ToolPlan
from swecli.tools.limits import one_line
from swecli.tools.mcp.finding import CALL, CALL_SCHEMA, FIND, FIND_SCHEMA, find_tools
from swecli.tools.mcp.names import PREFIX
from swecli.tools.mcp.offered_tool import OFFER, OfferedTool
from swecli.tools.permission_rules import SERVER_TOOLS

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


class ServerCalls:
    """Calls the tools of a run's servers, each of which is started by its first call."""

    def __init__(self, start: Start, specs: Callable[[], Sequence[ToolSpec]]) -> None:
        self._start = start
        self._specs = specs  # returns those of all tools, as they are then
        self._connections: Connections | None = None

    def tools(self, offered: Sequence[OfferedTool]) -> dict[str, Tool]:
        """Return these tools by name, and those that find and call them."""
        tools = {each.name: self._tool(each) for each in offered}
        return {**tools, FIND: self._finding_tool(), CALL: _calling_tool(tools)}

    def _tool(self, offered: OfferedTool) -> Tool:
        server, remote = offered.server, offered.remote
        kind = MCP if server.entry.url else _MCP_PROGRAM
        subject = offered.name.removeprefix(PREFIX)

        def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
            name = f"{server.name}: {one_line(remote.name, 80)}"
            brief = one_line(json.dumps(params.root, ensure_ascii=False), 100)
            return ToolPlan(
                f"{name} {brief}" if params.root else name,
                preview=Display(body=json.dumps(params.root, ensure_ascii=False, indent=1)),
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
            OFFER,
            spec.parameters,
        )

    def _finding_tool(self) -> Tool:
        def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
            return ToolPlan(f"Find a tool of MCP servers: {one_line(_text(params, 'query'), 80)}")

        async def run(
            params: RootModel[dict[str, Json]], ctx: ToolContext, plan: ToolPlan
        ) -> ToolResult:
            specs = {spec.name: spec for spec in self._specs()}
            schemas = [
                spec.to_api()["function"] for spec in find_tools(_text(params, "query"), specs)
            ]
            names = ", ".join(function["name"] for function in schemas)
            return ToolResult(True, json.dumps(schemas, indent=1), Display(title=names))

        return Tool(FIND, "", _any_arguments(), READ, run, plan, OFFER, FIND_SCHEMA)

    async def _call(
        self, offered: OfferedTool, arguments: dict[str, Json], ctx: ToolContext
    ) -> ToolResult:
        # late: only a call needs them
        from swecli.tools.mcp.connections import Connections
        from swecli.tools.mcp.results import to_result

        if self._connections is None:
            self._connections = Connections(self._start, ctx.commands.sandbox)
        server, remote = offered.server, offered.remote
        result = await self._connections.call(server, remote, arguments, ctx.guard)
        return to_result(server.name, remote.name, result, self._connections.take_notes())


def _calling_tool(tools: Mapping[str, Tool]) -> Tool:
    """Return the tool that calls another one, which is planned, permitted and run as if the model had named it."""

    def find_call(params: RootModel[dict[str, Json]]) -> tuple[Tool, RootModel[dict[str, Json]]]:
        name = _text(params, "name")
        if name not in tools:
            raise ToolError(f"There is no tool {one_line(name, 80)!r}. See {FIND}.")
        arguments = params.root.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ToolError("arguments is not an object. Nothing was done.")
        return tools[name], _any_arguments()(arguments)

    def plan(params: RootModel[dict[str, Json]], ctx: ToolContext) -> ToolPlan:
        tool, arguments = find_call(params)
        return tool.plan(arguments, ctx)

    async def run(
        params: RootModel[dict[str, Json]], ctx: ToolContext, plan: ToolPlan
    ) -> ToolResult:
        tool, arguments = find_call(params)
        return await tool.run(arguments, ctx, plan)

    return Tool(CALL, "", _any_arguments(), _MCP_PROGRAM, run, plan, OFFER, CALL_SCHEMA)


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
