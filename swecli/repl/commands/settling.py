"""Ask what of the playbook the user has to decide: a few closed questions, each of which may stay open."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.action import Invocation, Question
from swecli.playbook.action import ActionContext
from swecli.playbook.actions.change import review
from swecli.playbook.actions.questions import take_unasked
from swecli.repl.commands.actions import perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option

MAX_QUESTIONS = 3  # questions in a row, so that nobody has to work through a list
_LEAVE = Option("leave it (Enter)", "l")


async def ask_questions(ctx: CommandContext, questions: Sequence[Question]) -> bool:
    """Ask the first questions. Enter leaves one open and goes on; returns False if the user stopped at one."""
    for question in questions[:MAX_QUESTIONS]:
        if not await _ask(ctx, question):
            return False
    return True


async def settle_at_end(ctx: CommandContext) -> None:
    """Ask, before the session ends, what was not asked at an end before. Enter leaves all that is left."""
    sessions = ctx.runtime.sessions
    session = sessions.current_session
    if session is None or not session.interactions:
        return
    actions = ActionContext.of(sessions, Invocation())
    for question in take_unasked(actions, MAX_QUESTIONS) if session.playbook.bullets else ():
        if not await _ask(ctx, question, leaves_all=True):
            return


async def _ask(ctx: CommandContext, question: Question, *, leaves_all: bool = False) -> bool:
    """Ask one question, and decide as it is answered; return False if there is to be no other one: without an answer,
    or with `leaves_all` if this one is left."""
    for text in question.content.splitlines():
        ctx.screen.line(text, "head")
    for line in question.sources:
        ctx.screen.detail(line)
    answers = [Option(answer.label, answer.key, answer.letter) for answer in question.answers]
    title = f"{question.title} ({question.reason})"
    index = await ctx.asker.choose(title, [_LEAVE, *answers], guarded=True, default=0)
    if index is None:
        return False
    if index == 0:
        return not leaves_all
    ctx.report(await perform(ctx, review, question.answers[index - 1].line))
    return True
