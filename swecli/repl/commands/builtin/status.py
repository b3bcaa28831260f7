"""`/status`: what this program runs with."""

from __future__ import annotations

from swecli.config.project_files import find_project_files
from swecli.models.counts import pluralize
from swecli.repl.commands.base import CommandContext, command, refuse_arguments
from swecli.text import short_path
from swecli.tools.hooks.files import may_have_hooks


@command(concurrent="*")
async def _status(ctx: CommandContext, args: str) -> None:
    """Show model, mode, session, database and learning"""
    refuse_arguments("status", args)
    runtime = ctx.runtime
    session = runtime.session
    sandbox = runtime.agent.ctx.commands.sandbox
    database = runtime.sessions.database.path
    trust = "trusted" if runtime.trusted else "not trusted"
    if not runtime.trusted and find_project_files(runtime.cwd):
        trust = "not trusted: its instructions and settings are not used"
    title = session.title or "unnamed"
    turns = pluralize(session.interactions, "turn")
    rows = [
        ("model", f"{runtime.agent.model.name} ({runtime.choice.reason})"),
        ("mode", runtime.agent.permissions.mode),
        ("window", f"{session.window}: {session.window.description}"),
        ("folder", f"{short_path(runtime.cwd)} ({trust})"),
        ("session", f"{title} · {turns} · {session.id}"),
        ("database", "sqlite://" if database is None else short_path(database)),
        ("sandbox", sandbox.describe() if sandbox else "none"),
        *_hooks(ctx),
        ("learning", _learning(ctx)),
    ]
    ctx.screen.columns(rows)


def _learning(ctx: CommandContext) -> str:
    """Return whether turns are learned from, and how many wait or could not be."""
    runtime = ctx.runtime
    if not runtime.learning.enabled:
        return "off"
    turns = runtime.sessions.turns
    pending = len(turns.pending(runtime.session.id))
    failed = turns.count_failed(runtime.session.id)
    parts = ["on"]
    if pending:
        parts.append(f"{pluralize(pending, 'turn')} to reflect on")
    if failed:
        parts.append(
            f"{pluralize(failed, 'turn')} not reflected on: no usable answer (/reflect TURN)"
        )
    return " · ".join(parts)


def _hooks(ctx: CommandContext) -> list[tuple[str, str]]:
    """Return the row on the hooks; none if no file declares any."""
    if not may_have_hooks(ctx.runtime.start):
        return []
    # late: few use hooks
    from swecli.actions.hooks import describe_hooks

    return [("hooks", describe_hooks(ctx.runtime.start))]
