"""`/effort`: show or change how much the model thinks."""

from __future__ import annotations

from swecli.config.model_entry import THINKING, parse_thinking
from swecli.models.errors import BadInput
from swecli.repl.commands.base import CommandContext, command


@command(
    usage="[off|low|medium|high|max|TOKENS]",
    complete=lambda runtime: [(word, "") for word in THINKING],
)
async def _effort(ctx: CommandContext, args: str) -> None:
    """Show or change how much the model thinks, from the next turn on"""
    agent = ctx.runtime.agent
    if args:
        try:
            agent.thinking = parse_thinking(args)
        except ValueError as error:
            raise BadInput(f"{error}.") from error
    endpoint = getattr(agent.model, "endpoint", None)
    thinking = agent.thinking or getattr(endpoint, "thinking", "") or "model default"
    ctx.screen.line(f"thinking {thinking}")
    if agent.model.profile.thinking == "none":
        ctx.screen.note(
            f"{agent.model.name} is not known to support thinking; the setting is dropped if the service rejects it"
        )
