"""`/steer`: send a line to the running turn."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command


@command(usage="TEXT", concurrent="*")
async def _steer(ctx: CommandContext, args: str) -> None:
    """Send a line to the running turn"""
    if not args.strip():
        key = ctx.screen.keys.hint("steer", "on a typed line")
        hint = f"Use /steer TEXT, or {key}." if key else "Use /steer TEXT."
        raise UsageError("There is nothing to send.", hint)
    if not ctx.runtime.agent.is_running:
        raise UsageError("No turn is running.", "Type the line without /steer.")
    ctx.program.steer(args.strip())
