"""`/expand`: unfold output, where no key can."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command(concurrent="*")
async def _expand(ctx: CommandContext, args: str) -> None:
    """Show the last folded output whole; the next time all of the turn; then fold again"""
    ctx.program.unfold()
