"""`/add-dir`: open a folder beside the workspace for this session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Values
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.app import Runtime

_REMOVE = "--remove"
_OF_CHANGES = "/undo takes back what tools change there, not what commands do"


def _complete(runtime: Runtime) -> Values:
    added = runtime.agent.permissions.folders.read()
    return [(f"{_REMOVE} {folder.path}", "close it again") for folder in added]


@command(usage=f"[PATH[:ro]] [{_REMOVE} PATH]", complete=_complete)
async def _add_dir(ctx: CommandContext, args: str) -> None:
    """List, add or remove folders that are read and changed like this one, or only read (PATH:ro)"""
    runtime = ctx.runtime
    if not args:
        _list(ctx)
        return
    await ctx.wait_for_background()
    if args.split()[0] == _REMOVE:
        removed = runtime.remove_folder(args.removeprefix(_REMOVE))
        ctx.screen.note(f"removed: {removed.path} is outside again")
        return
    added = runtime.add_folder(args)
    notes = [f"added: {added}", "the model is told with your next message"]
    if added.may_change:
        notes.append(_OF_CHANGES)
    ctx.screen.note(" · ".join(notes))


def _list(ctx: CommandContext) -> None:
    folders = ctx.runtime.agent.permissions.folders.read()
    if not folders:
        ctx.screen.note("no folder is added · /add-dir PATH adds one, PATH:ro to read only")
        return
    rows = []
    for folder in folders:
        access = "may be changed" if folder.may_change else "read only"
        rows.append((folder.path, access, "" if folder.is_there else "it is gone"))
    ctx.screen.table(("folder", "access", ""), rows)
