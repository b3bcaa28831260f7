"""`/model`, `/effort`: which model answers, and how much it thinks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from swecli.config.model_entry import THINKING, thinking
from swecli.models.errors import BadInput
from swecli.repl.background import spawn
from swecli.repl.commands.base import CommandContext, Values, command
from swecli.repl.render.formatting import tokens

if TYPE_CHECKING:
    from swecli.app import Runtime


def _near_at_hand(runtime: Runtime) -> Values:
    # late: the table of defaults is needed when somebody asks for it, not before the first prompt
    from swecli.llm.endpoints import KEYED  # noqa: PLC0415

    named = {runtime.agent.model.name: "in use", runtime.settings.model: "of the settings", "demo": "an offline tour"}
    named |= {entry.name: "your own" for entry in runtime.settings.models if entry.name not in named}
    keyed = [(one.default_model, f"{one.name}'s default") for one in KEYED if one.default_model]
    named |= {model: what for model, what in keyed if model not in named}
    return [(model, what) for model, what in named.items() if model]


@command(aliases=("models",), usage="[PROVIDER/NAME] · fast PROVIDER/NAME", complete=_near_at_hand)
async def model(ctx: CommandContext, args: str) -> None:
    """Show or change the model, from the next turn on; fast: the one that reflects, condenses and verifies"""
    runtime, words = ctx.runtime, args.split()
    if words[:1] == ["fast"] and len(words) == 2:
        await asyncio.shield(spawn(lambda: runtime.switch_fast(words[1]), "swecli-model"))
    elif args:
        # in a thread: looking a name up reads large tables, and the screen must not stand still
        await asyncio.shield(spawn(lambda: runtime.switch_model(args), "swecli-model"))
    used = runtime.agent.model
    window = f"{tokens(used.profile.window)} tokens" if used.profile.window else "of unknown size"
    ctx.screen.line(f"{used.name} ({runtime.choice.why}) · context {window}")
    if line := runtime.agent.too_small():
        ctx.screen.note(line)
    if fast := runtime.settings.reflect_model:
        ctx.screen.line(f"fast: {fast}")
    if used.profile.offline:
        ctx.screen.note(
            "shows how swecli works, offline; set a key such as OPENAI_API_KEY or use /model ollama/NAME for a real one"
        )
    if not args:
        ctx.screen.note("to change it: /model PROVIDER/NAME")


@command(usage="[off|low|medium|high|max|TOKENS]", complete=lambda runtime: [(word, "") for word in THINKING])
async def effort(ctx: CommandContext, args: str) -> None:
    """Show or change how much the model thinks, from the next turn on"""
    agent = ctx.runtime.agent
    if args:
        try:
            agent.thinking = thinking(args)
        except ValueError as error:
            raise BadInput(f"{error}.") from error
    endpoint = getattr(agent.model, "endpoint", None)
    ctx.screen.line(f"thinking {agent.thinking or getattr(endpoint, 'thinking', '') or 'as the model does by itself'}")
    if agent.model.profile.thinking == "none":
        ctx.screen.note(
            f"{agent.model.name} is not known to think; a service that refuses the field is asked without it"
        )
