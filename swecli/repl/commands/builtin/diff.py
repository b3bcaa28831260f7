"""`/diff`: what turns changed of files."""

from __future__ import annotations

import re

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.builtin.undo import history_of, turns_of


@command(usage="[T7 | session]", complete=lambda runtime: [("session", "all turns together")], beside="*")
async def diff(ctx: CommandContext, args: str) -> None:
    """Show what the last turn, turn T7 or the session changed in files"""
    # late: rich is not needed to declare a command
    from swecli.repl.render import diff as diffs  # noqa: PLC0415
    from swecli.repl.render.sanitise import clean  # noqa: PLC0415

    turns = turns_of(ctx)
    named = re.fullmatch(r"[Tt]?(\d{1,9})", args or f"T{turns}")
    if not turns or (args != "session" and not (named and 1 <= int(named[1]) <= turns)):
        raise UsageError(
            f"There is no turn {args or 'yet'}: this session has {turns}.", "Use /diff, /diff T7 or /diff session"
        )
    found = history_of(ctx).diff(*((1, turns) if named is None else (int(named[1]), int(named[1]))))
    if not found:
        ctx.screen.note("no file is different")
    for line, text in found:
        ctx.screen.line(line, "head")
        if text:
            ctx.screen.print(diffs.draw(diffs.parse(clean(text))))
