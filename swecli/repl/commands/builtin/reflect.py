"""`/reflect`: learn from a turn now."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.repl.commands.base import CommandContext, command


@command(usage="[T7|stop]")
async def _reflect(ctx: CommandContext, args: str) -> None:
    """Reflect on the last turn, or on turn T7, now; or stop reflecting"""
    if args.lower() == "stop":
        stopped = await ctx.background.cancel()
        ctx.screen.note(
            "stopped · it will be retried at the next start"
            if stopped
            else "nothing is being learned"
        )
        return
    number = ctx.runtime.session.resolve_turn(args)
    learning = ctx.runtime.learning
    if not learning.enabled:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    await ctx.wait_for_background()
    with ctx.renderer.working(f"Reflecting on T{number}"):
        events = await learning.learn(number, asked=True)
    answers = [line for event in events for line in getattr(event, "answer", ())]
    if not answers and not any(event.describe() for event in events):
        alone = "" if learning.reflector.model else " (by rules only; no model was asked)"
        ctx.screen.note(f"T{number}: nothing to learn{alone}")
    for line in answers:
        ctx.screen.detail(line)
    for event in events:
        ctx.renderer.show(event)
