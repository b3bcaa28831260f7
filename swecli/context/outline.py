"""The outline of the turns that a request no longer contains: a line for each, the older ones on one line together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from swecli.models.playbook import quote_content
from swecli.models.session import EarlierTurn
from swecli.text import shorten

# Tokens of all lines. Specified, not measured: with 20 lines of 20 tokens a session of two working hours has each of
# its turns in view.
MAX_TOKENS = 400
# Turns that are read: a line takes at least eight tokens, so that 400 have no room for more.
MAX_TURNS = 50

_MAX_OLDER_TOKENS = 120  # of `MAX_TOKENS`, for the line that joins the older turns
_QUERY = 70  # characters of a query
_OLDER_QUERY = 24  # the same, on the line of the older turns
_OUTCOME = 90  # characters: the longest verdict on a check is behind its name, of 60
_FILES = 4  # that are named of one turn

_TITLE = "\n\n## Earlier turns\n"
_OPENING = (
    "Turns of this session that are no longer sent, made by the program from what is stored: how the user's request "
    "began, the files changed, the outcome. The tool search_session finds what was said in them.\n"
)


def render_outline(turns: Sequence[EarlierTurn], count: Callable[[str], int]) -> str:
    """Render turns in their order, for a system message, with lines of at most `MAX_TOKENS` by `count`; "" for none.
    Those that find no room are joined on the first line, and the turns before the first one are only counted."""
    if not turns:
        return ""
    lines = [_format_turn(turn) for turn in turns]
    sizes = [count(line) for line in lines]
    if turns[0].number == 1 and sum(sizes) <= MAX_TOKENS:
        return _TITLE + _OPENING + "".join(lines)
    start = len(lines)
    tokens_left = MAX_TOKENS - _MAX_OLDER_TOKENS
    while start > 0 and sizes[start - 1] <= tokens_left:
        start -= 1
        tokens_left -= sizes[start]
    older = _join_older(turns[:start], turns[start:], count)
    return _TITLE + _OPENING + older + "".join(lines[start:])


def split_outline(text: str) -> tuple[str, str]:
    """Split a text into what is before the outline that it ends with, and the outline, "" if it has none."""
    before, title, lines = text.rpartition(_TITLE + _OPENING)
    return (before, title + lines) if title else (text, "")


def _format_turn(turn: EarlierTurn) -> str:
    line = f'- T{turn.number} "{_quote(turn.query, _QUERY)}"'
    if turn.changed:
        line += f" · changed {_name_files(turn.changed)}"
    if turn.outcome:
        line += f" · {_quote(turn.outcome, _OUTCOME)}"
    return f"{line}\n"


def _join_older(
    older: Sequence[EarlierTurn], listed: Sequence[EarlierTurn], count: Callable[[str], int]
) -> str:
    """Return one line for the turns that have none of their own, the newest of them first; "" if there are none."""
    last = listed[0].number - 1 if listed else older[-1].number
    if last < 1:
        return ""
    name = f"T1 to T{last}" if last > 1 else "T1"
    line = f"- {name}"
    separator = ": "
    for turn in reversed(older):
        longer = f'{line}{separator}"{_quote(turn.query, _OLDER_QUERY)}"'
        if count(f"{longer} …\n") > _MAX_OLDER_TOKENS:
            return f"{line} …\n"
        line = longer
        separator = ", "
    return f"{line}\n"


def _quote(text: str, length: int) -> str:
    return shorten(quote_content(text), length)


def _name_files(files: Sequence[str]) -> str:
    names = ", ".join(quote_content(name) for name in files[:_FILES])
    more = len(files) - _FILES
    return f"{names} and {more} more" if more > 0 else names
