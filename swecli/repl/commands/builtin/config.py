"""`/config`, `/theme` and `/doctor`: the settings, the colours on the screen, and what works on this machine."""

from __future__ import annotations

import asyncio
import shlex

from swecli.config.settings import SETTINGS
from swecli.models.errors import UsageError
from swecli.repl.background import spawn
from swecli.repl.commands.base import CommandContext, command


@command(usage="[NAME [VALUE]]", complete=lambda runtime: [(s.name, s.doc) for s in SETTINGS.values()], beside="*")
async def config(ctx: CommandContext, args: str) -> None:
    """Show the settings and where each comes from, or set one from the next start on"""
    # late: what changes the settings is not needed to declare a command
    from swecli.repl.actions.settings import change_setting, show_settings  # noqa: PLC0415

    runtime = ctx.runtime
    try:
        name, *words = shlex.split(args) or [""]
    except ValueError as error:
        raise UsageError(f"The value cannot be read: {error}.", "For example: /config allow 'run(pytest *)'") from error
    if not words:
        ctx.report(show_settings(runtime.settings, name, origin=True))
        ctx.screen.note("/config NAME VALUE sets one in your file · swecli config edit opens it")
        return
    ctx.report(change_setting(runtime.start.paths.config_file, name, words))
    layer = runtime.settings.origins.get(name, "")
    stronger = f"; {layer} wins where it is set" if layer in ("environment", "flags") else ""
    ctx.screen.note(f"from the next start on{stronger}")


@command(beside="*")
async def doctor(ctx: CommandContext, args: str) -> None:
    """Check this installation: settings, folders, database, model, programs"""
    # late: the models' and the store's modules are not needed to declare a command
    from swecli.repl.actions.doctor import diagnose  # noqa: PLC0415

    start = ctx.runtime.start
    found = await asyncio.shield(spawn(lambda: diagnose(start, start.environ), "swecli-doctor"))
    for row in found.value:
        (ctx.screen.line if row["ok"] else ctx.screen.warn)(f"{row['what']}: {row['detail']}")


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
