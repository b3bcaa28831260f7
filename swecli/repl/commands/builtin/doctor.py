"""`/doctor` in a session: what needs attention is marked."""

from __future__ import annotations

import asyncio

from swecli.actions.builtin.doctor import doctor
from swecli.repl.background import run_in_thread
from swecli.repl.commands.actions import in_own_form
from swecli.repl.commands.base import CommandContext, refuse_arguments


@in_own_form(doctor)
async def _doctor(ctx: CommandContext, args: str) -> None:
    refuse_arguments("doctor", args)
    # late: not needed to declare a command
    from swecli.actions.doctor import diagnose

    start = ctx.runtime.start
    result = await asyncio.shield(run_in_thread(lambda: diagnose(start), "swecli-doctor"))
    for check in result.value:
        text = f"{check['what']}: {check['detail']}"
        if check["ok"]:
            ctx.screen.line(text)
        else:
            ctx.screen.warn(text)
