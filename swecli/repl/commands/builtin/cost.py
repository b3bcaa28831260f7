"""`/cost`: tokens and money of this session."""

from __future__ import annotations

from swecli.models.finding import counted
from swecli.repl.commands.base import CommandContext, command, show_pairs
from swecli.repl.render.formatting import money

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
    show_pairs(ctx.screen, [*rows, ("total tokens", f"{totals.usage.total:>12,}")])
    why = "" if totals.cost is not None else " (the price of a request is unknown)"
    ctx.screen.line(f"{counted(totals.requests, 'request')} · cost {money(totals.cost)}{why}")
