"""`/exit`."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command("exit", aliases=("quit", "q"))
async def leave(ctx: CommandContext, args: str) -> None:
    """Quit (`swecli -c` continues this session)"""
    ctx.program.leave()
