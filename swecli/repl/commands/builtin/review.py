"""`/review` and `/findings`: run a review, and list, apply and resolve its findings."""

from __future__ import annotations

from swecli.actions.builtin.findings import findings
from swecli.repl.commands.actions import in_own_form
from swecli.repl.commands.base import CommandContext, command

_TARGETS = (
    ("--staged", "what is staged"),
    ("--base", "BRANCH: what changed since it"),
    ("--pr", "N: a pull request on GitHub; --post posts its findings, after your approval"),
    (".", "the whole tree"),
    ("--continue", "continue the unfinished review"),
    ("--fix", "F-1: let the agent repair it"),
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


@in_own_form(findings)
async def _findings(ctx: CommandContext, args: str) -> None:
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import run_findings

    await run_findings(ctx, args)
