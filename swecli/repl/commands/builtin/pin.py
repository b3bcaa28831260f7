"""`/pin` and `/unpin`: turns that stay in every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.ids import turn_number
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import tokens

if TYPE_CHECKING:
    from swecli.app import Runtime


def turns(runtime: Runtime) -> list[tuple[str, str]]:
    """The newest turns with their questions, to choose from."""
    session = runtime.sessions.current_session
    groups = list(session.by_interaction())[-12:] if session else []
    return [(f"T{group[0].interaction}", " ".join(group[0].content.split())[:50]) for group in reversed(groups)]


@command(usage="[TURN]", complete=turns)
async def pin(ctx: CommandContext, args: str) -> None:
    """Keep a turn in every request, whatever else leaves (the last one, or T7)"""
    outlook = ctx.runtime.context_control
    number = turn_number(args) if args.strip() else None
    size = outlook.pin(number)
    session = outlook.session
    ctx.screen.line(f"T{number or session.interactions} stays, at {tokens(size)} tokens in every request")
    if len(session.context.pins) > 1:
        ctx.screen.note(f"pinned: {', '.join(f'T{n}' for n in session.context.pins)}")


@command(usage="[TURN]", complete=turns)
async def unpin(ctx: CommandContext, args: str) -> None:
    """Let a pinned turn leave like any other"""
    number = ctx.runtime.context_control.unpin(turn_number(args) if args.strip() else None)
    ctx.screen.line(f"T{number} leaves with the next reduction that passes it")
