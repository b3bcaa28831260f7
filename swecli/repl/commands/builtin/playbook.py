"""`/playbook` in a session: proposals are asked about, one by one."""

from __future__ import annotations

from swecli.actions.builtin.playbook import playbook
from swecli.models.action import ActionResult, Question
from swecli.playbook.actions.change import review
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option

# A number means the same as in an approval.
_DECISIONS = {
    "use": Option("yes, use it in prompts", "1", "y"),
    "remove": Option("no, remove it (can be undone)", "3", "n"),
    "later": Option("decide later", "l"),
    "stop": Option("stop here", "s"),
}


@in_own_form(playbook)
async def _playbook(ctx: CommandContext, args: str) -> None:
    action, rest, name = playbook.read(args)
    result = await perform(ctx, action, rest, name)
    if result.questions:
        await _review(ctx, result)
    else:
        ctx.report(result)


async def _review(ctx: CommandContext, result: ActionResult) -> None:
    for question in result.questions:
        decision = await _ask_decision(ctx, question)
        if decision == "stop":
            return
        if decision != "later":
            ctx.report(await perform(ctx, review, f"{question.id} {decision}"))


async def _ask_decision(ctx: CommandContext, question: Question) -> str:
    """Return a key of `_DECISIONS`; no answer is "stop"."""
    ctx.screen.line(f"{question.id}  {question.content}", "head")
    for line in question.sources:
        ctx.screen.detail(line)
    title = f"Use {question.id} in prompts? {question.reason}"
    picked = await ctx.asker.choose(title, list(_DECISIONS.values()), guarded=True)
    if picked is None:
        return "stop"
    return list(_DECISIONS)[picked]
