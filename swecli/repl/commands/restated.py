"""After a turn, ask about what was stored of the user's words that only he can decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.doubts import Doubt
from swecli.playbook.actions.change import edit, remove, review
from swecli.playbook.wording import is_statement_in
from swecli.repl.commands.actions import perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.text import shorten

if TYPE_CHECKING:  # loaded after the prompt is shown
    from swecli.playbook.learning.service import Restated

_YES, _NO, _EDIT = Option("yes", "1", "y"), Option("no", "2", "n"), Option("edit", "3", "e")
_MAX_QUOTED = (
    200  # characters of the user's words, and of a strategy that is replaced, in a question
)


async def ask_about_restated(ctx: CommandContext) -> None:
    """Ask about each strategy that is not in the user's words, reaches further than he wrote, or is no longer wanted.
    One without an answer waits for `/playbook review`."""
    for restated in ctx.runtime.learning.pop_restated():
        if not await _ask(ctx, restated):
            return


def _title(restated: Restated) -> str:
    """Return the question: the text beside the words that it comes from, who will see it, and what it replaces."""
    bullet = restated.bullet
    words = f'You wrote: "{shorten(restated.words, _MAX_QUOTED)}"'
    if bullet.doubt is Doubt.RESTATED and is_statement_in(bullet.content, [restated.words]):
        words = "These are your words, but maybe only a part of a sentence."
    # whole: a yes is to all of it
    if bullet.doubt is Doubt.TAKEN_BACK:
        return f'Forget {bullet.id} "{bullet.content}"? {words}'
    replaced = [f'{old.id} "{shorten(old.content, _MAX_QUOTED)}"' for old in restated.replaces]
    instead = f" instead of {', '.join(replaced)}" if replaced else ""
    return f'Remember for {bullet.reach} "{bullet.content}"{instead}? {words}'


async def _ask(ctx: CommandContext, restated: Restated) -> bool:
    """Ask about one strategy; return whether there was an answer."""
    bullet = restated.bullet
    if bullet.doubt is Doubt.TAKEN_BACK:
        return await _ask_to_forget(ctx, restated)
    other, label = (
        ("project", "only here") if bullet.scope == "user" else ("user", "in all my projects")
    )
    options = (_YES, _NO, _EDIT, Option(label, "4"))
    index = await ctx.asker.choose(_title(restated), options, guarded=True)
    if index is None:
        return False
    if index == 1:
        ctx.report(await perform(ctx, review, f"{bullet.id} remove"))
        return True
    if index == 2:
        text = (await ctx.asker.ask_text("What should it say?") or "").strip()
        if not text:
            return False
        await perform(ctx, edit, f"{bullet.id} {text}")
    if index == 3:
        await perform(ctx, edit, f"{bullet.id} --scope {other}")
    ctx.report(await perform(ctx, review, f"{bullet.id} use"))
    return True


async def _ask_to_forget(ctx: CommandContext, restated: Restated) -> bool:
    """Ask whether a strategy is to be removed; return whether there was an answer."""
    index = await ctx.asker.choose(_title(restated), (_YES, _NO), guarded=True)
    if index is None:
        return False
    action, arguments = (remove, "") if index == 0 else (review, " use")
    ctx.report(await perform(ctx, action, f"{restated.bullet.id}{arguments}"))
    return True
