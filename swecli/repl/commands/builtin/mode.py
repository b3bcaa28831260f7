"""`/mode`, `/plan`, `/yolo`: what runs without being asked."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.message import MODES, Mode
from swecli.repl.commands.base import CommandContext, command

_MEANINGS: dict[Mode, str] = {
    "ask": "reads freely, asks before edits and commands that do more than read",
    "edits": "edits files in this folder unasked, asks before commands that do more than read",
    "plan": "reads only: edits and commands that do more are refused",
    "auto": "asks for nothing but what a deny rule forbids",
}


@command(usage="[ask|edits|plan|auto]", complete=lambda runtime: list(_MEANINGS.items()), beside="*")
async def mode(ctx: CommandContext, args: str) -> None:
    """Show or change what runs without being asked"""
    if args:
        _change(ctx, args.lower())
        return
    present = ctx.runtime.agent.permissions.mode
    ctx.screen.table(("", "mode", "does"), [("●" if m == present else "", m, _MEANINGS[m]) for m in MODES])


@command(beside="*")
async def plan(ctx: CommandContext, args: str) -> None:
    """Read only: the same as /mode plan"""
    _change(ctx, "plan")


@command("yolo", beside="*")
async def everything(ctx: CommandContext, args: str) -> None:
    """Ask for nothing: the same as /mode auto"""
    _change(ctx, "auto")


def _change(ctx: CommandContext, wanted: str) -> None:
    found = next((m for m in MODES if m == wanted), None)
    if found is None:
        raise BadInput(f"There is no mode {wanted!r}.", f"Use one of: {', '.join(MODES)}")
    ctx.runtime.set_mode(found)
    ctx.screen.note(f"mode {found}: {_MEANINGS[found]}")
