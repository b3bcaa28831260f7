"""`/theme`: show or change the colours on the screen."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

_THEMES = {
    "auto": "dark or light, like the terminal's background",
    "dark": "for a dark background",
    "light": "for a light background",
    "none": "no colours, only bold and dim",
}


@command(
    usage="[auto|dark|light|none]", complete=lambda runtime: list(_THEMES.items()), concurrent="*"
)
async def _theme(ctx: CommandContext, args: str) -> None:
    """Show or change the colours on the screen"""
    theme = ctx.asker.theme
    name = args.lower()
    if name and name not in _THEMES:
        raise UsageError(f"Unknown theme {args!r}.", f"Choose one of: {', '.join(_THEMES)}")
    if name:
        theme.name = name
    detected = f" ({theme.resolved})" if theme.name == "auto" else ""
    ctx.screen.note(f"theme {theme.name}{detected}: {_THEMES[theme.name]}")
    if not ctx.screen.color:
        ctx.screen.note(
            "no colours are shown: NO_COLOR is set, color is off, or the terminal shows none"
        )
    elif name:
        ctx.screen.note(f"to save it: /config theme {name}")
