"""`/reflect`, `/good`, `/bad`: learn from a turn now, or say how it went."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.repl.commands.base import CommandContext, command


@command(usage="[T7|stop]")
async def reflect(ctx: CommandContext, args: str) -> None:
    """Reflect on the last turn, or on turn T7, now; or stop reflecting"""
    if args.lower() == "stop":
        stopped = await ctx.background.cancel()
        ctx.screen.note("stopped · it is tried again at the next start" if stopped else "nothing is being learned")
        return
    session = ctx.runtime.sessions.current_session
    last = session.interactions if session else 0
    number = _turn(args) if args else last
    if not 1 <= number <= last:
        raise BadInput(f"There is no turn T{number}." if args else "There is no turn yet.", "")
    learning = ctx.runtime.learning
    if not learning.enabled:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    await ctx.settle()
    events = await learning.learn(number, asked=True)
    if not events:
        ctx.screen.note(
            f"T{number}: nothing to learn{'' if learning.reflector.model else '; the rules looked, no model was asked'}"
        )
    for event in events:
        ctx.show(event)


@command(usage="[WHY]")
async def good(ctx: CommandContext, args: str) -> None:
    """The last turn went well: its strategies count as helpful"""
    await _mark(ctx, True, args)


@command(usage="[WHY]")
async def bad(ctx: CommandContext, args: str) -> None:
    """The last turn went wrong: its strategies count as harmful"""
    await _mark(ctx, False, args)


async def _mark(ctx: CommandContext, is_good: bool, why: str) -> None:
    session = ctx.runtime.sessions.current_session
    if session is None or not session.interactions:
        raise BadInput("There is no turn to mark yet.", "Ask something first.")
    events = await ctx.runtime.learning.mark(is_good, why)
    ctx.screen.note(f"T{session.interactions} is marked {'good' if is_good else 'bad'}")
    for event in events:
        ctx.show(event)


def _turn(text: str) -> int:
    found = short_id("T", text) or short_id("T", f"T{text}")
    if found is None:
        raise BadInput(f"{text!r} is no turn.", "Turns are written T1, T2, …")
    return int(found.removeprefix("T-"))
