"""After a turn, ask about what a model stored as the user's word in words that are not the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.playbook.actions.change import edit, review
from swecli.repl.commands.actions import perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.text import shorten

if TYPE_CHECKING:  # loaded after the prompt is shown
    from swecli.playbook.learning.service import Restated

_OPTIONS = (Option("yes", "1", "y"), Option("no", "3", "n"), Option("edit", "4"))
_MAX_QUOTED = (
    200  # characters of the user's words, and of a strategy that is replaced, in a question
)


async def ask_about_restated(ctx: CommandContext) -> None:
    """Ask about each strategy that was stored as the user's in other words than the user's, or further than the user
    wrote. One without an answer waits for `/playbook review`."""
    for restated in ctx.runtime.learning.pop_restated():
        if not await _ask(ctx, restated):
            return


def _title(restated: Restated) -> str:
    """Return the question: the text beside the words that it comes from, where it applies, and what it replaces."""
    scope = " in all your projects" if restated.bullet.scope == "user" else ""
    replaced = [f'{old.id} "{shorten(old.content, _MAX_QUOTED)}"' for old in restated.replaces]
    instead = f" instead of {', '.join(replaced)}" if replaced else ""
    # whole: a yes is to all of it
    question = f'Remember "{restated.bullet.content}"{scope}{instead}?'
    return f'{question} You wrote: "{shorten(restated.words, _MAX_QUOTED)}"'


async def _ask(ctx: CommandContext, restated: Restated) -> bool:
    """Ask about one strategy; return whether there was an answer."""
    bullet = restated.bullet
    picked = await ctx.asker.choose(_title(restated), _OPTIONS, guarded=True)
    if picked is None:
        return False
    if picked == 0:
        ctx.report(await perform(ctx, review, f"{bullet.id} use"))
    elif picked == 1:
        ctx.report(await perform(ctx, review, f"{bullet.id} remove"))
    else:
        text = (await ctx.asker.ask_text("What should it say?") or "").strip()
        if not text:
            return False
        await perform(ctx, edit, f"{bullet.id} {text}")
        ctx.report(await perform(ctx, review, f"{bullet.id} use"))
    return True
