"""`/sql`: query the database."""

from __future__ import annotations

import asyncio
from threading import Event

from swecli.repl.commands.base import CommandContext, command


@command(usage="[QUERY]", concurrent="*")
async def _sql(ctx: CommandContext, args: str) -> None:
    """Query the database in SQL, read-only (alone: list the views and their columns)"""
    # late: not needed to declare a command
    from swecli.actions.query import query

    stop = Event()
    try:
        # in a thread: a query must not block Esc and the prompt
        found = await asyncio.to_thread(query, ctx.runtime.sessions.database, args, stop=stop)
    finally:
        stop.set()
    ctx.report(found)
