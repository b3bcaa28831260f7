"""`/good` and `/bad`: mark the last turn, from which a model learns about its strategies."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command(usage="[WHY]")
async def _good(ctx: CommandContext, args: str) -> None:
    """Mark the last turn good; a model says which strategies helped"""
    await _mark(ctx, True, args)


@command(usage="[WHY]")
async def _bad(ctx: CommandContext, args: str) -> None:
    """Mark the last turn bad; a model says which strategies hurt"""
    await _mark(ctx, False, args)


async def _mark(ctx: CommandContext, is_good: bool, reason: str) -> None:
    number = ctx.runtime.session.resolve_turn("")
    learning = ctx.runtime.learning
    turns = learning.due_after_mark(is_good, reason)
    events = await learning.mark(is_good, reason)
    ctx.screen.note(f"T{number} is marked {'good' if is_good else 'bad'}")
    for event in events:
        ctx.renderer.show(event)
    ctx.background.react(learning, turns)
