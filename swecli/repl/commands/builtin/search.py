"""`/search`: search all sessions."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import format_age

_MAX_SHOWN = 20


@command(usage="WORDS", concurrent="*")
async def _search(ctx: CommandContext, args: str) -> None:
    """Search all sessions, newest first"""
    if not args:
        raise UsageError("Nothing to search for.", "For example: /search retry limit")
    hits = ctx.runtime.sessions.catalog.search(args, _MAX_SHOWN)
    if not hits:
        ctx.screen.note(f"no matches for {args!r}")
        return
    rows = [
        (
            f"{hit.title or hit.session_id[:13]} T{hit.interaction}",
            format_age(hit.created_at),
            hit.role,
            hit.snippet,
        )
        for hit in hits
    ]
    ctx.screen.table(("session", "when", "role", "text"), rows)
    ctx.screen.note("/resume NAME or ID continues one")
