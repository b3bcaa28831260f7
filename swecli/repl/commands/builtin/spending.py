"""`/cost` and `/stats`: what was spent."""

from __future__ import annotations

from swecli.models.counts import pluralize
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import format_dollars

_DAYS = 30
_BUCKETS = (
    ("input", "input (uncached)"),
    ("cache_read", "cache reads"),
    ("cache_write", "cache writes"),
    ("output", "output"),
    ("reasoning", "reasoning"),
)


@command(aliases=("usage",), concurrent="*")
async def _cost(ctx: CommandContext, args: str) -> None:
    """Show this session's tokens and cost, by model, cause and tool"""
    # late: not needed to declare a command
    from swecli.actions.spending import format_tables
    from swecli.store.views import session_spending

    runtime = ctx.runtime
    totals = runtime.sessions.totals()
    rows = [(words, f"{getattr(totals.usage, name):>12,}") for name, words in _BUCKETS]
    ctx.screen.columns([*rows, ("total tokens", f"{totals.usage.total:>12,}")])
    why = "" if totals.cost is not None else " (the price of a request is unknown)"
    requests = pluralize(totals.requests, "request")
    ctx.screen.line(f"{requests} · cost {format_dollars(totals.cost)}{why}")
    spending = session_spending(runtime.sessions.database, runtime.session.id)
    for line in format_tables(spending, ctx.screen.width):
        ctx.screen.line(line)


@command(usage="[DAYS]", concurrent="*")
async def _stats(ctx: CommandContext, args: str) -> None:
    """Show the tokens and cost of all sessions in the last 30 (or DAYS) days"""
    # late: as above
    from swecli.actions.spending import format_stats

    days = args.strip() or str(_DAYS)
    if not days.isdecimal() or len(days) > 9:
        raise UsageError(f"{days!r} is not a number of days.", "For example: /stats 7")
    stats = format_stats(ctx.runtime.sessions.database, int(days), ctx.screen.width)
    for line in stats.lines:
        ctx.screen.line(line)
