"""`/good`, `/bad` and `/reflect` in a session: a model learns from a mark in the background, or is stopped."""

from __future__ import annotations

from swecli.actions.builtin.playbook import bad, good, reflect
from swecli.models.action import Action
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext


@in_own_form(good)
async def _good(ctx: CommandContext, args: str) -> None:
    await _mark(ctx, good, args)


@in_own_form(bad)
async def _bad(ctx: CommandContext, args: str) -> None:
    await _mark(ctx, bad, args)


async def _mark(ctx: CommandContext, action: Action, reason: str) -> None:
    learning = ctx.runtime.learning
    turns = learning.due_after_mark(action is good, reason)  # as it was before the mark
    ctx.report(await perform(ctx, action, reason))
    ctx.background.react(learning, turns)


@in_own_form(reflect)
async def _reflect(ctx: CommandContext, args: str) -> None:
    if args.lower() != "stop":
        await ctx.wait_for_background()
        ctx.report(await perform(ctx, reflect, args))
    elif await ctx.background.cancel():
        ctx.screen.note("stopped · it will be retried at the next start")
    else:
        ctx.screen.note("nothing is being learned")
