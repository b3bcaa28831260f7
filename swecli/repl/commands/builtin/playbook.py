"""The commands `/playbook`, `/reflect`, `/good` and `/bad`."""

from __future__ import annotations

import shlex

from swecli.models.errors import BadInput, UsageError
from swecli.playbook.action import ACTIONS, ActionResult
from swecli.repl.commands.base import CommandContext, command

_CHOICES = tuple((action.name, f"{action.usage}: {action.help}".lstrip(": ")) for action in ACTIONS.values())
_ANSWERS = [("later", "decide later"), ("stop", "stop here")]


@command(
    aliases=("strategies",),
    usage="[show|why|add|edit|remove|undo|review]",
    complete=lambda runtime: _CHOICES,
    concurrent="*",
)
async def playbook(ctx: CommandContext, args: str) -> None:
    """Show and change learned strategies"""
    word, _, rest = args.partition(" ")
    name = word.lower() or "list"
    if name.startswith("-"):
        name, rest = "list", args
    if name in ("good", "bad", "reflect"):
        raise UsageError(f"Unknown playbook action {word!r:.40}.", f"Use /{name}")
    result = ctx.runtime.learning.perform(name, _split_arguments(name, rest))
    if result.questions:
        await _review(ctx, result)
    else:
        ctx.report(result)


def _split_arguments(name: str, rest: str) -> list[str]:
    """Split the arguments, as a shell does if they contain a file name. Raises UsageError."""
    if not any(flag in rest for flag in ("--from", "--export")):
        return rest.split()
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"Cannot parse {rest!r:.60}: {error}.", "Quote a file name that contains a quote.") from None


async def _review(ctx: CommandContext, result: ActionResult) -> None:
    for question in result.questions:
        for line in question.details:
            ctx.screen.note(line)
        answer = await ctx.pick(question.title, [*question.answers, *_ANSWERS])
        if answer in (None, "stop"):
            return
        if answer != "later":
            ctx.report(ctx.runtime.learning.perform("review", str(answer).split()))


@command(usage="[T7|stop]")
async def reflect(ctx: CommandContext, args: str) -> None:
    """Reflect on the last turn, or on turn T7, now; or stop reflecting"""
    if args.lower() == "stop":
        stopped = await ctx.background.cancel()
        ctx.screen.note("stopped · it will be retried at the next start" if stopped else "nothing is being learned")
        return
    number = ctx.runtime.session.resolve_turn(args)
    learning = ctx.runtime.learning
    if not learning.enabled:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    await ctx.wait_for_background()
    events = await learning.learn(number, asked=True)
    if not events:
        alone = "" if learning.reflector.model else " (by rules only; no model was asked)"
        ctx.screen.note(f"T{number}: nothing to learn{alone}")
    for event in events:
        ctx.renderer.show(event)


@command(usage="[WHY]")
async def good(ctx: CommandContext, args: str) -> None:
    """Mark the last turn good: its strategies count as helpful"""
    await _mark(ctx, True, args)


@command(usage="[WHY]")
async def bad(ctx: CommandContext, args: str) -> None:
    """Mark the last turn bad: its strategies count as harmful"""
    await _mark(ctx, False, args)


async def _mark(ctx: CommandContext, is_good: bool, why: str) -> None:
    number = ctx.runtime.session.resolve_turn("")
    events = await ctx.runtime.learning.mark(is_good, why)
    ctx.screen.note(f"T{number} is marked {'good' if is_good else 'bad'}")
    for event in events:
        ctx.renderer.show(event)
