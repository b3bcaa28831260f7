"""`/playbook` in a session: what needs a decision is asked about, a few at a time."""

from __future__ import annotations

from swecli.actions.builtin.playbook import playbook, promote
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.commands.settling import MAX_QUESTIONS, ask_questions


@in_own_form(playbook)
async def _playbook(ctx: CommandContext, args: str) -> None:
    action, rest, name = playbook.read(args)
    if action is promote:
        # late: running a tool needs pydantic
        from swecli.actions.promote import promote_strategy

        request = action.read(rest, name, ctx.runtime.cwd)
        ctx.report(await promote_strategy(ctx.runtime, request, ctx.approve))
        return
    result = await perform(ctx, action, rest, name)
    if not result.questions:
        ctx.report(result)
        return
    finished = await ask_questions(ctx, result.questions)
    more = len(result.questions) - MAX_QUESTIONS
    if finished and more > 0:
        ctx.screen.note(f"{more} more: /playbook review")
