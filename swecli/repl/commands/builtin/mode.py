"""`/mode`, `/plan`, `/yolo`: what runs without asking."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.message import MODES, Mode
from swecli.repl.commands.base import CommandContext, command

_MEANINGS: dict[Mode, str] = {
    "ask": "ask before edits and before commands that do more than read",
    "edits": "edit files in this folder without asking; ask before commands that do more than read",
    "plan": "read only: edits and commands that do more than read are refused",
    "auto": "never ask; only deny rules are enforced",
}


@command(usage="[ask|edits|plan|auto]", complete=lambda runtime: list(_MEANINGS.items()), beside="*")
async def mode(ctx: CommandContext, args: str) -> None:
    """Show or change what runs without asking"""
    if args:
        _change(ctx, args.lower())
        return
    present = ctx.runtime.agent.permissions.mode
    ctx.screen.table(("", "mode", "what it does"), [("●" if m == present else "", m, _MEANINGS[m]) for m in MODES])


@command(beside="*")
async def plan(ctx: CommandContext, args: str) -> None:
    """Switch to plan mode (read only)"""
    _change(ctx, "plan")


@command("yolo", beside="*")
async def everything(ctx: CommandContext, args: str) -> None:
    """Switch to auto mode (never asks)"""
    _change(ctx, "auto")


def _change(ctx: CommandContext, wanted: str) -> None:
    found = next((m for m in MODES if m == wanted), None)
    if found is None:
        raise BadInput(f"Unknown mode {wanted!r}.", f"Choose one of: {', '.join(MODES)}")
    ctx.runtime.set_mode(found)
    ctx.screen.note(f"mode {found} · {_MEANINGS[found]}")
