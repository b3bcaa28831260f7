"""`/cost` and `/stats`: what was spent, and what the next request will cost."""

from __future__ import annotations

from swecli.actions.builtin.cost import BESIDE, cost
from swecli.actions.builtin.stats import DAYS, stats
from swecli.models.counts import parse_count
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext


@in_own_form(cost)
async def _cost(ctx: CommandContext, args: str) -> None:
    # late: not needed to declare a command
    from swecli.actions.session_cost import format_session

    if args == BESIDE:
        _switch_price(ctx)
    elif args:
        ctx.report(await perform(ctx, cost, args))
    else:
        for line in format_session(ctx.runtime, ctx.screen.width).lines:
            if line.startswith("  "):
                ctx.screen.detail(line.strip())
            else:
                ctx.screen.line(line)


def _switch_price(ctx: CommandContext) -> None:
    """Show the price of the next request in the footer from now on, or no more."""
    footer = ctx.program.footer
    footer.shows_price = not footer.shows_price
    if footer.shows_price:
        ctx.program.measure_next()
        ctx.screen.note("the price of the next request stands below the prompt now")
    else:
        ctx.screen.note("the price of the next request is not shown any more")


@in_own_form(stats)
async def _stats(ctx: CommandContext, args: str) -> None:
    # late: as above
    from swecli.actions.spending import format_stats

    days = parse_count(args, DAYS)
    for line in format_stats(ctx.runtime.sessions.database, days, ctx.screen.width).lines:
        ctx.screen.line(line)
