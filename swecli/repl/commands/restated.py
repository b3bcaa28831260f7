"""After a turn, ask about what the model stored as the user's word in words that are not the user's."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.playbook import Bullet
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.text import shorten

_OPTIONS = (Option("yes", "1", "y"), Option("no", "3", "n"), Option("edit", "4"))
_SHOWN = 200  # characters of a strategy in its question


async def ask_about_restated(ctx: CommandContext) -> None:
    """Ask about each strategy that the newest turn stored in other words, or in another language, than the user's. One
    without an answer waits for `/playbook review`."""
    for one in ctx.runtime.learning.restated():
        if not await _ask(ctx, one.bullet, one.replaces):
            return


async def _ask(ctx: CommandContext, bullet: Bullet, replaces: Sequence[Bullet]) -> bool:
    """Ask about one strategy, which may replace others; return whether there was an answer."""
    instead = "".join(f' instead of {old.id} "{shorten(old.content, _SHOWN)}"' for old in replaces)
    title = f'Remember "{shorten(bullet.content, _SHOWN)}"{instead}?'
    picked = await ctx.asker.choose(title, list(_OPTIONS), guarded=True)
    if picked is None:
        return False
    learning = ctx.runtime.learning
    if picked == 0:
        ctx.report(learning.perform("review", [bullet.id, "use"]))
    elif picked == 1:
        ctx.report(learning.perform("review", [bullet.id, "remove"]))
    else:
        text = (await ctx.asker.ask_text("What should it say?") or "").strip()
        if not text:
            return False
        learning.perform("edit", [bullet.id, text])
        ctx.report(learning.perform("review", [bullet.id, "use"]))
    return True
