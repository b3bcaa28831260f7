"""`/exit`."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command("exit", aliases=("quit", "q"))
async def leave(ctx: CommandContext, args: str) -> None:
    """Leave; `swecli -c` goes on from here"""
    ctx.program.leave()
