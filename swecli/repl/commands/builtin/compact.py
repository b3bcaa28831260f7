"""`/compact`: have the conversation summed up now."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command(aliases=("condense",), usage="[WISH]")
async def compact(ctx: CommandContext, args: str) -> None:
    """Have the conversation summed up now; WISH says what to dwell on"""
    async for event in ctx.runtime.context_control.compact(args.strip()):
        ctx.show(event)
        if event.type == "context_reduced":
            ctx.screen.note("/context undo takes it back; /pin beforehand keeps a turn word for word")
