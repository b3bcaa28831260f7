"""A task done apart, in a window of its own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool


class _TaskParams(Params):
    """Parameters of task."""

    title: str = Field(min_length=1, max_length=80, description="What it is, in three to eight words.")
    prompt: str = Field(min_length=1, description="The whole task, with all that is needed to know for it.")
    tools: list[Literal["edit_file", "write_file", "run_command", "fetch"]] = Field(
        default_factory=list, description="Tools it gets besides those that only read."
    )


def _plan(params: _TaskParams, ctx: ToolContext) -> ToolPlan:
    return ToolPlan(f"Task {params.title}{''.join(f', {name}' for name in params.tools)}")


@tool(READ, _TaskParams, _plan)
async def task(params: _TaskParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    """Have a task done."""
    if ctx.tasks is None:
        raise ToolError("There is nobody to do a task in this run.")
    return await ctx.tasks.do_task(params.title, params.prompt, params.tools, ctx)
