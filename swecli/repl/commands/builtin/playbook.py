"""`/playbook`: what was learned, with its evidence; to be added to, corrected and taken back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from swecli.models.errors import BadInput, UsageError
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import Action, PlaybookDesk, Said
from swecli.playbook.desk_reviewing import Word, decide, waiting
from swecli.repl.commands.base import CommandContext, command

DOINGS = tuple((action.name, f"{action.usage}: {action.help}".lstrip(": ")) for action in ACTIONS.values())
GAP = 3  # columns between those of a table
READABLE = 24  # columns, at least, for what is longest in a table
ANSWERS = [("later", "decide later"), ("stop", "stop here")]


@command(
    aliases=("strategies",), usage="[show|add|edit|pin|undo|review|why|…]", complete=lambda runtime: DOINGS, beside="*"
)
async def playbook(ctx: CommandContext, args: str) -> None:
    """Show and change what was learned"""
    word, _, rest = args.partition(" ")
    action = ACTIONS.get(word.lower() or "list")
    if action is None:
        own = (
            f"Use /{word.lower()}" if word.lower() in ("good", "bad", "reflect") else f"It knows: {', '.join(ACTIONS)}"
        )
        raise UsageError(f"/playbook cannot {word!r:.40}.", own)
    session = ctx.runtime.sessions.current_session
    if session is None:
        raise BadInput("There is no session yet.", "Ask something first.")
    ctx.runtime.sessions.playbook.renew(session)
    counter, settings = ctx.runtime.agent.counter, ctx.runtime.settings
    desk = PlaybookDesk(ctx.runtime.sessions, session, count=counter.count)
    desk.tokens, desk.most = settings.playbook_tokens, settings.max_strategies
    if action.name == "review" and not rest.strip():
        await _review(ctx, desk)
    else:
        tell(ctx, action.perform(desk, _words(action, rest)))


def _words(action: Action, rest: str) -> list[str]:
    """The arguments; where a file is among them, quotes hold its name together. Raises UsageError."""
    if "FILE" not in action.usage:
        return rest.split()
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(
            f"{rest!r:.60} cannot be read: {error}.", "Put a name with a quote in it into quotes."
        ) from None


def tell(ctx: CommandContext, said: Said) -> None:
    """Print an answer: the first line stands out where there are more."""
    if said.rows and _too_wide(said, ctx.screen.width):
        for row in said.rows:
            _record(ctx, said, row)
    elif said.rows:
        ctx.screen.table(said.head, said.rows)
    elif len(said.lines) == 1:
        ctx.screen.note(said.lines[0])
    else:
        for at, line in enumerate(said.lines):
            ctx.screen.line(line, "" if at else "head")
    if said.note:
        ctx.screen.note(said.note)


def _longest(said: Said) -> int:
    """The column with the strategies' words, or else with the longest ones."""
    if "strategy" in said.head:
        return said.head.index("strategy")
    return max(range(1, len(said.head)), key=lambda at: max(len(row[at]) for row in said.rows))


def _too_wide(said: Said, width: int) -> bool:
    """Whether a table would leave its longest column too little to be read in."""
    widths = [max(map(len, column)) for column in zip(said.head, *said.rows, strict=True)]
    longest = widths.pop(_longest(said))
    return width - sum(widths) - GAP * len(widths) < min(longest, READABLE)


def _record(ctx: CommandContext, said: Said, row: Sequence[str]) -> None:
    """A row as two lines: what is longest in it, and the rest by their names."""
    at = 1 if said.paired else _longest(said)
    ctx.screen.line(f"{row[0]}{' = ' if said.paired else '  '}{row[at]}", "head")
    rest = (f"{said.head[place]} {row[place]}" for place in range(1, len(row)) if place != at)
    ctx.screen.note(" · ".join(rest))


async def _review(ctx: CommandContext, desk: PlaybookDesk) -> None:
    """One question after the other."""
    found = waiting(desk)
    if not found:
        ctx.screen.note("nothing waits for your word")
    for item in found:
        for proof in desk.sessions.playbook.evidence(item.bullet.id):
            ctx.screen.note(f"evidence ({proof.source}): {proof.quote}")
        answer = await ctx.pick(item.question, [*item.words.items(), *ANSWERS])
        if answer in (None, "stop"):
            return
        if answer != "later":
            word: Word = answer  # type: ignore[assignment]  # it is one of the question's words
            tell(ctx, decide(desk, item, word))
