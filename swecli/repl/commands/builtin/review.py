"""`/review` and `/findings`: run a review, and list, apply and resolve its findings."""

from __future__ import annotations

from swecli.actions.findings import ACTIONS
from swecli.repl.commands.base import CommandContext, command

_TARGETS = (
    ("--staged", "what is staged"),
    ("--base", "BRANCH: what changed since it"),
    ("--pr", "N: a pull request on GitHub; --post posts its findings, after your approval"),
    (".", "the whole tree"),
    ("--continue", "continue the unfinished review"),
    ("--fix", "F-1: let the agent repair it"),
)
_CHOICES = tuple(
    (name, f"{usage}: {about}") for name, (usage, about) in ACTIONS.items() if name != "export"
)


@command(
    usage="[PATHS|COMMIT|A..B|--staged|--base B|--pr N [--post]|--continue|--fix F-1]",
    complete=lambda runtime: _TARGETS,
)
async def _review(ctx: CommandContext, args: str) -> None:
    """Review changes or files; findings are stored with the project"""
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import run_review

    await run_review(ctx, args)


@command(
    usage=f"[{'|'.join(name for name, _ in _CHOICES)}] …",
    complete=lambda runtime: _CHOICES,
    concurrent="list show",
)
async def _findings(ctx: CommandContext, args: str) -> None:
    """List, walk through and resolve the findings of reviews"""
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import run_findings

    word, _, rest = args.partition(" ")
    await run_findings(ctx, word.lower() or "list", rest.strip())
