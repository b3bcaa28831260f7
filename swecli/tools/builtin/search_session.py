"""What was said and found in earlier turns of the session."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool


class _SearchSessionParams(Params):
    query: str = Field(min_length=1, max_length=500, description="Words that stood there; rare ones find best.")


def _plan(params: _SearchSessionParams, ctx: ToolContext) -> ToolPlan:
    return ToolPlan(f"Search earlier turns: {params.query}")


@tool(READ, _SearchSessionParams, _plan)
async def search_session(params: _SearchSessionParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.results is None:
        raise ToolError("There is no session in this run.")
    lines = [place.quotation for one in ctx.results.search_earlier(params.query) for place in one.excerpts]
    text = "\n".join(lines) or "No earlier turn has any of these words."
    return ToolResult(True, text, Display(title="Earlier turns", body=text))
