"""The session's to-do list."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolPlan, tool

_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}


class _ItemParams(Params):
    text: str = Field(min_length=1, max_length=500, description="What is to be done, in a few words.")
    status: Literal["pending", "in_progress", "done"] = Field("pending", description="How far it is.")


class _TodoParams(Params):
    items: list[_ItemParams] = Field(max_length=100, description="The whole list, in order; it replaces the old one.")


def _plan(params: _TodoParams, ctx: ToolContext) -> ToolPlan:
    done = sum(item.status == "done" for item in params.items)
    return ToolPlan(f"Update the to-do list ({done} of {len(params.items)} done)")


@tool(READ, _TodoParams, _plan)
async def todo(params: _TodoParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    # in place: the list is the session's, and others hold on to it
    ctx.todos[:] = [{"text": item.text, "status": item.status} for item in params.items]
    lines = [f"{_SIGNS[item.status]} {item.text}" for item in params.items]
    text = "\n".join(lines) or "The to-do list is empty."
    return ToolResult(True, text, Display(title="To do", body=text))
