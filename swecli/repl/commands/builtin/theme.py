"""`/theme`: the colours on the screen."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

_THEMES = {
    "auto": "dark or light, as the terminal's background is",
    "dark": "for a dark background",
    "light": "for a light background",
    "none": "no colours, only bold and dim",
}


@command(usage="[auto|dark|light|none]", complete=lambda runtime: list(_THEMES.items()), beside="*")
async def theme(ctx: CommandContext, args: str) -> None:
    """Show or change the colours on the screen"""
    present, wanted = ctx.program.theme, args.lower()
    if wanted and wanted not in _THEMES:
        raise UsageError(f"Unknown theme {args!r}.", f"Choose one of: {', '.join(_THEMES)}")
    present.name = wanted or present.name
    found = f" ({present.shown})" if present.name == "auto" else ""
    ctx.screen.note(f"theme {present.name}{found}: {_THEMES[present.name]}")
    if not ctx.screen.color:
        ctx.screen.note("nothing is coloured here: NO_COLOR is set, color is off, or the terminal shows none")
    elif wanted:
        ctx.screen.note(f"for good: /config theme {wanted}")
