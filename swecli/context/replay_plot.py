"""A replay as a plot of plain characters: input tokens of each turn, on a scale where every step up is a factor."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from swecli.context.replay import Replayed

MARKS = {"full": "f", "exact": "e", "slack": "s", "compact90": "c", "ours": "o"}
SEVERAL = "*"
ROWS = 16
NARROWEST = 10
_LABEL = 7


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale from `low` to `high` tokens."""

    low: float
    high: float

    @classmethod
    def over(cls, curves: Iterable[Sequence[float]]) -> Scale:
        """A scale that holds all the values, with a little room."""
        values = [max(1.0, value) for curve in curves for value in curve] or [1.0]
        return cls(min(values) / 1.1, max(values) * 1.1)

    def place(self, value: float) -> float:
        """Where a value lies, from 0 (low) to 1 (high)."""
        return math.log(max(1.0, value) / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[int]:
        """Round values on it, at most seven: 1, 2 and 5 of each power of ten, or only 1."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        inside = [n * 10**power for power in range(max(0, first), last + 1) for n in (1, 2, 5)]
        inside = [tick for tick in inside if self.low <= tick <= self.high]
        tens = [tick for tick in inside if str(tick).strip("0") == "1"]
        return inside if len(inside) <= 7 else tens


def curve(replayed: Replayed, points: int) -> list[float]:
    """Input tokens by turn; where there are more turns than points, the mean of those that share one."""
    values = [turn.input for turn in replayed.turns]
    count = min(points, len(values))
    edges = [round(n * len(values) / count) for n in range(count + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in zip(edges, edges[1:], strict=False)]


def short(tokens: float) -> str:
    """A number of tokens in a few letters: 950, 4.2k, 1.3M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if tokens >= size:
            shown = f"{tokens / size:.1f}" if tokens < 10 * size else f"{tokens / size:.0f}"
            return shown.removesuffix(".0") + letter
    return f"{tokens:.0f}"


def plot(replays: Sequence[Replayed], width: int) -> list[str]:
    """The lines of the plot, none longer than `width` columns (or the narrowest that can be drawn)."""
    if not replays or not replays[0].turns:
        return []
    columns = max(NARROWEST, width - _LABEL - 1)
    curves = {replayed.policy: curve(replayed, columns) for replayed in replays}
    scale = Scale.over(curves.values())
    drawn = len(next(iter(curves.values())))
    first, last = (str(replays[0].turns[place].turn) for place in (0, -1))
    foot = first.ljust(max(len(first) + 1, drawn - len(last))) + last if drawn > 1 else first
    legend = ", ".join([*(f"{MARKS[name]} {name}" for name in curves), f"{SEVERAL} several of them"])
    return [
        "input tokens a turn, by turn:",
        *_body(_cells(curves, scale), scale),
        f"{'':{_LABEL}}+{'-' * drawn}",
        f"{'':{_LABEL}} {foot}",
        *textwrap.wrap(legend, max(NARROWEST, width)),
    ]


def _cells(curves: dict[str, list[float]], scale: Scale) -> list[list[str]]:
    """The rows, the highest first, with a mark where a policy's value lies."""
    rows = [[" "] * len(next(iter(curves.values()))) for _ in range(ROWS)]
    for name, values in curves.items():
        for column, value in enumerate(values):
            row = rows[_row(scale.place(value))]
            row[column] = MARKS[name] if row[column] == " " else SEVERAL
    return rows


def _row(place: float) -> int:
    return min(ROWS - 1, max(0, round((1 - place) * (ROWS - 1))))


def _body(cells: list[list[str]], scale: Scale) -> Iterator[str]:
    labels = {_row(scale.place(tick)): short(tick) for tick in scale.ticks()}
    for number, row in enumerate(cells):
        yield f"{labels.get(number, ''):>{_LABEL - 1}} |{''.join(row)}".rstrip()
