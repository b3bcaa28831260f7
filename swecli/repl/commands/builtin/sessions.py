"""`/sessions`, `/fork`, `/new`: change to another session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from swecli.actions.builtin.sessions import fork
from swecli.models.action import Values
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.open_elsewhere import settle_open_elsewhere
from swecli.repl.render.session_lines import (
    describe_session,
    format_session,
    show_session,
)

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.added_folder import AddedFolder
    from swecli.models.session import Session

_MAX_COMPLETED = 20  # the newest ones
_MAX_LISTED = 200


def _complete_sessions(runtime: Runtime) -> Values:
    return [
        (info.id, format_session(info))
        for info in runtime.sessions.catalog.list_sessions(
            str(runtime.cwd), _MAX_COMPLETED, place=runtime.place
        )
    ]


@command(aliases=("resume", "continue"), usage="[ID|NAME]", complete=_complete_sessions)
async def _sessions(ctx: CommandContext, args: str) -> None:
    """Resume another session of this folder"""
    runtime = ctx.runtime
    reference = args or await _pick_session(ctx)
    if not reference:
        return
    await ctx.wait_for_background()
    runtime.resume(reference)
    show_session(ctx.screen, runtime.session)
    await settle_open_elsewhere(ctx)
    for line in runtime.resumed_lines():
        ctx.screen.warn(line)


async def _pick_session(ctx: CommandContext) -> str | None:
    """Let the user choose another session of this folder. Returns its id, or None."""
    runtime = ctx.runtime
    sessions = runtime.sessions.catalog.list_sessions(
        str(runtime.cwd), _MAX_LISTED, place=runtime.place
    )
    others = [info for info in sessions if info.interactions and info.id != runtime.session.id]
    if not others:
        ctx.screen.note("there are no other sessions in this folder")
        return None
    endings = runtime.sessions.catalog.endings([info.id for info in others])
    options = [(info.id, format_session(info)) for info in others]
    details = [describe_session(info, endings.get(info.id, {})) for info in others]
    return await ctx.pick("Resume which session?", options, details)


@in_own_form(fork)
async def _fork(ctx: CommandContext, args: str) -> None:
    before = ctx.runtime.session
    await ctx.wait_for_background()
    folders = ctx.runtime.agent.permissions.folders.read()
    await perform(ctx, fork, args)
    copy = ctx.runtime.session
    ctx.runtime.resume(copy.id)
    ending = f" that ends with T{copy.interactions}" if args else ""
    ctx.screen.note(f"continuing in a copy{ending}: {copy.id}")
    ctx.screen.note(f"the original is kept: /resume {_reference(ctx, before)}")
    _name_closed(ctx, folders)


def _name_closed(ctx: CommandContext, before: Sequence[AddedFolder]) -> None:
    """Name the added folders that the session in use does not have, of those that the one `before` had."""
    now = ctx.runtime.agent.permissions.folders.read()
    closed = [folder.path for folder in before if folder not in now]
    if closed:
        ctx.screen.note(f"not added to this session: {', '.join(closed)} (/add-dir)")


def _reference(ctx: CommandContext, session: Session) -> str:
    return ctx.runtime.sessions.catalog.reference(session)


@command(aliases=("clear", "reset"), usage="[NAME]")
async def _new(ctx: CommandContext, args: str) -> None:
    """Start a new session (this one is kept)"""
    await ctx.wait_for_background()
    before = ctx.runtime.session
    folders = ctx.runtime.agent.permissions.folders.read()
    ctx.runtime.new_session(args)
    name = f" {args}" if args else ""
    ctx.screen.note(f"new session{name}: nothing of the previous one is sent")
    _name_closed(ctx, folders)
    if before.interactions:
        ctx.screen.note(f"the previous one is kept: /resume {_reference(ctx, before)}")
        ctx.background.start(ctx.background.reflect_ended(ctx.runtime.learning))
