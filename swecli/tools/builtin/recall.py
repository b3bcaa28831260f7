"""Strategies that the prompt has no room for."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool


class _RecallParams(Params):
    query: str = Field(min_length=1, max_length=500, description="A few words on the matter at hand.")


def _plan(params: _RecallParams, ctx: ToolContext) -> ToolPlan:
    return ToolPlan(f"Look up strategies: {params.query}")


@tool(READ, _RecallParams, _plan)
async def recall(params: _RecallParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.memory is None:
        raise ToolError("There is no playbook in this run.")
    text = ctx.memory.recall(params.query) or "No strategy matches."
    return ToolResult(True, text, Display(title="Playbook", body=text))
