"""`/window`: how much of the conversation the next request holds verbatim."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.window import WindowSpec
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.figures import tokens

SIZES = (
    ("5", "the last 5 interactions"),
    ("5+3", "5, growing to 8 before it is cut back"),
    ("full", "everything"),
    ("auto", "a size that fits the query"),
)


@command(usage="[N|N+S|full|auto]", complete=lambda runtime: SIZES)
async def window(ctx: CommandContext, args: str) -> None:
    """Show or change how many interactions the next request holds"""
    if args:
        try:
            spec = WindowSpec.parse(args)
        except ValueError as error:
            said = str(error)
            raise BadInput(f"{said[0].upper()}{said[1:]}.") from error
        ctx.runtime.set_window(spec)
    say_window(ctx)


def say_window(ctx: CommandContext) -> None:
    """One line on the setting, one on what the next request will hold."""
    session = ctx.runtime.sessions.current_session
    spec = session.window if session else ctx.runtime.settings.window
    prepared = ctx.runtime.agent.prepare("").prepared
    first, last = prepared.window
    held = sum(s.tokens for s in prepared.segments if s.name.startswith("interaction "))
    ctx.screen.line(f"window {spec}")
    if last < first:
        ctx.screen.note("the next request holds no earlier interaction")
        return
    which = f"interaction {last}" if first == last else f"interactions {first} to {last}"
    left = f"; {first - 1} earlier stay stored and are not sent" if first > 1 else ""
    ctx.screen.note(f"the next request holds {which} ({tokens(held)} tokens){left}")
