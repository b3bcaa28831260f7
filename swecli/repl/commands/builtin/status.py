"""`/status`: what this run works with."""

from __future__ import annotations

from swecli.config.trust import is_trusted, project_root
from swecli.models.finding import counted
from swecli.repl.commands.base import CommandContext, command, show_pairs
from swecli.repl.startup_banner import short_path


@command(beside="*")
async def status(ctx: CommandContext, args: str) -> None:
    """Show model, mode, session, database and learning"""
    runtime = ctx.runtime
    session = runtime.sessions.current_session
    trusted = is_trusted(runtime.start.paths, project_root(runtime.cwd))
    pending = len(runtime.sessions.playbook.pending(session.id)) if session else 0
    database = runtime.sessions.database
    rows = [
        ("model", f"{runtime.agent.model.name} ({runtime.choice.why})"),
        ("mode", runtime.agent.permissions.mode),
        ("window", str(session.window if session else runtime.settings.window)),
        ("folder", f"{short_path(runtime.cwd)} ({'trusted' if trusted else 'not trusted: its AGENTS.md is not used'})"),
        (
            "session",
            f"{session.title or 'unnamed'} · {counted(session.interactions, 'turn')} · {session.id}"
            if session
            else "none",
        ),
        ("database", str(database.path or database.url)),
        ("sandbox", "none: commands run as you, after you allow them"),
        ("learning", "on" if runtime.learning.enabled else "off"),
        ("pending", f"{counted(pending, 'turn')} to reflect on" if pending else "nothing to reflect on"),
    ]
    show_pairs(ctx.screen, rows)
