"""`/undo`, `/redo`, `/rewind`, `/diff`: undo and redo turns or parts of them, and show their file changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from swecli.actions.builtin.diff import diff
from swecli.actions.turn_pieces import complete_pieces, complete_turns, split_turn
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, UsageError
from swecli.repl.commands.actions import in_own_form
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.open_elsewhere import has_changed_elsewhere
from swecli.repl.input.question import Option
from swecli.store.undo_records import UNDO_PARTS, FileChange, UndoStep
from swecli.text import one_line, sanitize

if TYPE_CHECKING:
    from rich.console import RenderableType

    from swecli.models.session import Session
    from swecli.repl.render.excerpt import Limit
    from swecli.undo.history import TurnHistory, UndoResult


_GOAL = "goal"  # in place of a number of turns
_MAX_QUOTED = 60  # characters of a message
_ALL_PARTS = "files, conversation, window and playbook"
_PARTS_USAGE = f"[{' | '.join(UNDO_PARTS)}]"
_RESTORES = {  # by part
    "files": "the files as they were, also those that commands changed",
    "conversation": "what the model is sent: the turns are gone from it",
    "window": "how many turns are sent, and what was left out or summarised",
    "playbook": "strategies that were learned, and their counts",
}
# A number means the same as in an approval.
_CONFLICT_ANSWERS = {
    "overwrite": Option("yes, overwrite these too", "1", "y"),
    "leave": Option("yes, but keep these as they are", "2"),
    "nothing": Option("no, change nothing", "3", "n"),
}


@command(
    usage=f"[N | {_GOAL}] {_PARTS_USAGE}, or T7 FILE [HUNK]",
    complete=lambda runtime: [
        *_RESTORES.items(),
        (_GOAL, "all turns of the last goal"),
        *complete_turns(runtime),
    ],
    complete_further=complete_pieces,
)
async def _undo(ctx: CommandContext, args: str) -> None:
    """Undo the last turn (or the last N, or the last goal), or one file of turn T7, or one hunk of it"""
    history = _require_history(ctx)
    if turn_and_piece := split_turn(args):
        await _undo_piece(ctx, history, *turn_and_piece)
        return
    word, parts = _parse_args(args)
    turns = ctx.runtime.session.interactions
    if word == _GOAL:
        word = str(turns - _first_of_goal(history, turns) + 1)
    if word and not (word.isdecimal() and 1 <= int(word) <= turns):
        raise UsageError(
            f"{word!r} is not a number of turns to undo: this session has {turns}.",
            f"Use /undo, /undo 2, /undo files, or /undo T{turns} FILE for one file",
        )
    await ctx.wait_for_background()
    if await _was_changed_elsewhere(ctx):
        return
    await _run_undo(ctx, history, turns - int(word or 1) + 1, parts)


async def _undo_piece(ctx: CommandContext, history: TurnHistory, turn: int, text: str) -> None:
    ctx.runtime.session.resolve_turn(f"T{turn}")
    if not text:
        raise UsageError(
            f"Which file of T{turn}?",
            f"Name a file that /diff T{turn} shows: /undo T{turn} FILE. /rewind T{turn} undoes the turn and later ones",
        )
    await ctx.wait_for_background()
    if await _was_changed_elsewhere(ctx):
        return
    result = history.undo_piece(history.plan_piece(turn, text))
    _report_piece(ctx, history, "Undone", result, "/redo brings it back.")


def _report_piece(
    ctx: CommandContext, history: TurnHistory, verb: str, result: UndoResult, way_back: str = ""
) -> None:
    """Load the session again, and print what was done with a piece of a turn."""
    piece = result.step.piece
    assert piece is not None, "the step is that of a piece"
    ctx.runtime.resume(ctx.runtime.session.id)
    quoted = one_line(history.query(piece.turn), _MAX_QUOTED)
    ctx.screen.line(f'{verb}: {piece.description} from "{quoted}". {way_back}'.rstrip(), "head")
    for line in (*map(str, result.standing), *result.problems):
        ctx.screen.warn(line)


def _first_of_goal(history: TurnHistory, newest: int) -> int:
    """Return the first turn of the session's last goal. Raises BadInput if turns follow the goal: nobody asked to undo
    these."""
    goal_turns = history.goal_turns()
    if goal_turns is None:
        raise BadInput("There is no goal to undo in this session.", "/goal COMMAND sets one.")
    first, last = goal_turns
    if last < newest:
        later = pluralize(newest - last, "later turn")
        turns = f"T{first}" if first == last else f"T{first} to T{last}"
        raise BadInput(
            f"The last goal is {turns}, and {later} would go with it.",
            f"/rewind T{first} undoes both.",
        )
    return first


@command(aliases=("restore",), usage=f"[T7] {_PARTS_USAGE}")
async def _rewind(ctx: CommandContext, args: str) -> None:
    """Go back to before a turn: choose the turn and the parts (also Esc Esc)"""
    history = _require_history(ctx)
    word, parts = _parse_args(args)
    number = ctx.runtime.session.resolve_turn(word)
    await ctx.wait_for_background()
    if await _was_changed_elsewhere(ctx):
        return
    options = [(str(number), line) for number, line in history.turns()]
    first = str(number) if word else await ctx.pick("Go back to before which turn?", options)
    if not first:
        return
    if not args:
        choices = [(_ALL_PARTS, _ALL_PARTS), *((part, f"{part} only") for part in UNDO_PARTS)]
        answer = await ctx.pick(f"What to undo of T{first} and later?", choices)
        if answer is None:
            return
        if answer != _ALL_PARTS:
            parts = (answer,)
    await _run_undo(ctx, history, int(first), parts)


@command()
async def _redo(ctx: CommandContext, args: str) -> None:
    """Redo what the last undo undid, until a new turn runs"""
    history = _require_history(ctx)
    if args:
        raise UsageError(f"/redo takes no arguments, not {args!r}.", "Each /redo reverts one undo")
    await ctx.wait_for_background()
    if await _was_changed_elsewhere(ctx):
        return
    step, plan = history.plan_redo()
    overwrite = await _ask_overwrite(ctx, history, plan.conflicts)
    if overwrite is not None:
        result = history.redo(step, plan, overwrite)
        if step.is_piece:
            _report_piece(ctx, history, "Redone", result)
            return
        ctx.runtime.resume(ctx.runtime.session.id)  # the turn can be quoted only now
        _report(ctx, "Redone", _quote(history.query(step.first), step), result)


async def _was_changed_elsewhere(ctx: CommandContext) -> bool:
    """Return whether the session was not as this terminal had shown it. It is now, and nothing is undone: the user has
    to see first what that would be."""
    if not await has_changed_elsewhere(ctx):
        return False
    ctx.screen.note(
        "nothing was changed: another swecli was in this session, its turns are loaded now"
    )
    return True


async def _run_undo(
    ctx: CommandContext, history: TurnHistory, first: int, parts: Collection[str]
) -> None:
    plan = history.plan(first)
    overwrite = await _ask_overwrite(ctx, history, plan.conflicts if "files" in parts else ())
    if overwrite is None:
        return
    query = history.query(first)
    result = history.undo(first, parts, plan, overwrite)
    _report(ctx, "Undone", _quote(query, result.step), result, "/redo brings it back.")
    if "conversation" in parts:
        ctx.program.set_draft(query)


async def _ask_overwrite(
    ctx: CommandContext, history: TurnHistory, conflicts: Sequence[FileChange]
) -> bool | None:
    """Ask whether to overwrite files that were changed outside the session. Returns None to cancel."""
    if not conflicts:
        return False
    names = ", ".join(history.relative(change.path) for change in conflicts)
    title = f"Changed outside this session: {names}. Go on?"
    options = list(_CONFLICT_ANSWERS.values())
    index = await ctx.asker.choose(title, options, guarded=True, escape="for no")
    answer = "nothing" if index is None else list(_CONFLICT_ANSWERS)[index]
    if answer == "nothing":
        ctx.screen.note("nothing was changed")
        return None
    return answer == "overwrite"


def _quote(query: str, step: UndoStep) -> str:
    """Return the turns of a step as the user knows them: by the message of the first."""
    quoted = f'"{one_line(query, _MAX_QUOTED)}"'
    later = step.last - step.first
    return f"{quoted} and {pluralize(later, 'later turn')}" if later else quoted


def _report(
    ctx: CommandContext, verb: str, turns: str, result: UndoResult, way_back: str = ""
) -> None:
    """Load the session again, and print the result."""
    step = result.step
    before = ctx.runtime.session
    ctx.runtime.resume(before.id)
    after = ctx.runtime.session
    parts = "" if len(step.parts) == len(UNDO_PARTS) else f", {' and '.join(step.parts)} only"
    changes = list[str]()
    if result.files:
        changes.append(f"{pluralize(len(result.files), 'file')}: {', '.join(result.files)}")
    if step.strategies:
        changes.append(f"strategies: {', '.join(step.strategies)}")
    changes_note = f" ({'; '.join(changes)})" if changes else ""
    ctx.screen.line(f"{verb}{parts}: {turns}{changes_note}. {way_back}".rstrip(), "head")
    if before.window != after.window:
        ctx.screen.note(f"The window is {after.window} again, it was {before.window}.")
    if sent_again := _sent_again(before, after):
        ctx.screen.note(sent_again)
    if result.earlier:
        names = ", ".join(piece.description for piece in result.earlier)
        ctx.screen.note(f"Taken back before, and with it now: {names}.")
    for standing in result.standing:
        ctx.screen.warn(str(standing))
    for line in result.problems:
        ctx.screen.warn(line)


def _sent_again(before: Session, after: Session) -> str:
    """Return that turns which only the window of `before` left out are sent, "" for none."""
    if before.context.epoch is None or after.context.epoch is None:
        return ""
    first = after.context.epoch.first
    last = min(before.context.epoch.first - 1, after.interactions)
    if last < first:
        return ""
    return f"T{first} is sent again" if first == last else f"T{first} to T{last} are sent again"


def _parse_args(args: str) -> tuple[str, Collection[str]]:
    """Parse the turn or number ("" for none) and the parts (default: all). Raises UsageError."""
    words = args.replace(",", " ").split()
    others = [word for word in words if word not in UNDO_PARTS]
    if len(others) > 1:
        raise UsageError(
            f"{' '.join(others)!r} is more than one turn or part.",
            f"Parts are: {', '.join(UNDO_PARTS)}. One file: /undo T7 FILE",
        )
    parts = [part for part in UNDO_PARTS if part in words]
    return "".join(others), parts or UNDO_PARTS


def _require_history(ctx: CommandContext) -> TurnHistory:
    if ctx.runtime.history is None:
        raise BadInput(
            "No file versions are kept: the database is in memory.", "Start without --db"
        )
    return ctx.runtime.history


@in_own_form(diff)
async def _diff(ctx: CommandContext, args: str) -> None:
    # late: not needed to declare a command
    from rich.console import Group
    from rich.text import Text

    # late: as above
    from swecli.actions.turn_pieces import find_diffs
    from swecli.repl.render.diff import render_diff_lines
    from swecli.repl.render.excerpt import EXPAND_ALL, Fold
    from swecli.repl.render.tools import ASKED_DIFF_ROWS

    history = _require_history(ctx)
    history.recorder.look_for_jobs()
    changes = find_diffs(history.files, ctx.runtime.session, args)
    if not changes:
        ctx.screen.note("no files changed")
        return

    def render(max_rows: int, hint: str = "") -> Iterator[RenderableType]:
        for change in changes:
            yield Text(sanitize(change.heading), style="head")
            if change.text:
                yield from render_diff_lines(
                    change.text, max_rows=max_rows, hint=hint, labels=change.labels
                )

    def expand(limit: Limit) -> RenderableType:
        return Group(*render(limit.share(len(changes)).lines, EXPAND_ALL))

    hint = ctx.screen.keys.hint("expand", "to expand")
    await ctx.screen.print_in_portions(render(ASKED_DIFF_ROWS, hint))
    ctx.renderer.set_folded(Fold(expand, lambda: render(0)))
