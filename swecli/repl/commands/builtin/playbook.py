"""`/playbook`: show, change and decide on learned strategies."""

from __future__ import annotations

from swecli.models.action import ActionResult, Question
from swecli.models.errors import UsageError
from swecli.playbook.action import ACTIONS
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.input.question import Option

_CHOICES = tuple(
    (action.name, f"{action.usage}: {action.help}".lstrip(": ")) for action in ACTIONS.values()
)
# A number means the same as in an approval.
_DECISIONS = {
    "use": Option("yes, use it in prompts", "1", "y"),
    "remove": Option("no, remove it (can be undone)", "3", "n"),
    "later": Option("decide later", "l"),
    "stop": Option("stop here", "s"),
}


@command(
    aliases=("strategies",),
    usage="[show|why|add|edit|remove|undo|review]",
    complete=lambda runtime: _CHOICES,
    concurrent="*",
)
async def _playbook(ctx: CommandContext, args: str) -> None:
    """Show and change learned strategies"""
    word, _, rest = args.partition(" ")
    name = word.lower() or "list"
    if name.startswith("-"):
        name = "list"
        rest = args
    if name in ("good", "bad", "reflect"):
        raise UsageError(f"Unknown playbook action {word!r:.40}.", f"Use /{name}")
    result = ctx.runtime.learning.perform(name, rest.split(), folder=ctx.runtime.cwd)
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
            ctx.report(ctx.runtime.learning.perform("review", [question.id, decision]))


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
