"""`/sessions`: the sessions of this folder, to go on with one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.finding import counted
from swecli.repl.commands.base import CommandContext, Values, command
from swecli.repl.render.formatting import age
from swecli.repl.render.resume_banner import show_session

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.session import SessionInfo

SHOWN = 20


def _known(runtime: Runtime) -> Values:
    return [(info.id, _label(info)) for info in runtime.sessions.list_sessions(str(runtime.cwd), SHOWN)]


@command(aliases=("resume", "continue"), usage="[ID|NAME]", complete=_known)
async def sessions(ctx: CommandContext, args: str) -> None:
    """Resume another session of this folder"""
    runtime, ref = ctx.runtime, args
    if not ref:
        present = runtime.sessions.current_session
        found = runtime.sessions.list_sessions(str(runtime.cwd), SHOWN)
        options = [(info.id, _label(info)) for info in found if present is None or info.id != present.id]
        if not options:
            ctx.screen.note("there are no other sessions in this folder")
            return
        ref = await ctx.pick("Resume which session?", options) or ""
        if not ref:
            return
    await ctx.settle()
    runtime.resume(ref)
    session = runtime.sessions.current_session
    if session is not None:
        show_session(ctx.screen, session)


def _label(info: SessionInfo) -> str:
    words = " ".join((info.title or info.first_query or info.id).split())
    return f"{words[:60]} · {counted(info.interactions, 'turn')} · {age(info.updated_at)}"
