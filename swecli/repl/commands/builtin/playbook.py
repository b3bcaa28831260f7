"""`/playbook`: what was learned, with its evidence; to be added to, corrected and taken back."""

from __future__ import annotations

from swecli.models.errors import BadInput, UsageError
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.desk_changing import decide, waiting
from swecli.repl.commands.base import CommandContext, command

DOINGS = tuple((action.name, f"{action.usage}: {action.help}".lstrip(": ")) for action in ACTIONS.values())
ANSWERS = [("yes", "yes"), ("no", "no"), ("later", "decide later"), ("stop", "stop here")]


@command(aliases=("strategies",), usage="[show|add|edit|pin|undo|review|why|…]", complete=lambda runtime: DOINGS)
async def playbook(ctx: CommandContext, args: str) -> None:
    """Show and change what was learned"""
    word, _, rest = args.partition(" ")
    action = ACTIONS.get(word.lower() or "list")
    if action is None:
        raise UsageError(f"/playbook cannot {word!r:.40}.", f"It knows: {', '.join(ACTIONS)}")
    session = ctx.runtime.sessions.current_session
    if session is None:
        raise BadInput("There is no session yet.", "Ask something first.")
    await ctx.settle()
    counter, most = ctx.runtime.agent.counter, ctx.runtime.settings.max_strategies
    desk = PlaybookDesk(ctx.runtime.sessions, session, count=counter.count, most=most)
    if action.name == "review" and not rest.strip():
        await _review(ctx, desk)
    else:
        tell(ctx, action.run(desk, rest.split()))


def tell(ctx: CommandContext, said: Said) -> None:
    """Print an answer: the first line stands out where there are more."""
    if said.rows:
        ctx.screen.table(said.head, said.rows)
    elif len(said.lines) == 1:
        ctx.screen.note(said.lines[0])
    else:
        for at, line in enumerate(said.lines):
            ctx.screen.line(line, "" if at else "head")
    if said.note:
        ctx.screen.note(said.note)


async def _review(ctx: CommandContext, desk: PlaybookDesk) -> None:
    """One question after the other."""
    found = waiting(desk)
    if not found:
        ctx.screen.note("nothing waits for your word")
    for item in found:
        for proof in desk.sessions.playbook.evidence(item.bullet.id):
            ctx.screen.note(f"evidence ({proof.source}): {proof.quote}")
        answer = await ctx.pick(item.line, ANSWERS)
        if answer in (None, "stop"):
            return
        if answer != "later":
            tell(ctx, decide(desk, item, answer == "yes"))
