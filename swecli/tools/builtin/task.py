"""Do a task in a child session."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Offer, ToolResult
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.params import Params


class _TaskParams(Params):
    title: str = Field(
        min_length=1, max_length=80, description="Title of the task, three to eight words."
    )
    prompt: str = Field(
        min_length=1, description="The whole task, with all the information it needs."
    )
    tools: list[Literal["edit_file", "write_file", "run_command", "fetch"]] = Field(
        default_factory=list, description="Tools it gets in addition to the read-only ones."
    )


def _plan_task(params: _TaskParams, ctx: ToolContext) -> ToolPlan:
    more = f" (with {', '.join(params.tools)})" if params.tools else ""
    return ToolPlan(f"Task {params.title}{more}")


@tool(READ, _TaskParams, _plan_task, Offer(in_tasks=False, in_reviews=False))
async def _task(params: _TaskParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.do_task is None:
        raise ToolError("Tasks are not available in this run.")
    return await ctx.do_task(params.title, params.prompt, params.tools, ctx)
