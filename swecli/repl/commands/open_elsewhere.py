"""A session that is open in two terminals: what to do when it is opened, and when the other one has changed it."""

from __future__ import annotations

from swecli.models.errors import ContinuedElsewhere
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option

_QUESTION = "This session is open in another swecli. Continue where?"
# A number means the same as in an approval.
_ANSWERS = {
    "copy": Option("in a copy of it", "1"),
    "both": Option("here and there: each loads the turns of the other before its next one", "2"),
    "new": Option("in a new session", "3"),
}


async def settle_open_elsewhere(ctx: CommandContext) -> None:
    """If the session that was just opened is open in another process too, let the user choose where to continue."""
    runtime = ctx.runtime
    if not runtime.is_open_elsewhere:
        return
    options = list(_ANSWERS.values())
    index = await ctx.asker.choose(_QUESTION, options, guarded=True, escape="for a new session")
    answer = "new" if index is None else list(_ANSWERS)[index]
    if answer == "copy":
        copy = runtime.sessions.fork()
        runtime.resume(copy.id)
        ctx.screen.note(f"continuing in a copy: {copy.id}")
    elif answer == "both":
        ctx.screen.note("continuing here, and there: each loads the turns of the other")
    elif answer == "new":
        runtime.new_session()
        ctx.screen.note("a new session: nothing of the other one is sent")


async def load_foreign_turns(ctx: CommandContext) -> None:
    """Load what another process did in the session since it was loaded here, and print that."""
    await ctx.wait_for_background()
    for line in ctx.runtime.load_again():
        ctx.screen.note(line)


async def has_changed_elsewhere(ctx: CommandContext) -> bool:
    """Return whether another process has changed the session; its turns are loaded and printed then. Raises
    BusyElsewhere."""
    try:
        ctx.runtime.sessions.require_current()
    except ContinuedElsewhere:
        await load_foreign_turns(ctx)
        return True
    return False
