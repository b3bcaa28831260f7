"""Search the earlier turns of the session."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import Display, Offer, ToolResult
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.params import Params


class _SearchSessionParams(Params):
    query: str = Field(
        min_length=1,
        max_length=500,
        description="Words from the text looked for; rare ones work best.",
    )


@tool(
    READ,
    _SearchSessionParams,
    lambda params, _: ToolPlan(f"Search earlier turns: {params.query}"),
    Offer(in_tasks=False, in_reviews=False),
)
async def _search_session(
    params: _SearchSessionParams, ctx: ToolContext, plan: ToolPlan
) -> ToolResult:
    if ctx.sessions is None:
        raise ToolError("There is no session in this run.")
    session = ctx.sessions.session
    # turns that the request contains anyway are searched only if no other has the words
    first_sent = session.window.first_kept(session.interactions, session.window_start)
    matches = ctx.sessions.search_session(params.query, before=first_sent, limit=5, floor=0)
    if not matches:
        newest = session.interactions
        matches = ctx.sessions.search_session(params.query, before=newest, limit=5, floor=0)
    lines = [place.quotation for match in matches for place in match.excerpts]
    text = "\n".join(lines) or "No earlier turn has any of these words."
    return ToolResult(True, text, Display(title="Earlier turns", body=text))
