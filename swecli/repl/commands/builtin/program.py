"""Commands on the program that runs: `/exit`, `/steer`, `/status`."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.models.finding import pluralize
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import short_path


@command(aliases=("quit", "q"))
async def _exit(ctx: CommandContext, args: str) -> None:
    """Quit (`swecli -c` continues this session)"""
    jobs = pluralize(len(ctx.runtime.agent.ctx.jobs.running), "background job")
    if ctx.runtime.agent.ctx.jobs.running:
        title = f"Quit? That stops {jobs}."
        if not await ctx.confirm(title, "yes, stop and quit", "no, stay"):
            return
    ctx.program.quit()


@command(usage="TEXT", concurrent="*")
async def _steer(ctx: CommandContext, args: str) -> None:
    """Send a line to the running turn (same as Ctrl+T)"""
    if not args.strip():
        raise UsageError(
            "There is nothing to send.", "Use /steer TEXT, or type a line and press Ctrl+T."
        )
    ctx.program.steer(args.strip())


_UNTRUSTED = ": its AGENTS.md is not used"


@command(concurrent="*")
async def _status(ctx: CommandContext, args: str) -> None:
    """Show model, mode, session, database and learning"""
    runtime, session = ctx.runtime, ctx.runtime.session
    sandbox = runtime.agent.ctx.sandbox
    pending, trusted = len(runtime.sessions.turns.pending(session.id)), runtime.trusted
    rows = [
        ("model", f"{runtime.agent.model.name} ({runtime.choice.why})"),
        ("mode", runtime.agent.permissions.mode),
        ("window", str(session.window)),
        (
            "folder",
            f"{short_path(runtime.cwd)} ({'' if trusted else 'not '}trusted{'' if trusted else _UNTRUSTED})",
        ),
        (
            "session",
            f"{session.title or 'unnamed'} · {pluralize(session.interactions, 'turn')} · {session.id}",
        ),
        ("database", str(runtime.sessions.database.path or "sqlite://")),
        ("sandbox", sandbox.describe() if sandbox else "none"),
        ("learning", "on" if runtime.learning.enabled else "off"),
        (
            "pending",
            f"{pluralize(pending, 'turn')} to reflect on" if pending else "nothing to reflect on",
        ),
    ]
    ctx.screen.columns(rows)
