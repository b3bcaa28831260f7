"""Tools on the session itself: its to-do list, earlier turns, the playbook, and tasks in child sessions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool

_OF_THIS_SESSION = Offer(in_tasks=False, in_reviews=False)
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


@tool(READ, _TodoParams, _plan_todo, _OF_THIS_SESSION)
async def _todo(params: _TodoParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    # in place: the list belongs to the session
    ctx.todos[:] = [{"text": item.text, "status": item.status} for item in params.items]
    lines = [f"{_SIGNS[item.status]} {item.text}" for item in params.items]
    text = "\n".join(lines) or "The to-do list is empty."
    return ToolResult(True, text, Display(title="To do", body=text))


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
    _OF_THIS_SESSION,
)
async def _search_session(
    params: _SearchSessionParams, ctx: ToolContext, plan: ToolPlan
) -> ToolResult:
    if ctx.sessions is None:
        raise ToolError("There is no session in this run.")
    session = ctx.sessions.session
    # turns that the request contains anyway are searched only if no other has the words
    sent = session.window.first_kept(session.interactions, session.window_start)
    found = ctx.sessions.search_session(params.query, before=sent, limit=5, floor=0)
    if not found:
        newest = session.interactions
        found = ctx.sessions.search_session(params.query, before=newest, limit=5, floor=0)
    lines = [place.quotation for one in found for place in one.excerpts]
    text = "\n".join(lines) or "No earlier turn has any of these words."
    return ToolResult(True, text, Display(title="Earlier turns", body=text))


class _RecallParams(Params):
    query: str = Field(
        min_length=1, max_length=500, description="A few words on the topic at hand."
    )


@tool(
    READ,
    _RecallParams,
    lambda params, _: ToolPlan(f"Look up strategies: {params.query}"),
    Offer(in_tasks=False, needs="strategies"),
)
async def _recall(params: _RecallParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.memory is None:
        raise ToolError("There is no playbook in this run.")
    text = ctx.memory.recall(params.query) or "No strategy matches."
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
    scope: Literal["project", "user"] = Field(
        "project", description="project, or user if it applies everywhere."
    )
    replaces: str = Field(
        "", max_length=20, description="Id of a strategy that no longer holds, for example P-7."
    )


def _plan_remember(params: _RememberParams, ctx: ToolContext) -> ToolPlan:
    if not params.text.strip() and not params.replaces.strip():
        raise ToolError("There is nothing to remember: give a text, or in replaces what to forget.")
    summary = f"Remember: {params.text}" if params.text.strip() else f"Forget {params.replaces}"
    why = ctx.memory.objection(params.text, params.scope, params.replaces) if ctx.memory else ""
    if not why:
        return ToolPlan(summary)
    # `state` is whether the user said yes; without a user, what needs a yes waits
    waiting = ToolPlan(summary, state=False)
    return ToolPlan(summary, state=True, guard=why, unattended=waiting)


@tool(READ, _RememberParams, _plan_remember, Offer(in_tasks=False))
async def _remember(params: _RememberParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.memory is None:
        raise ToolError("There is no playbook in this run.")
    line = ctx.memory.remember(
        params.text,
        params.quote,
        params.when,
        params.scope,
        params.replaces,
        approved=bool(plan.state),
    )
    return ToolResult(True, line, Display(title="Playbook", body=line))


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
    return ToolPlan(f"Task {params.title}{''.join(f', {name}' for name in params.tools)}")


@tool(READ, _TaskParams, _plan_task, _OF_THIS_SESSION)
async def _task(params: _TaskParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    if ctx.do_task is None:
        raise ToolError("Tasks are not available in this run.")
    return await ctx.do_task(params.title, params.prompt, params.tools, ctx)
