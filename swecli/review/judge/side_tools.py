"""The tools by which a verifier looks up code: those of every turn, on the side of the change that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field, create_model

from swecli.models.errors import BadInput
from swecli.models.finding import Side
from swecli.models.message import ToolResult
from swecli.review.judge.sources import Sources
from swecli.tools.base import Tool, ToolContext, ToolError, ToolPlan
from swecli.tools.guard import Guard

_NAMES = ("read_file", "search_files")
_SIDE = "head: the code after the change. base: before it."


def side_tools(tools: Mapping[str, Tool], sources: Sources) -> list[Tool]:
    """Return the tools that read and search files. Of a change they have a parameter `side`."""
    selected_tools = [tools[name] for name in _NAMES if name in tools]
    return (
        selected_tools
        if sources.base is None
        else [_with_side(tool, sources) for tool in selected_tools]
    )


def _with_side(tool: Tool, sources: Sources) -> Tool:
    """Return a tool that works in the files of the side that a call names."""
    field: Any = (Side, Field("head", description=_SIDE))
    params = create_model(tool.params.__name__, __base__=tool.params, side=field)

    def on_side(params: Any, ctx: ToolContext) -> ToolContext:
        if params.side == "head":
            return ctx
        try:
            root = sources.side("base").root
        except BadInput as error:
            raise ToolError(
                f"The code before the change cannot be read: {error.message}"
            ) from error
        guard = Guard(root, ctx.guard.rules)
        return replace(ctx, root=root, files=replace(ctx.files, guard=guard, digests={}))

    def plan(params: Any, ctx: ToolContext) -> ToolPlan:
        return tool.plan(params, on_side(params, ctx))

    async def run(params: Any, ctx: ToolContext, planned: ToolPlan) -> ToolResult:
        return await tool.run(params, on_side(params, ctx), planned)

    return replace(tool, params=params, plan=plan, run=run, schema=None)
