"""`/model`: show or change the model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from swecli.actions.choices import find_models
from swecli.models.counts import format_tokens
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.app import Runtime


@command(usage="[PROVIDER/NAME] · fast PROVIDER/NAME", complete=find_models)
async def _model(ctx: CommandContext, args: str) -> None:
    """Choose the model, from the next turn on; fast: the one that reflects, condenses and verifies"""
    runtime = ctx.runtime
    if not args:
        _show(ctx)
        args = await _pick(ctx)
        if not args:
            return
    # in a thread: the look-up reads large tables, and must not block the screen
    await asyncio.shield(run_in_thread(lambda: _switch(runtime, args), "swecli-model"))
    _show(ctx)


async def _pick(ctx: CommandContext) -> str:
    """Let the user choose a model by name. Returns "" if it stays."""
    current = ctx.runtime.agent.model.name
    options = [
        (name, f"{name} · {about}") for name, about in find_models(ctx.runtime) if name != current
    ]
    title = "Which model should answer? (/model PROVIDER/NAME takes any other)"
    return await ctx.pick(title, options, [("",) for _ in options]) or ""


def _show(ctx: CommandContext) -> None:
    runtime = ctx.runtime
    model = runtime.agent.model
    size = model.profile.window
    window = f"{format_tokens(size)} tokens" if size else "of unknown size"
    ctx.screen.line(f"{model.name} ({runtime.choice.reason}) · context {window}")
    for line in runtime.agent.model_warnings():
        ctx.screen.note(line)
    fast = runtime.settings.reflect_model
    if fast:
        ctx.screen.line(f"fast: {fast}")


def _switch(runtime: Runtime, args: str) -> None:
    words = args.split()
    if words[0] == "fast" and len(words) == 2:
        runtime.switch_fast_model(words[1])
    else:
        runtime.switch_model(args)
