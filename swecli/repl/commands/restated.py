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

# A number means the same as in an approval.
_YES, _NO = Option("yes", "1", "y"), Option("no, forget it", "3", "n")
_EDIT = Option("edit it first", "4", "e")
_ONLY_HERE = Option("yes, only here", "2")
_EVERYWHERE = Option(
    "yes, in all my projects", "2", confirmation="The model gets it in each of your projects."
)
_KEEP = Option("no, keep it", "3", "n")  # to the question whether to forget it
_LATER = "to decide later"  # Esc
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
        return f'Forget {bullet.id} "{bullet.content}"?\n{words}'
    replaced = [f'{old.id} "{shorten(old.content, _MAX_QUOTED)}"' for old in restated.replaces]
    instead = f" instead of {', '.join(replaced)}" if replaced else ""
    return f'Remember for {bullet.reach} "{bullet.content}"{instead}?\n{words}'


async def _ask(ctx: CommandContext, restated: Restated) -> bool:
    """Ask about one strategy; return whether there was an answer."""
    bullet = restated.bullet
    if bullet.doubt is Doubt.TAKEN_BACK:
        return await _ask_to_forget(ctx, restated)
    other, elsewhere = "user", _EVERYWHERE
    if bullet.scope == "user":
        other, elsewhere = "project", _ONLY_HERE
    options = (_YES, elsewhere, _NO, _EDIT)
    index = await ctx.asker.choose(_title(restated), options, guarded=True, escape=_LATER)
    if index is None:
        return False
    option = options[index]
    if option is _NO:
        ctx.report(await perform(ctx, review, f"{bullet.id} remove"))
        return True
    if option is _EDIT:
        text = (await ctx.asker.ask_text("What should it say?", bullet.content) or "").strip()
        if not text:
            return False
        await perform(ctx, edit, f"{bullet.id} {text}")
    if option is elsewhere:
        await perform(ctx, edit, f"{bullet.id} --scope {other}")
    ctx.report(await perform(ctx, review, f"{bullet.id} use"))
    return True


async def _ask_to_forget(ctx: CommandContext, restated: Restated) -> bool:
    """Ask whether a strategy is to be removed; return whether there was an answer."""
    options = (_YES, _KEEP)
    index = await ctx.asker.choose(_title(restated), options, guarded=True, escape=_LATER)
    if index is None:
        return False
    action, arguments = (remove, "") if index == 0 else (review, " use")
    ctx.report(await perform(ctx, action, f"{restated.bullet.id}{arguments}"))
    return True
