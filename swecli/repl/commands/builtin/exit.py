"""`/exit`: quit."""

from __future__ import annotations

from swecli.models.counts import pluralize
from swecli.models.errors import SwecliError
from swecli.repl.commands.base import CommandContext, command, refuse_arguments
from swecli.repl.commands.settling import settle_at_end


@command(aliases=("quit", "q"))
async def _exit(ctx: CommandContext, args: str) -> None:
    """Quit (`swecli -c` continues this session)"""
    refuse_arguments("exit", args)
    running = ctx.runtime.agent.ctx.commands.jobs.running
    if running:
        title = f"Quit? That stops {pluralize(len(running), 'background job')}."
        if not await ctx.confirm(title, "yes, stop and quit", "no, stay"):
            return
    try:
        await settle_at_end(ctx)
    except SwecliError as error:  # what cannot be asked must not hold the user
        ctx.program.report(error)
    ctx.program.quit()
