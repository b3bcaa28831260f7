"""`/new`: another session; the old one stays."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.resume_banner import session_name


@command(aliases=("clear", "reset"), usage="[NAME]")
async def new(ctx: CommandContext, args: str) -> None:
    """Begin a new session; this one stays"""
    await ctx.settle()
    before = ctx.runtime.sessions.current_session
    ctx.runtime.new_session(args)
    ctx.screen.note(f"new session{f' {args}' if args else ''}: nothing of the last one is sent any more")
    if before is not None and before.interactions:
        ctx.screen.note(f"the last one stays: {session_name(before)} · /resume {before.id}")
