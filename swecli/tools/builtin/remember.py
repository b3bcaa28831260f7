"""What the user states once and wants to hold from then on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool


class _RememberParams(Params):
    text: str = Field(
        "", max_length=2_000, description="What to keep: one or two sentences, at most 60 words. Empty: only forget."
    )
    quote: str = Field(min_length=1, max_length=2_000, description="The user's own words, copied from their message.")
    when: str = Field(
        "",
        max_length=1_000,
        description="When it matters, in other words, also in the user's language: at most 40 words.",
    )
    scope: Literal["project", "user"] = Field("project", description="project; user for all they do everywhere.")
    replaces: str = Field("", max_length=20, description="The id of a strategy that holds no more, for example P-7.")


def _plan(params: _RememberParams, ctx: ToolContext) -> ToolPlan:
    if not params.text.strip() and not params.replaces.strip():
        raise ToolError("There is nothing to remember: give a text, or in replaces what to forget.")
    return ToolPlan(f"Remember: {params.text}" if params.text.strip() else f"Forget {params.replaces}")


@tool(READ, _RememberParams, _plan)
async def remember(params: _RememberParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.memory is None:
        raise ToolError("There is no playbook in this run.")
    line = ctx.memory.remember(params.text, params.quote, params.when, params.scope, params.replaces)
    return ToolResult(True, line, Display(title="Playbook", body=line))
