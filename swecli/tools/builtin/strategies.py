"""Look up strategies of the playbook, and store what the user says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Display, Offer, ToolResult
from swecli.models.playbook import MAX_PATHS
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.params import Params
from swecli.values import dataclass


class _RecallParams(Params):
    query: str = Field(
        min_length=1, max_length=500, description="A few words on the topic at hand."
    )


@tool(
    READ,
    _RecallParams,
    lambda params, _: ToolPlan(f"Look up strategies: {params.query}"),
    Offer(in_tasks=False, in_reviews=False, needs="strategies"),
)
async def _recall(params: _RecallParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.open_memory is None:
        raise ToolError("There is no playbook in this run.")
    text = ctx.open_memory().recall(params.query) or "No strategy matches."
    return ToolResult(True, text, Display(title="Playbook", body=text))


class _RememberParams(Params):
    text: str = Field(
        "",
        max_length=2_000,
        description="What to store: one or two sentences, at most 60 words. Empty: only forget.",
    )
    quote: str = Field(
        min_length=1,
        max_length=2_000,
        description="The user's own words, copied from their message.",
    )
    when: str = Field(
        "",
        max_length=1_000,
        description="When it matters, in other words, also in the user's language: at most 40 words.",
    )
    scope: Literal["", "project", "user"] = Field(
        "",
        description="user: everywhere. Empty: as what it replaces, else here.",
    )
    paths: list[str] = Field(
        [],
        max_length=MAX_PATHS,
        description="Globs such as bench/**, if it is for these files only.",
    )
    replaces: str = Field(
        "", max_length=20, description="Id of a strategy that no longer holds, for example P-7."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RememberPlan(ToolPlan):
    """What is stored or forgotten."""

    has_users_yes: bool = False  # if the user is asked before it runs


def _plan_remember(params: _RememberParams, ctx: ToolContext) -> _RememberPlan:
    if not params.text.strip() and not params.replaces.strip():
        raise ToolError("There is nothing to remember: give a text, or in replaces what to forget.")
    summary = f"Remember: {params.text}" if params.text.strip() else f"Forget {params.replaces}"
    objection = ""
    if ctx.open_memory is not None:
        objection = ctx.open_memory().objection(params.text, params.scope, params.replaces)
    if not objection:
        return _RememberPlan(summary)
    return _RememberPlan(
        summary,
        preview=_preview(params),
        has_users_yes=True,
        guard=objection,
        unattended=_RememberPlan(summary),  # without a user, what needs a yes waits
    )


def _preview(params: _RememberParams) -> Display:
    """Return what the user is asked about: the text as it would be stored, and the words that it is taken from."""
    lines = [params.text.strip()] if params.text.strip() else []
    lines += [f"when: {params.when}"] if params.when else []
    lines += ["in all your projects"] if params.scope == "user" else []
    lines += [f"in {', '.join(params.paths)}"] if params.paths else []
    return Display(body="\n".join([*lines, f'your words: "{params.quote}"']))


@tool(READ, _RememberParams, _plan_remember, Offer(in_tasks=False, in_reviews=False))
async def _remember(params: _RememberParams, ctx: ToolContext, plan: _RememberPlan) -> ToolResult:
    if ctx.open_memory is None:
        raise ToolError("There is no playbook in this run.")
    line = ctx.open_memory().remember(
        params.text,
        params.quote,
        params.when,
        params.scope,
        params.replaces,
        paths=params.paths,
        approved=plan.has_users_yes,
    )
    return ToolResult(True, line, Display(line))
