"""`/trust`: use this folder's own instructions."""

from __future__ import annotations

from swecli.config.trust import is_trusted, project_root
from swecli.models.errors import StoreError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.startup_banner import short_path


@command()
async def trust(ctx: CommandContext, args: str) -> None:
    """Trust this folder: use its AGENTS.md and settings"""
    runtime = ctx.runtime
    root = project_root(runtime.cwd)
    if is_trusted(runtime.start.paths, root):
        ctx.screen.note(f"{short_path(root)} is already trusted")
        return
    known = len(runtime.notices)
    try:
        runtime.trust_folder()
    except OSError as error:
        raise StoreError(f"Cannot write the list of trusted folders: {error.strerror}.") from error
    ctx.screen.note(f"{short_path(root)} is now trusted: its instructions apply from the next request")
    for notice in runtime.notices[known:]:
        ctx.screen.warn(notice)
