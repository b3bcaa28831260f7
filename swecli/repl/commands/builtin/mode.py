"""`/mode`, `/plan` and `/yolo`: what runs without asking."""

from __future__ import annotations

import asyncio

from swecli.actions.choices import MODE_HELP
from swecli.models.errors import BadInput
from swecli.models.mode import MODES
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, command, refuse_arguments


@command(
    usage="[ask|edits|plan|auto]", complete=lambda runtime: list(MODE_HELP.items()), concurrent="*"
)
async def _mode(ctx: CommandContext, args: str) -> None:
    """Show or change what runs without asking"""
    if args:
        await _set_mode(ctx, args.lower())
        return
    present = ctx.runtime.agent.permissions.mode
    ctx.screen.table(
        ("", "mode", "what it does"),
        [("now" if mode == present else "", mode, MODE_HELP[mode]) for mode in MODES],
    )


@command(concurrent="*")
async def _plan(ctx: CommandContext, args: str) -> None:
    """Switch to plan mode (read only)"""
    refuse_arguments("plan", args)
    await _set_mode(ctx, "plan")


@command(concurrent="*")
async def _yolo(ctx: CommandContext, args: str) -> None:
    """Switch to auto mode (runs everything; without a sandbox, after one question)"""
    refuse_arguments("yolo", args)
    await _set_mode(ctx, "auto")


async def _set_mode(ctx: CommandContext, name: str) -> None:
    chosen_mode = next((mode for mode in MODES if mode == name), None)
    if chosen_mode is None:
        raise BadInput(f"Unknown mode {name!r}.", f"Choose one of: {', '.join(MODES)}")
    if chosen_mode == "auto" and not await _confirm_auto(ctx):
        ctx.screen.note(f"mode {ctx.runtime.agent.permissions.mode} · nothing was changed")
        return
    ctx.runtime.set_mode(chosen_mode)
    ctx.screen.note(f"mode {chosen_mode} · {MODE_HELP[chosen_mode]}")


async def _confirm_auto(ctx: CommandContext) -> bool:
    """Return whether auto may be set: without a sandbox, once the user has read what that means and said yes."""
    runtime = ctx.runtime
    if runtime.auto_confirmed:
        return True
    reason = await asyncio.shield(run_in_thread(runtime.missing_sandbox, "swecli-sandbox"))
    if not reason:
        return True
    title = (
        "Run every command as you, without a question? It can change and delete your files, read your keys and use "
        f"the network. There is no sandbox to hold it: {reason}."
    )
    runtime.auto_confirmed = await ctx.confirm(
        title, "yes, until swecli ends", f"no, stay in mode {runtime.agent.permissions.mode}"
    )
    return runtime.auto_confirmed
