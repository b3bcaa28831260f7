"""The to-do list of the session, which the model writes and the user sees."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.tools.base import READ, ToolContext, ToolPlan, tool
from swecli.tools.params import Params

_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}


class _ItemParams(Params):
    text: str = Field(min_length=1, max_length=500, description="What to do, in a few words.")
    status: Literal["pending", "in_progress", "done"] = Field(
        "pending", description="Status of this step."
    )


class _TodoParams(Params):
    items: list[_ItemParams] = Field(
        max_length=100, description="The whole list, in order; replaces the previous one."
    )


def _plan_todo(params: _TodoParams, ctx: ToolContext) -> ToolPlan:
    done = sum(item.status == "done" for item in params.items)
    steps = tuple({"text": item.text, "status": str(item.status)} for item in params.items)
    summary = f"Update the to-do list ({done} of {len(steps)} done)"
    return ToolPlan(summary, effects=Effects(todo=steps))


@tool(READ, _TodoParams, _plan_todo, Offer(in_tasks=False, in_reviews=False))
async def _todo(params: _TodoParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    # in place: the list belongs to the session
    ctx.todos[:] = [{"text": item.text, "status": item.status} for item in params.items]
    lines = [f"{_SIGNS[item.status]} {item.text}" for item in params.items]
    text = "\n".join(lines) or "The to-do list is empty."
    return ToolResult(True, text, Display(body=text))
