"""`/window left`, `/window back`, `swecli context left|back`: see turns that are not sent any more, send one again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Values, Words
from swecli.models.counts import format_tokens, pluralize
from swecli.models.errors import UsageError
from swecli.models.ids import parse_turn
from swecli.models.json_value import Json
from swecli.text import one_line

if TYPE_CHECKING:
    from swecli.agent.left_turns import LeftTurn
    from swecli.app import Runtime

NOTHING_LEFT = "Every turn of this session is sent with the next request."
_MAX_QUERY = 60  # characters of a turn's query
_MAX_FILES = 3  # that are named of one turn
_TAKE_BACK = Flag("--off", "do not send it again after all")


def _complete_left(runtime: Runtime) -> Values:
    """Return the names of the turns that are left out, newest first."""
    turns = reversed(runtime.left_turns.outline().turns)
    return [
        (f"T{left_turn.turn.number}", one_line(left_turn.turn.query, _MAX_QUERY))
        for left_turn in turns
    ]


@Action(
    Need.CONTEXT,
    Words("[TURN]", "the turn to show whole, for example T3", "?"),
    complete=_complete_left,
    during_turn=True,
)
def left(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """The turns that are not sent any more, in outline, or one of them whole"""
    if invocation.words:
        number = parse_turn(invocation.text)
        text = runtime.left_turns.read(number)
        return ActionResult({"turn": number, "text": text}, tuple(text.splitlines()))
    outline = runtime.left_turns.outline()
    value = {"turns": [_to_json(turn) for turn in outline.turns], "older": outline.older}
    if not outline.turns:
        return ActionResult(value, (NOTHING_LEFT,))
    rows = tuple(
        (f"T{turn.turn.number}", format_tokens(turn.tokens), describe_left(turn))
        for turn in outline.turns
    )
    lines = (describe_older(outline.older),) if outline.older else ()
    window = "/window" if invocation.prefix == "/" else f"{invocation.prefix}context"
    pin = "/pin" if invocation.prefix == "/" else f"{invocation.prefix}context pin"
    last = rows[-1][0]
    note = (
        f"{window} left {last} shows a turn\n"
        f"{window} back {last} sends it again with the next request\n"
        f"{pin} {last} keeps it in every request"
    )
    return ActionResult(value, lines, head=("turn", "tokens", "about"), rows=rows, note=note)


@Action(
    Need.CONTEXT,
    Words("TURN", "for example T3", "1"),
    (_TAKE_BACK,),
    complete=_complete_left,
    during_turn=True,
)
def back(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Send a turn again, whole, with the next request only"""
    if not invocation.words:
        raise UsageError("Name the turn to send again, for example T3.", "/window left lists them.")
    number = parse_turn(invocation.text)
    if _TAKE_BACK.name in invocation.flags:
        runtime.left_turns.leave_out(number)
        return ActionResult({"left_out": number}, (f"T{number} is not sent again",))
    tokens = runtime.left_turns.bring_back(number)
    brought_back = list(runtime.session.context.brought_back)
    line = f"T{number} goes with your next message ({format_tokens(tokens)} tokens), and only with that"
    note = ""
    if len(brought_back) > 1:
        note = f"all that go with it: {', '.join(f'T{each}' for each in brought_back)}"
    return ActionResult({"brought_back": brought_back, "tokens": tokens}, (line,), note=note)


# what may stand behind /window besides a size
WINDOW_WORDS = {action.name: action for action in (left, back)}


def describe_left(left_turn: LeftTurn) -> str:
    """Return what a turn was about on one line: the beginning of its query, what it changed, how it ended."""
    turn = left_turn.turn
    parts = [f'"{one_line(turn.query, _MAX_QUERY)}"']
    if turn.changed:
        more = len(turn.changed) - _MAX_FILES
        names = ", ".join(turn.changed[:_MAX_FILES])
        parts.append(f"changed {names}{f' and {more} more' if more > 0 else ''}")
    if turn.outcome:
        parts.append(turn.outcome)
    if left_turn.is_brought_back:
        parts.append("goes with your next message")
    return " · ".join(parts)


def describe_older(count: int) -> str:
    """Return that so many turns before those of an outline are left out too."""
    return f"{pluralize(count, 'older turn')} not listed; /window left T1 shows the first"


def _to_json(left_turn: LeftTurn) -> Json:
    turn = left_turn.turn
    return {
        "turn": turn.number,
        "query": turn.query,
        "changed": list(turn.changed),
        "outcome": turn.outcome,
        "tokens": left_turn.tokens,
        "brought_back": left_turn.is_brought_back,
    }
