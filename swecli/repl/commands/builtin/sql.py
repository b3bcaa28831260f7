"""`/sql`: a query of the user over the stored sessions."""

from __future__ import annotations

import asyncio
from threading import Event

from swecli.repl.commands.base import CommandContext, command


@command(usage="[QUERY]", beside="*")
async def sql(ctx: CommandContext, args: str) -> None:
    """Ask the database by SQL, read-only (alone: list the views and their columns)"""
    # late: the store is not needed to declare a command
    from swecli.playbook.action import ActionResult  # noqa: PLC0415
    from swecli.store.views import run_query  # noqa: PLC0415

    stop = Event()
    try:
        # in a thread: Esc and the prompt must not wait for it
        found = await asyncio.to_thread(run_query, ctx.runtime.sessions.database, args, stop=stop)
    finally:
        stop.set()
    lines = () if found.rows else ("no rows",)
    ctx.report(ActionResult(found.records, lines, found.columns, found.cells, found.note))
