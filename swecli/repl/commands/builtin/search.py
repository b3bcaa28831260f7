"""`/search`: find words in every session."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import age

SHOWN = 20


@command(usage="WORDS", beside="*")
async def search(ctx: CommandContext, args: str) -> None:
    """Find words in all sessions, newest first"""
    if not args:
        raise UsageError("/search needs words.", "For example: /search retry limit")
    hits = ctx.runtime.sessions.search(args, SHOWN)
    if not hits:
        ctx.screen.note(f"nothing was said of {args!r}")
        return
    rows = [
        (f"{hit.title or hit.session_id[:13]} T{hit.interaction}", age(hit.created_at), hit.role, hit.snippet)
        for hit in hits
    ]
    ctx.screen.table(("where", "when", "who", "words"), rows)
    ctx.screen.note("to go on there: /resume NAME or ID")
