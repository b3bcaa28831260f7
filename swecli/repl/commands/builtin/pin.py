"""`/pin` and `/unpin`: turns that stay in every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.figures import tokens

if TYPE_CHECKING:
    from swecli.app import Runtime


def turn_of(text: str) -> int | None:
    """The number in `T7`, `t7` or `7`; None for no text. Raises BadInput."""
    text = text.strip()
    if not text:
        return None
    found = short_id("T", text) or short_id("T", f"T{text}")
    if found is None:
        raise BadInput(f"{text!r} is no turn.", "Name one as T7 or 7.")
    return int(found.removeprefix("T-"))


def turns(runtime: Runtime) -> list[tuple[str, str]]:
    """The newest turns with their questions, to choose from."""
    session = runtime.sessions.current_session
    groups = list(session.by_interaction())[-12:] if session else []
    return [(f"T{group[0].interaction}", " ".join(group[0].content.split())[:50]) for group in reversed(groups)]


@command(usage="[TURN]", complete=turns)
async def pin(ctx: CommandContext, args: str) -> None:
    """Keep a turn in every request, whatever else leaves (the last one, or T7)"""
    outlook = ctx.runtime.outlook
    number = turn_of(args)
    size = outlook.pin(number)
    session = outlook.session
    ctx.screen.line(f"T{number or session.interactions} stays, at {tokens(size)} tokens in every request")
    if len(session.context.pins) > 1:
        ctx.screen.note(f"pinned: {', '.join(f'T{n}' for n in session.context.pins)}")


@command(usage="[TURN]", complete=turns)
async def unpin(ctx: CommandContext, args: str) -> None:
    """Let a pinned turn leave like any other"""
    number = ctx.runtime.outlook.unpin(turn_of(args))
    ctx.screen.line(f"T{number} leaves with the next reduction that passes it")
