"""`/sessions`, `/fork`, `/new`, `/rename`: change to another session, or name this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Values
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.open_elsewhere import settle_open_elsewhere
from swecli.repl.render.session_lines import (
    describe_session,
    format_session,
    session_name,
    show_session,
)

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.session import Session

_MAX_COMPLETED = 20  # the newest ones
_MAX_LISTED = 200


def _complete_sessions(runtime: Runtime) -> Values:
    return [
        (info.id, format_session(info))
        for info in runtime.sessions.catalog.list_sessions(str(runtime.cwd), _MAX_COMPLETED)
    ]


@command(aliases=("resume", "continue"), usage="[ID|NAME]", complete=_complete_sessions)
async def _sessions(ctx: CommandContext, args: str) -> None:
    """Resume another session of this folder"""
    runtime = ctx.runtime
    ref = args or await _pick_session(ctx)
    if not ref:
        return
    await ctx.wait_for_background()
    runtime.resume(ref)
    show_session(ctx.screen, runtime.session)
    await settle_open_elsewhere(ctx)
    for line in runtime.resumed_lines():
        ctx.screen.warn(line)


async def _pick_session(ctx: CommandContext) -> str | None:
    """Let the user choose another session of this folder. Returns its id, or None."""
    runtime = ctx.runtime
    found = runtime.sessions.catalog.list_sessions(str(runtime.cwd), _MAX_LISTED)
    others = [info for info in found if info.interactions and info.id != runtime.session.id]
    if not others:
        ctx.screen.note("there are no other sessions in this folder")
        return None
    endings = runtime.sessions.catalog.endings([info.id for info in others])
    options = [(info.id, format_session(info)) for info in others]
    details = [describe_session(info, endings.get(info.id, {})) for info in others]
    return await ctx.pick("Resume which session?", options, details)


@command(aliases=("branch",), usage="[T7]")
async def _fork(ctx: CommandContext, args: str) -> None:
    """Continue in a copy of this session (optional: up to turn T7)"""
    before = ctx.runtime.session
    upto = before.resolve_turn(args) if args else None
    await ctx.wait_for_background()
    copy = ctx.runtime.sessions.fork(upto=upto)
    ctx.runtime.resume(copy.id)
    ending = f" that ends with T{upto}" if upto else ""
    ctx.screen.note(f"continuing in a copy{ending}: {copy.id}")
    ctx.screen.note(f"the original is kept: /resume {_reference(ctx, before)}")


def _reference(ctx: CommandContext, session: Session) -> str:
    return ctx.runtime.sessions.catalog.reference(session)


@command(aliases=("clear", "reset"), usage="[NAME]")
async def _new(ctx: CommandContext, args: str) -> None:
    """Start a new session (this one is kept)"""
    await ctx.wait_for_background()
    before = ctx.runtime.session
    ctx.runtime.new_session(args)
    named = f" {args}" if args else ""
    ctx.screen.note(f"new session{named}: nothing of the previous one is sent")
    if before.interactions:
        ctx.screen.note(f"the previous one is kept: /resume {_reference(ctx, before)}")
        ctx.background.start(ctx.background.reflect_ended(ctx.runtime.learning))


@command(aliases=("title", "name"), usage="NAME")
async def _rename(ctx: CommandContext, args: str) -> None:
    """Rename this session"""
    name = " ".join(args.split())
    if not name:
        raise UsageError(
            f"This session is {session_name(ctx.runtime.session)}.", "To name it: /rename NAME"
        )
    ctx.runtime.sessions.rename(name)
    ctx.screen.note(f"this session is now {name}")
