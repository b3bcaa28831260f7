"""`/context`: what the next request is made of, and how full it is."""

from __future__ import annotations

from swecli.context.budget import request_limit
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.figures import bar, percent, tokens


@command(aliases=("tokens",))
async def context(ctx: CommandContext, args: str) -> None:
    """Show the parts of the next request with their tokens"""
    agent = ctx.runtime.agent
    prepared = agent.prepare("").prepared
    parts = [("tools", agent.counter.count_tools(agent.tools.specs()))]
    parts += [(segment.name, segment.tokens) for segment in prepared.segments]
    total = sum(count for _, count in parts)
    rows = [(name, tokens(count), bar(count, total)) for name, count in parts]
    ctx.screen.table(("part", "tokens", "share"), rows)
    limit = request_limit(agent.model.context_window, agent.settings.max_tokens or agent.model.max_output)
    about = "about " if agent.counter.estimated else ""
    if limit is None:
        ctx.screen.line(f"{about}{tokens(total)} tokens; the model's window is unknown")
    else:
        ctx.screen.line(
            f"{bar(total, limit)} {about}{tokens(total)} of {tokens(limit)} tokens ({percent(total, limit)}%)"
        )
