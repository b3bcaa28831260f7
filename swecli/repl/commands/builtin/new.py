"""`/new`: another session; the old one stays."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.resume_banner import session_name


@command(aliases=("clear", "reset"), usage="[NAME]")
async def new(ctx: CommandContext, args: str) -> None:
    """Start a new session (this one is kept)"""
    await ctx.settle()
    before = ctx.runtime.sessions.current_session
    ctx.runtime.new_session(args)
    ctx.screen.note(f"new session{f' {args}' if args else ''}: nothing of the previous one is sent")
    if before is not None and before.interactions:
        ctx.screen.note(f"the previous one is kept: {session_name(before)} · /resume {before.id}")
