"""`/playbook`: what was learned, with its evidence; to be added to, corrected and taken back."""

from __future__ import annotations

import shlex

from swecli.models.errors import UsageError
from swecli.playbook.action import ActionResult
from swecli.playbook.actions.names import ACTIONS
from swecli.repl.commands.base import CommandContext, command

_CHOICES = tuple((action.name, f"{action.usage}: {action.help}".lstrip(": ")) for action in ACTIONS.values())
_GAP = 3  # columns between those of a table
_READABLE = 24  # columns, at least, for what is longest in a table
_ANSWERS = [("later", "decide later"), ("stop", "stop here")]


@command(
    aliases=("strategies",),
    usage="[show|why|add|edit|remove|undo|review]",
    complete=lambda runtime: _CHOICES,
    beside="*",
)
async def playbook(ctx: CommandContext, args: str) -> None:
    """Show and change what was learned"""
    word, _, rest = args.partition(" ")
    name = word.lower() or "list"
    if name.startswith("-"):
        name, rest = "list", args
    if name in ("good", "bad", "reflect"):
        raise UsageError(f"/playbook cannot {word!r:.40}.", f"Use /{name}")
    result = ctx.runtime.learning.perform(name, _words(name, rest))
    if result.questions:
        await _review(ctx, result)
    else:
        report(ctx, result)


def _words(name: str, rest: str) -> list[str]:
    """The arguments; where a file is among them, quotes hold its name together. Raises UsageError."""
    if not any(flag in rest for flag in ("--from", "--export")):
        return rest.split()
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(
            f"{rest!r:.60} cannot be read: {error}.", "Put a name with a quote in it into quotes."
        ) from None


def report(ctx: CommandContext, result: ActionResult) -> None:
    """Print an answer: the first line stands out where there are more."""
    if result.rows and _too_wide(result, ctx.screen.width):
        for row in result.rows:
            ctx.screen.line(f"{row[0]}  {row[-1]}", "head")
            ctx.screen.note(" · ".join(f"{result.head[at]} {row[at]}" for at in range(1, len(row) - 1)))
    elif result.rows:
        ctx.screen.table(result.head, result.rows)
    elif len(result.lines) == 1:
        ctx.screen.note(result.lines[0])
    else:
        for at, line in enumerate(result.lines):
            ctx.screen.line(line, "" if at else "head")
    if result.note:
        ctx.screen.note(result.note)


def _too_wide(result: ActionResult, width: int) -> bool:
    """Whether a table would leave its last column, the longest, too little to be read in."""
    widths = [max(map(len, column)) for column in zip(result.head, *result.rows, strict=True)]
    longest = widths.pop()
    return width - sum(widths) - _GAP * len(widths) < min(longest, _READABLE)


async def _review(ctx: CommandContext, result: ActionResult) -> None:
    """One question after the other."""
    for question in result.questions:
        for line in question.details:
            ctx.screen.note(line)
        answer = await ctx.pick(question.title, [*question.answers, *_ANSWERS])
        if answer in (None, "stop"):
            return
        if answer != "later":
            report(ctx, ctx.runtime.learning.perform("review", str(answer).split()))
