"""`/trust`: use the files of this folder as they are, after a look at them."""

from __future__ import annotations

from swecli.actions.builtin.trust import give
from swecli.actions.builtin.trust import trust as actions
from swecli.actions.trusting import TrustQuestion
from swecli.models.errors import StoreError
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext

# of a changed file's differences, so that the question and the list above it stay in view
_MAX_ROWS = 40
_YES = "yes: the model gets its instructions; its skills, commands and settings apply"
_NO = "no: nothing of it is used"


@in_own_form(actions)
async def _trust(ctx: CommandContext, args: str) -> None:
    action, rest, name = actions.read(args)
    if action is give:
        give.read(rest)  # raises: it takes no words
        await _give(ctx)
    else:
        ctx.report(await perform(ctx, action, rest, name))


async def _give(ctx: CommandContext) -> None:
    question = TrustQuestion.about(ctx.runtime.start)
    if question.settled:
        ctx.screen.note(question.settled)
        return
    _show(ctx, question)
    if not await ctx.confirm(question.text, _YES, _NO):
        ctx.screen.note("nothing was changed")
        return
    try:
        notices = ctx.runtime.trust_files(question.files)
    except OSError as error:
        raise StoreError(f"The trust cannot be recorded: {error.strerror}.") from error
    ctx.table.add_project(ctx.runtime.start.read_trust())
    for line in question.agreed:
        ctx.screen.note(line)
    for notice in notices:
        ctx.screen.warn(notice)


def _show(ctx: CommandContext, question: TrustQuestion) -> None:
    """Print which files would be used, and if the folder was trusted before, what is new in them."""
    trust = question.trust
    rows = [
        (trust.name_of(path), f"{len(data):,} bytes", question.state_of(path))
        for path, data in question.pending.items()
    ]
    if rows:
        ctx.screen.table(("file", "size", ""), rows)
    if not trust.is_trusted:
        return
    # late: completing the names of commands must not load rich
    from swecli.repl.render.diff import render_diff
    from swecli.tools.diffs import unified_diff

    for path, data in question.pending.items():
        name = trust.name_of(path)
        before = question.text_before(path)
        diff = unified_diff(name, before, data.decode("utf-8", "replace"))
        ctx.screen.line(name, "head")
        ctx.screen.print(render_diff(diff.text, max_rows=_MAX_ROWS))
