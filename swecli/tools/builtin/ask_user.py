"""Ask the user a question with a few choices, or for a free text."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from swecli.models.message import Display, Offer, ToolResult
from swecli.text import escape_hidden
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import one_line
from swecli.tools.params import Params
from swecli.values import dataclass

_MAX_CHOICES = 5  # a longer list is not read before it is answered
_MAX_CHOICE = 200  # characters, so that each is one or two lines of a terminal
_MAX_QUESTION = 1000


class AskUserParams(Params):
    question: str = Field(
        min_length=1,
        max_length=_MAX_QUESTION,
        description="The question, with what is needed to answer it.",
    )
    choices: list[str] = Field(
        default_factory=list,
        max_length=_MAX_CHOICES,
        description="Two to five answers to choose from. Empty: the user writes a text.",
    )
    default: str = Field("", max_length=_MAX_QUESTION, description="What you do without an answer.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionPlan(ToolPlan):
    """A question as it is shown, with the choices, () for a free text, and what is done without an answer, on one line
    each."""

    question: str
    choices: Sequence[str]
    default: str


def _plan(params: AskUserParams, ctx: ToolContext) -> _QuestionPlan:
    question = escape_hidden(params.question.strip())
    if not question:
        raise ToolError("The question is empty.")
    if len(params.choices) == 1:
        raise ToolError("One choice is none: give two to five, or leave them out for a free text.")
    if max(map(len, params.choices), default=0) > _MAX_CHOICE:
        raise ToolError(f"A choice has at most {_MAX_CHOICE} characters: explain in the question.")
    choices = [one_line(choice, _MAX_CHOICE) for choice in params.choices]
    if "" in choices or len(set(choices)) < len(choices):
        raise ToolError(
            "Two choices look the same, or one is empty. The user could not tell them apart."
        )
    if ctx.questions.open:
        raise ToolError(
            "Another question is open. Ask one at a time, or put what belongs together into one question."
        )
    default = one_line(params.default, _MAX_CHOICE)
    return _QuestionPlan(f"Ask {question}", question=question, choices=choices, default=default)


@tool(READ, AskUserParams, _plan, Offer(in_tasks=False, in_reviews=False))
async def ask_user(params: AskUserParams, ctx: ToolContext, plan: _QuestionPlan) -> ToolResult:
    question = plan.question
    choices = plan.choices
    if ctx.questions.ask_user is None:
        return _unanswered("Nobody can be asked in this run.", params.default)
    ctx.questions.open.append(question)
    try:
        decision = await ctx.questions.ask_user(question, choices, plan.default)
    finally:
        ctx.questions.open.remove(question)
    if decision.by == "headless":
        return _unanswered("Nobody can be asked in this run.", params.default)
    if not decision.allow or not decision.answer:
        return _unanswered("The user gave no answer.", params.default)
    answer = decision.answer
    if answer in choices:
        answer = params.choices[choices.index(answer)]
    return ToolResult(True, f"The user answers: {answer}", Display(title=one_line(answer)))


def _unanswered(reason: str, default: str) -> ToolResult:
    if default.strip():
        text = f"{reason} Go on with your default, and say so in your answer: {default.strip()}"
    else:
        text = f"{reason} Take the likelier way and say so, or state what you need to know."
    return ToolResult(False, text, Display(title=one_line(text)))
