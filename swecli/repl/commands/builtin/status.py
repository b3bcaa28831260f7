"""`/status`, `/cost`: what this run works with, and what it has used."""

from __future__ import annotations

from swecli.models.finding import counted
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import money
from swecli.repl.startup_banner import short_path


@command(beside="*")
async def status(ctx: CommandContext, args: str) -> None:
    """Show model, mode, session, database and learning"""
    runtime = ctx.runtime
    session = runtime.sessions.current_session
    pending = len(runtime.sessions.playbook.pending(session.id)) if session else 0
    database = runtime.sessions.database
    rows = [
        ("model", f"{runtime.agent.model.name} ({runtime.choice.why})"),
        ("mode", runtime.agent.permissions.mode),
        ("window", str(session.window if session else runtime.settings.window)),
        (
            "folder",
            f"{short_path(runtime.cwd)} ({'trusted' if runtime.trusted else 'not trusted: its AGENTS.md is not used'})",
        ),
        (
            "session",
            f"{session.title or 'unnamed'} · {counted(session.interactions, 'turn')} · {session.id}"
            if session
            else "none",
        ),
        ("database", str(database.path or "sqlite://")),
        ("sandbox", "none: commands run as you, after you allow them"),
        ("learning", "on" if runtime.learning.enabled else "off"),
        ("pending", f"{counted(pending, 'turn')} to reflect on" if pending else "nothing to reflect on"),
    ]
    ctx.screen.pairs(rows)


_BUCKETS = (
    ("input", "input (uncached)"),
    ("cache_read", "cache reads"),
    ("cache_write", "cache writes"),
    ("output", "output"),
    ("reasoning", "reasoning"),
)


@command(aliases=("stats", "usage"), beside="*")
async def cost(ctx: CommandContext, args: str) -> None:
    """Show this session's tokens and cost"""
    totals = ctx.runtime.sessions.totals()
    rows = [(words, f"{getattr(totals.usage, name):>12,}") for name, words in _BUCKETS]
    ctx.screen.pairs([*rows, ("total tokens", f"{totals.usage.total:>12,}")])
    why = "" if totals.cost is not None else " (the price of a request is unknown)"
    ctx.screen.line(f"{counted(totals.requests, 'request')} · cost {money(totals.cost)}{why}")
