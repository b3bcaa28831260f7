"""`/model`: which model answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from swecli.repl.commands.base import CommandContext, Values, command
from swecli.repl.daemon import spawn
from swecli.repl.render.formatting import tokens

if TYPE_CHECKING:
    from swecli.app import Runtime


def _near_at_hand(runtime: Runtime) -> Values:
    """The demo, the present one, the one of the settings, and what a key alone would have chosen."""
    # late: the table of defaults is needed when somebody asks for it, not before the first prompt
    from swecli.llm.endpoints import KEYED  # noqa: PLC0415

    named = {runtime.agent.model.name: "in use", runtime.settings.model: "of the settings", "demo": "an offline tour"}
    keyed = [(one.default_model, f"{one.name}'s default") for one in KEYED if one.default_model]
    named |= {model: what for model, what in keyed if model not in named}
    return [(model, what) for model, what in named.items() if model]


@command(aliases=("models",), usage="[PROVIDER/NAME]", complete=_near_at_hand)
async def model(ctx: CommandContext, args: str) -> None:
    """Show or change the model, from the next turn on"""
    runtime = ctx.runtime
    if args:
        # in a thread: looking a name up reads large tables, and the screen must not stand still
        await asyncio.shield(spawn(lambda: runtime.switch_model(args), "swecli-model"))
    used = runtime.agent.model
    window = f"{tokens(used.profile.window)} tokens" if used.profile.window else "of unknown size"
    ctx.screen.line(f"{used.name} ({runtime.choice.why}) · context {window}")
    if used.profile.offline:
        ctx.screen.note(
            "shows how swecli works, offline; set a key such as OPENAI_API_KEY or use /model ollama/NAME for a real one"
        )
    if not args:
        ctx.screen.note("to change it: /model PROVIDER/NAME")
