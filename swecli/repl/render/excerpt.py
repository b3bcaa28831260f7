"""Cut a text of any length to what may be printed at once: its beginning or its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from swecli.models.counts import pluralize
from swecli.text import sanitize
from swecli.values import dataclass

if TYPE_CHECKING:  # commands, which are declared before rich is loaded, cut texts too
    from rich.console import RenderableType

_LEAST_LINES = 6  # as many as a folded output shows
_LEAST_CHARACTERS = 1_000
_LINES_AT_ONCE = 200  # lines that are sanitized at once
MAX_LINE = 20_000  # characters of one line, however much is printed
EXPAND_ALL = "/expand all prints all of it"


class Limit(NamedTuple):
    """How much of a text is printed at once."""

    lines: int
    characters: int

    def share(self, count: int) -> Limit:
        """Return the limit for each of `count` texts that are printed together."""
        return Limit(
            max(_LEAST_LINES, self.lines // count),
            max(_LEAST_CHARACTERS, self.characters // count),
        )


# The keys wait while a print is rendered: 15 ms for these, and 50 ms for what is asked for.
PRINTED = Limit(lines=200, characters=20_000)
EXPANDED = Limit(lines=500, characters=50_000)


class Excerpt(NamedTuple):
    """A part of a text, sanitized and without the last line end, and what was left out."""

    text: str
    hidden_lines: int = 0  # whole ones that were left out
    hidden_characters: int = 0  # left out of a line that alone exceeds the limit

    @property
    def hidden_above(self) -> str:
        """What was left out before the text, as in "300 lines above"; "" for nothing."""
        if self.hidden_lines:
            return f"{pluralize(self.hidden_lines, 'line')} above"
        return f"{self.hidden_characters:,} characters before" if self.hidden_characters else ""

    @property
    def hidden_below(self) -> str:
        """What was left out behind the text, as in "300 more lines"; "" for nothing."""
        if self.hidden_lines:
            return pluralize(self.hidden_lines, "more line")
        return f"{self.hidden_characters:,} more characters" if self.hidden_characters else ""


@dataclass(frozen=True, slots=True)
class Fold:
    """What was printed in part. `render_expanded` renders what a limit allows of it, `render_whole` all of it, piece by
    piece."""

    render_expanded: Callable[[Limit], RenderableType]
    render_whole: Callable[[], Iterable[RenderableType]]


def end_of(text: str, limit: Limit) -> Excerpt:
    """Return the last lines of a text; of a line that alone is too long, its end."""
    text = text.removesuffix("\n")
    lines = sanitize(text[-limit.characters :]).split("\n")
    kept_lines = lines[-limit.lines :]
    is_cut = len(text) > limit.characters and len(kept_lines) == len(lines)
    if is_cut and len(kept_lines) == 1:
        line = text.rpartition("\n")[2]
        end = sanitize(line[-MAX_LINE:])
        return Excerpt(end, text.count("\n"), max(0, len(line) - MAX_LINE))
    if is_cut:
        del kept_lines[0]  # only its end is here
    return Excerpt("\n".join(kept_lines), _count_hidden(text, kept_lines))


def start_of(text: str, limit: Limit) -> Excerpt:
    """Return the first lines of a text; of a line that alone is too long, its beginning."""
    text = text.removesuffix("\n")
    lines = sanitize(text[: limit.characters]).split("\n")
    kept_lines = lines[: limit.lines]
    is_cut = len(text) > limit.characters and len(kept_lines) == len(lines)
    if is_cut and len(kept_lines) == 1:
        line = text.partition("\n")[0]
        start = sanitize(line[:MAX_LINE])
        return Excerpt(start, text.count("\n"), max(0, len(line) - MAX_LINE))
    if is_cut:
        del kept_lines[-1]  # only its beginning is here
    return Excerpt("\n".join(kept_lines), _count_hidden(text, kept_lines))


def lines_of(text: str) -> Iterator[str]:
    """Yield all lines of a text, sanitized when they are needed: that takes 0.3 s for a million characters."""
    lines = text.removesuffix("\n").split("\n")
    for first in range(0, len(lines), _LINES_AT_ONCE):
        yield from sanitize("\n".join(lines[first : first + _LINES_AT_ONCE])).split("\n")


def _count_hidden(text: str, kept_lines: list[str]) -> int:
    return max(0, text.count("\n") + 1 - len(kept_lines))
