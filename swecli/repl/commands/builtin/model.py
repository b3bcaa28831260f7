"""`/model`: show or change the model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from swecli.models.action import Values
from swecli.models.counts import format_tokens
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.app import Runtime


def _complete_models(runtime: Runtime) -> Values:
    # late: not needed before the first prompt
    from swecli.llm.services import HOSTED

    named = {runtime.agent.model.name: "current"}
    named.setdefault(runtime.settings.model, "chosen at the start")
    named.setdefault("demo", "an offline tour")
    for entry in runtime.settings.models:
        named.setdefault(entry.name, "your own")
    for service in HOSTED:
        named.setdefault(service.default_model, f"{service.name}'s default")
    named.pop("", None)  # of settings without a model, and of services without a default
    return list(named.items())


@command(usage="[PROVIDER/NAME] · fast PROVIDER/NAME", complete=_complete_models)
async def _model(ctx: CommandContext, args: str) -> None:
    """Show or change the model, from the next turn on; fast: the one that reflects, condenses and verifies"""
    runtime = ctx.runtime
    if args:
        # in a thread: the look-up reads large tables, and must not block the screen
        await asyncio.shield(run_in_thread(lambda: _switch(runtime, args), "swecli-model"))
    used = runtime.agent.model
    size = used.profile.window
    window = f"{format_tokens(size)} tokens" if size else "of unknown size"
    ctx.screen.line(f"{used.name} ({runtime.choice.why}) · context {window}")
    for line in runtime.agent.model_warnings():
        ctx.screen.note(line)
    fast = runtime.settings.reflect_model
    if fast:
        ctx.screen.line(f"fast: {fast}")
    if not args:
        ctx.screen.note("to change it: /model PROVIDER/NAME")


def _switch(runtime: Runtime, args: str) -> None:
    words = args.split()
    if words[0] == "fast" and len(words) == 2:
        runtime.switch_fast_model(words[1])
    else:
        runtime.switch_model(args)
