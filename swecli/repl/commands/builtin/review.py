"""`/review` and `/findings` in a session: progress as it comes, and questions."""

from __future__ import annotations

from swecli.actions.builtin.findings import findings
from swecli.actions.builtin.review import review
from swecli.repl.commands.actions import in_own_form
from swecli.repl.commands.base import CommandContext


@in_own_form(review)
async def _review(ctx: CommandContext, args: str) -> None:
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import run_review

    await run_review(ctx, args)


@in_own_form(findings)
async def _findings(ctx: CommandContext, args: str) -> None:
    # late: most sessions review nothing
    from swecli.repl.commands.reviewing import run_findings

    await run_findings(ctx, args)
