"""`/search`: find words in every session."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import age

SHOWN = 20


@command(usage="WORDS", beside="*")
async def search(ctx: CommandContext, args: str) -> None:
    """Search all sessions, newest first"""
    if not args:
        raise UsageError("Nothing to search for.", "For example: /search retry limit")
    hits = ctx.runtime.sessions.search(args, SHOWN)
    if not hits:
        ctx.screen.note(f"no matches for {args!r}")
        return
    rows = [
        (f"{hit.title or hit.session_id[:13]} T{hit.interaction}", age(hit.created_at), hit.role, hit.snippet)
        for hit in hits
    ]
    ctx.screen.table(("session", "when", "role", "text"), rows)
    ctx.screen.note("/resume NAME or ID continues one")
