"""`/effort`: show or change how much the model thinks."""

from __future__ import annotations

from swecli.config.model_entry import THINKING, parse_thinking
from swecli.llm.base import ChatModel, ThinkingModel
from swecli.llm.thinking import in_words
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
    thinking = agent.thinking or getattr(endpoint, "thinking", "")
    ctx.screen.line(f"thinking {thinking or 'model default'}")
    if thinking:
        ctx.screen.note(said_of(agent.model, thinking, agent.settings.max_tokens))


def said_of(model: ChatModel, thinking: str, max_tokens: int | None) -> str:
    """Return what requests to the model have for this level, or that they have nothing."""
    sent_fields = ""
    if isinstance(model, ThinkingModel):
        sent_fields = in_words(model.thinking_sent(thinking, model.profile.reserve(max_tokens)))
    if sent_fields:
        return f"{model.name} is sent {sent_fields}"
    if thinking == "off" and model.profile.thinking in ("budget", "adaptive"):
        return f"nothing is sent: {model.name} only thinks when it is asked to"
    return f"nothing is sent: no field is known with which {model.name} is asked for that"
