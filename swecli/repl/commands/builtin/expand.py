"""`/expand`: unfold output, where no key can, or print all of one."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

_ALL = "all"


@command(
    usage="[all]",
    complete=lambda runtime: [(_ALL, "print all of the last output, however long it is")],
    concurrent="*",
)
async def _expand(ctx: CommandContext, args: str) -> None:
    """Expand the last folded output; the next time all of the turn; then fold again"""
    if args == _ALL:
        await ctx.renderer.print_whole()
    elif args:
        raise UsageError(f"Unknown option {args!r}.", "Use /expand or /expand all")
    else:
        ctx.program.unfold()
