"""`/cost` and `/stats`: what was spent."""

from __future__ import annotations

from swecli.actions.builtin.stats import DAYS, stats
from swecli.models.counts import parse_count, pluralize
from swecli.models.money import format_spent
from swecli.repl.commands.actions import in_own_form
from swecli.repl.commands.base import CommandContext, command

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
    from swecli.store.spending import session_spending

    runtime = ctx.runtime
    totals = runtime.sessions.totals()
    rows = [(words, f"{getattr(totals.usage, name):>12,}") for name, words in _BUCKETS]
    ctx.screen.columns([*rows, ("total tokens", f"{totals.usage.total:>12,}")])
    cost = format_spent(totals.cost, totals.known_cost, totals.unpriced)
    requests = pluralize(totals.requests, "request")
    ctx.screen.line(f"{requests} · cost {cost}")
    spending = session_spending(runtime.sessions.database, runtime.session.id)
    for line in format_tables(spending, ctx.screen.width):
        ctx.screen.line(line)


@in_own_form(stats)
async def _stats(ctx: CommandContext, args: str) -> None:
    # late: as above
    from swecli.actions.spending import format_stats

    days = parse_count(args, DAYS)
    for line in format_stats(ctx.runtime.sessions.database, days, ctx.screen.width).lines:
        ctx.screen.line(line)
