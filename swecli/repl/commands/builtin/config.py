"""`/config`: show the settings, or set one."""

from __future__ import annotations

import shlex

from swecli.config.settings import SETTINGS
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command


@command(
    usage="[NAME [VALUE]]",
    complete=lambda runtime: [(s.name, s.doc) for s in SETTINGS.values()],
    concurrent="*",
)
async def _config(ctx: CommandContext, args: str) -> None:
    """Show the settings and where each comes from, or set one from the next start on"""
    # late: not needed to declare a command
    from swecli.actions.settings import change_setting, show_settings

    runtime = ctx.runtime
    try:
        split = shlex.split(args)
    except ValueError as error:
        raise UsageError(
            f"The value cannot be read: {error}.", "For example: /config allow 'run(pytest *)'"
        ) from error
    name = split[0] if split else ""
    words = split[1:]
    if not words:
        ctx.report(show_settings(runtime.settings, name, origin=True))
        ctx.screen.note("/config NAME VALUE sets one in your file · swecli config edit opens it")
        return
    file = runtime.start.config or runtime.start.paths.config_file
    ctx.report(change_setting(file, name, words))
    layer = runtime.settings.origins.get(name, "")
    stronger = f"; {layer} wins where it is set" if layer in ("environment", "flags") else ""
    ctx.screen.note(f"from the next start on{stronger}")
