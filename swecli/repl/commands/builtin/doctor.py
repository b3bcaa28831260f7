"""`/doctor`: check this installation."""

from __future__ import annotations

import asyncio

from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, command


@command(concurrent="*")
async def _doctor(ctx: CommandContext, args: str) -> None:
    """Check this installation: settings, folders, database, model, programs"""
    # late: not needed to declare a command
    from swecli.actions.doctor import diagnose

    start = ctx.runtime.start
    found = await asyncio.shield(run_in_thread(lambda: diagnose(start), "swecli-doctor"))
    for row in found.value:
        text = f"{row['what']}: {row['detail']}"
        if row["ok"]:
            ctx.screen.line(text)
        else:
            ctx.screen.warn(text)
