"""`/undo`, `/redo`, `/rewind`, `/diff`: whole turns or parts of them taken back, brought back and shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput, UsageError
from swecli.models.ids import resolve_turn
from swecli.repl.commands.base import CommandContext, command
from swecli.store.records import UNDO_PARTS

if TYPE_CHECKING:
    from swecli.undo.history import TurnHistory, UndoResult


_ALL = "files, conversation, window and playbook"
_WORDS = f"[{' | '.join(UNDO_PARTS)}]"
_ANSWERS = [
    ("leave", "Leave these as they are, do the rest"),
    ("overwrite", "Overwrite these too"),
    ("", "Cancel: change nothing"),
]


@command(usage=f"[N] {_WORDS}", complete=lambda runtime: [(part, "only this") for part in UNDO_PARTS])
async def undo(ctx: CommandContext, args: str) -> None:
    """Undo the last turn (or the last N): files, conversation, window, playbook"""
    history, (word, parts), turns = _history_of(ctx), _read(args), ctx.runtime.session.interactions
    if word and not (word.isdecimal() and 1 <= int(word) <= turns):
        raise UsageError(
            f"{word!r} is not a number of turns to undo: this session has {turns}.", "Use /undo, /undo 2 or /undo files"
        )
    await ctx.wait_for_background()
    await _undo(ctx, history, turns - int(word or 1) + 1, parts)


@command(aliases=("restore",), usage=f"[T7] {_WORDS}")
async def rewind(ctx: CommandContext, args: str) -> None:
    """Go back to before a turn: choose which, and what of it (also Esc Esc)"""
    history, (word, parts) = _history_of(ctx), _read(args)
    number = resolve_turn(word, ctx.runtime.session.interactions)
    await ctx.wait_for_background()
    options = [(str(number), line) for number, line in history.turns()]
    first = str(number) if word else await ctx.pick("Go back to before which turn?", options)
    if first and not args:
        ways = [(_ALL, _ALL), *((part, f"{part} only") for part in UNDO_PARTS)]
        answer = await ctx.pick(f"What of T{first} and later?", ways)
        first, parts = first if answer else None, parts if answer in (_ALL, None) else (answer,)
    if first:
        await _undo(ctx, history, int(first), parts)


@command()
async def redo(ctx: CommandContext, args: str) -> None:
    """Bring back what the last undo took, until a new turn runs"""
    history = _history_of(ctx)
    if args:
        raise UsageError(f"/redo takes nothing after it, not {args!r}.", "Each /redo takes one undo back")
    await ctx.wait_for_background()
    step, plan = history.plan_redo()
    overwrite = await _ask(ctx, [history.relative(change.path) for change in plan.conflicts])
    if overwrite is not None:
        _report(ctx, "brought back", history.redo(step, plan, overwrite))


async def _undo(ctx: CommandContext, history: TurnHistory, first: int, parts: Collection[str]) -> None:
    plan = history.plan(first)
    overwrite = await _ask(ctx, [history.relative(change.path) for change in plan.conflicts if "files" in parts])
    if overwrite is None:
        return
    asked = history.query(first)
    _report(ctx, "undid", history.undo(first, parts, plan, overwrite))
    if "conversation" in parts:
        history.restore_facts()
        ctx.program.set_draft(asked)
    ctx.screen.note("/redo brings it back, until a new turn runs")


async def _ask(ctx: CommandContext, changed: Sequence[str]) -> bool | None:
    """Whether files that another hand changed since are overwritten; None: nothing is to be done."""
    if not changed:
        return False
    answer = await ctx.pick(f"Changed outside this session: {', '.join(changed)}", _ANSWERS)
    if not answer:
        ctx.screen.note("nothing was changed")
    return answer == "overwrite" if answer else None


def _report(ctx: CommandContext, verb: str, result: UndoResult) -> None:
    """Load the session as it is stored now, and print what became of it."""
    step = result.step
    ctx.runtime.resume(ctx.runtime.session.id)
    turns = f"T{step.first}" if step.first == step.last else f"T{step.first} to T{step.last}"
    some = "" if len(step.parts) == len(UNDO_PARTS) else f" ({', '.join(step.parts)} only)"
    ctx.screen.line(f"{verb} {turns}{some}", "head")
    for what, names in (("files", result.files), ("strategies", step.strategies)):
        if names:
            ctx.screen.note(f"{what}: {', '.join(names)}")
    for line in result.problems:
        ctx.screen.warn(line)


def _read(args: str) -> tuple[str, Collection[str]]:
    """The word that is not a part, and the parts that are named; all of them where none is. Raises UsageError."""
    words = args.replace(",", " ").split()
    others = [word for word in words if word not in UNDO_PARTS]
    if len(others) > 1:
        raise UsageError(f"{' '.join(others)!r} is more than one turn or part.", f"Parts are: {', '.join(UNDO_PARTS)}")
    return "".join(others), [part for part in UNDO_PARTS if part in words] or UNDO_PARTS


def _history_of(ctx: CommandContext) -> TurnHistory:
    if ctx.runtime.history is None:
        raise BadInput("No file versions are kept: the database is in memory.", "Start without --db")
    return ctx.runtime.history


@command(usage="[T7 | session]", complete=lambda runtime: [("session", "all turns together")], beside="*")
async def diff(ctx: CommandContext, args: str) -> None:
    """Show what the last turn, turn T7 or the session changed in files"""
    # late: rich is not needed to declare a command
    from swecli.repl.render.tools import render_diff  # noqa: PLC0415

    turns, whole = ctx.runtime.session.interactions, args == "session"
    last = resolve_turn("" if whole else args, turns)
    found = _history_of(ctx).diff(1 if whole else last, last)
    if not found:
        ctx.screen.note("no file is different")
    for line, text in found:
        ctx.screen.line(line, "head")
        if text:
            ctx.screen.print(render_diff(text))
