"""`/review` and `/findings`: a reviewer that reports as it goes, and what it found, to be settled and applied."""

from __future__ import annotations

import shlex

from swecli.models.errors import UsageError
from swecli.repl.actions.findings import ACTIONS
from swecli.repl.commands.base import CommandContext, command

_TARGETS = (
    ("--staged", "what is staged"),
    ("--base", "BRANCH: what changed since it"),
    ("--pr", "N: a pull request on GitHub; with --post its findings go there, after your yes"),
    (".", "the whole tree"),
    ("--continue", "continue the unfinished review"),
    ("--fix", "F-1: let the agent repair it"),
)
_DOINGS = tuple((name, f"{usage}: {about}") for name, (usage, about) in ACTIONS.items() if name != "export")


@command(
    usage="[PATHS|COMMIT|A..B|--staged|--base B|--pr N [--post]|--continue|--fix F-1]",
    complete=lambda runtime: _TARGETS,
)
async def review(ctx: CommandContext, args: str) -> None:
    """Review changes or files; findings are kept and survive everything"""
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import perform_review  # noqa: PLC0415

    try:
        words = shlex.split(args)
    except ValueError as error:
        raise UsageError(f"/review cannot read that: {error}.", "Close the quotes.") from error
    await ctx.wait_for_background()
    await perform_review(ctx, words)


@command(usage=f"[{'|'.join(name for name, _ in _DOINGS)}] …", complete=lambda runtime: _DOINGS, beside="list show")
async def findings(ctx: CommandContext, args: str) -> None:
    """Show, walk through and settle what reviews found"""
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import perform  # noqa: PLC0415

    word, _, rest = args.partition(" ")
    await perform(ctx, word.lower() or "list", rest.strip())
