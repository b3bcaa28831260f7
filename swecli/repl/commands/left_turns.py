"""The turns that are not sent any more, as a list: show one, send it again, or pin it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from swecli.actions.builtin.context import pin
from swecli.actions.left_turns import NOTHING_LEFT, back, describe_left, describe_older
from swecli.models.counts import format_tokens
from swecli.models.errors import BadInput
from swecli.repl.commands.actions import perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.action_list import ActionList
from swecli.repl.input.question import Option
from swecli.repl.render.excerpt import EXPAND_ALL, Fold, Limit, lines_of, start_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from swecli.agent.left_turns import LeftTurn

_AGAIN = "b"
_PIN = "p"
_LETTERS = {_AGAIN: "sends it again with your next message", _PIN: "pins it"}
_LIMIT = Limit(lines=20, characters=4_000)  # of a turn, at once


async def choose_left_turn(ctx: CommandContext) -> None:
    """Let the user act on the turns that are not sent any more. The list stays while turns are only shown."""
    cursor = 0
    while True:
        outline = ctx.runtime.left_turns.outline()
        turns = outline.turns[::-1]
        if not turns:
            ctx.screen.note(NOTHING_LEFT)
            return
        title = "Turns that are not sent any more"
        if outline.older:
            title += f" ({describe_older(outline.older)})"
        actions = ActionList(
            title,
            [Option(_describe(turn)) for turn in turns],
            "shows it",
            _LETTERS,
            cursor=cursor,
            closing=ctx.screen.keys.keys_of("left_turns"),
        )
        choice = await ctx.asker.choose_action(actions)
        if choice is None:
            return
        cursor, key = choice
        if key:
            await _act(ctx, key, turns[cursor])
            return
        _show(ctx, turns[cursor].turn.number)


def _describe(left_turn: LeftTurn) -> str:
    size = f"{format_tokens(left_turn.tokens)} tokens"
    return f"T{left_turn.turn.number} · {size} · {describe_left(left_turn)}"


async def _act(ctx: CommandContext, key: str, left_turn: LeftTurn) -> None:
    name = f"T{left_turn.turn.number}"
    if key == _AGAIN:
        line = f"{name} --off" if left_turn.is_brought_back else name
        ctx.report(await perform(ctx, back, line))
        return
    if ctx.runtime.agent.is_running:
        raise BadInput(f"{name} can be pinned when this turn has ended.", f"Then type /pin {name}")
    ctx.report(await perform(ctx, pin, name))


def _show(ctx: CommandContext, number: int) -> None:
    """Print the beginning of a turn, which can be unfolded."""
    text = ctx.runtime.left_turns.read(number)
    ctx.screen.line(f"T{number}", "head")
    ctx.screen.print(_render(text, _LIMIT, ctx.screen.keys.hint("expand", "to expand")))
    ctx.renderer.set_folded(
        Fold(lambda limit: _render(text, limit, EXPAND_ALL), lambda: _render_whole(text))
    )


def _render_whole(text: str) -> Iterator[RenderableType]:
    # late: not needed to declare a command
    from rich.text import Text

    for line in lines_of(text):
        yield Text(line, style="output")


def _render(text: str, limit: Limit, hint: str) -> RenderableType:
    # late: not needed to declare a command
    from rich.console import Group
    from rich.text import Text

    # late: as above
    from swecli.repl.render.prefix import hidden_note

    excerpt = start_of(text, limit)
    output = Text(excerpt.text, style="output")
    if not excerpt.hidden_below:
        return output
    return Group(output, hidden_note(excerpt.hidden_below, hint))
