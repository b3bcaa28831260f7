"""`/rename`: a session's name."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.resume_banner import session_name


@command(aliases=("title", "name"), usage="NAME")
async def rename(ctx: CommandContext, args: str) -> None:
    """Rename this session"""
    name = " ".join(args.split())
    session = ctx.runtime.sessions.current_session
    if not name:
        called = f"is {session_name(session)}" if session else "has not begun"
        ctx.screen.error(f"This session {called}.", "To name it: /rename NAME")
        return
    ctx.runtime.sessions.rename(name)
    ctx.screen.note(f"this session is now {name}")
