"""End plan mode: show the user a plan, who accepts, edits or refuses it."""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import Field

from swecli.models.approval import Decision
from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.models.mode import PlanMode
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import count_of
from swecli.tools.params import Params
from swecli.values import dataclass

_MAX_STEPS = 30  # a longer list is not read before it is accepted
_MAX_STEP = 500  # characters, as of a step of the to-do list
_MAX_PLAN = 20_000  # characters: what a person reads before a yes
_STEPS = "## Steps"
_LIST_SIGN = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")

_ACCEPTED = (
    "The user accepts {what}. Plan mode has ended, and the mode is {mode} now: {meaning}. The steps are your to-do "
    "list. Carry them out."
)
_MEANINGS: dict[PlanMode, str] = {
    "ask": "the user is asked before a file is changed",
    "edits": "files are changed without asking",
}
_NOBODY = (
    "Nobody can accept a plan in this run, so the mode is still plan and nothing may be changed. Give the plan as your "
    "answer."
)
_REFUSAL = "The user does not accept the plan. The mode is still plan, and nothing may be changed."


class PresentPlanParams(Params):
    plan: str = Field(
        min_length=1,
        max_length=_MAX_PLAN,
        description="The plan in Markdown: what changes, in which files, why, and how it is verified.",
    )
    steps: list[str] = Field(
        min_length=1,
        max_length=_MAX_STEPS,
        description="What you will do, in order; becomes the to-do list.",
    )


class PlanOutline(NamedTuple):
    """A plan as one text, for the user to read and to edit."""

    text: str

    @classmethod
    def of(cls, plan: str, steps: list[str]) -> PlanOutline:
        lines = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
        return cls("\n".join([plan, "", _STEPS, "", *lines]))

    @property
    def steps(self) -> list[str]:
        """The lines below the last heading of the steps, without the signs of a list; [] if it was removed."""
        _, heading, below = self.text.rpartition(f"{_STEPS}\n")
        if not heading:
            return []
        items = [_LIST_SIGN.sub("", line, count=1).strip() for line in below.splitlines()]
        return [item[:_MAX_STEP] for item in items if item]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OutlinePlan(ToolPlan):
    """The question whether the user accepts a plan."""

    outline: PlanOutline


def _plan(params: PresentPlanParams, ctx: ToolContext) -> _OutlinePlan:
    if ctx.questions.ask_plan is None:
        raise ToolError("This is not plan mode: no plan has to be accepted. Do what was asked.")
    steps = [" ".join(step.split()) for step in params.steps]
    plan = params.plan.strip()
    if not plan or "" in steps:
        raise ToolError("The plan or one of its steps is empty.")
    if max(map(len, steps)) > _MAX_STEP:
        raise ToolError(f"A step has at most {_MAX_STEP} characters: explain it in the plan.")
    if ctx.questions.open:
        raise ToolError("Another question is open. Present the plan when it is answered.")
    return _OutlinePlan("Present a plan", outline=PlanOutline.of(plan, steps))


@tool(READ, PresentPlanParams, _plan, Offer(in_tasks=False, in_reviews=False))
async def present_plan(
    params: PresentPlanParams, ctx: ToolContext, plan: _OutlinePlan
) -> ToolResult:
    outline = plan.outline
    assert ctx.questions.ask_plan is not None, "a plan is made only in plan mode"
    ctx.questions.open.append(plan.summary)
    try:
        decision = await ctx.questions.ask_plan(outline.text)
    finally:
        ctx.questions.open.remove(plan.summary)
    if not decision.allow:
        return _refusal(decision)
    accepted = PlanOutline(decision.answer or outline.text)
    mode = decision.plan_mode
    subject = "the plan" if accepted == outline else "the plan with changes"
    text = _ACCEPTED.format(what=subject, mode=mode, meaning=_MEANINGS[mode])
    if accepted != outline:
        text += f" It reads now:\n\n{accepted.text}"
    # in place: the list belongs to the session
    ctx.todos[:] = [{"text": step, "status": "pending"} for step in accepted.steps]
    effects = Effects(todo=tuple(dict(item) for item in ctx.todos))
    title = f"{count_of(len(ctx.todos), 'step')} to do"
    return ToolResult(True, text, Display(title), effects=effects)


def _refusal(decision: Decision) -> ToolResult:
    if decision.by == "headless":
        return ToolResult(False, _NOBODY, Display(body=_NOBODY), denied=True)
    if decision.reason:
        text = f"{_REFUSAL} The user says: {decision.reason}"
    else:
        text = f"{_REFUSAL} Ask what is wanted instead."
    return ToolResult(False, text, Display(body=text), denied=True)
