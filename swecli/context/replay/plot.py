"""A replay drawn, in plain characters or as SVG: input tokens of each turn, where every step up is a factor."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from swecli.context.replay.run import Replayed

# Each policy's mark, and its colour and dash: they differ in black and white too.
LOOKS = {
    "full": ("f", "#b2432f", "2 5"),
    "exact": ("e", "#8a6d00", "7 4"),
    "slack": ("s", "#2c6fbb", "11 4 2 4"),
    "compact90": ("c", "#7a3f98", "4 3"),
    "ours": ("o", "#12805c", "none"),
}
_SEVERAL = "*"
_ROWS = 16
_NARROWEST = 10
_LABEL = 7

# the SVG
_WIDTH, _HEIGHT = 960, 540
_LEFT, _RIGHT, _TOP, _BASE = 78, 940, 92, 482
# Turns differ by an order of magnitude: more points than these would be a thicket.
_POINTS = 80
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
_INK, _FAINT = "#1f2430", "#d9dde5"


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
    """The lines of the plot, none longer than `width` columns (or the narrowest that can be drawn); a replay has one
    turn at least."""
    columns = max(_NARROWEST, width - _LABEL - 1)
    curves = {replayed.policy: curve(replayed, columns) for replayed in replays}
    scale = Scale.over(curves.values())
    drawn = len(next(iter(curves.values())))
    rows = [[" "] * drawn for _ in range(_ROWS)]
    for name, values in curves.items():
        for column, value in enumerate(values):
            row = rows[_row(scale.place(value))]
            row[column] = LOOKS[name][0] if row[column] == " " else _SEVERAL
    labels = {_row(scale.place(tick)): short(tick) for tick in scale.ticks()}
    first, last = (str(replays[0].turns[place].turn) for place in (0, -1))
    foot = first.ljust(max(len(first) + 1, drawn - len(last))) + last if drawn > 1 else first
    legend = ", ".join([*(f"{LOOKS[name][0]} {name}" for name in curves), f"{_SEVERAL} several of them"])
    return [
        "input tokens a turn, by turn:",
        *(f"{labels.get(number, ''):>{_LABEL - 1}} |{''.join(row)}".rstrip() for number, row in enumerate(rows)),
        f"{'':{_LABEL}}+{'-' * drawn}",
        f"{'':{_LABEL}} {foot}",
        *textwrap.wrap(legend, max(_NARROWEST, width)),
    ]


def _row(place: float) -> int:
    return min(_ROWS - 1, max(0, round((1 - place) * (_ROWS - 1))))


def svg(replays: Sequence[Replayed], title: str) -> str:
    """The document. Its height axis is logarithmic, as it says; a replay has one turn at least."""
    curves = {replayed.policy: curve(replayed, _POINTS) for replayed in replays}
    scale = Scale.over(curves.values())
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<g font-family="{escape(_FONT)}" font-size="13" fill="{_INK}">',
        f'<text x="{_LEFT}" y="28" font-size="17" font-weight="600">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="50">input tokens a turn, on a logarithmic scale; simulated</text>',
        f'<line x1="{_LEFT}" y1="{_BASE}" x2="{_RIGHT}" y2="{_BASE}" stroke="{_INK}"/>',
        f'<text x="{(_LEFT + _RIGHT) / 2:g}" y="{_BASE + 44}" text-anchor="middle">turn</text>',
    ]
    for tick in scale.ticks():
        y = _height(scale, tick)
        out.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}" stroke="{_FAINT}"/>')
        out.append(f'<text x="{_LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{short(tick)}</text>')
    turns = replays[0].turns
    for place in sorted({round(part * (len(turns) - 1) / 4) for part in range(5)}):
        x = _across(place, len(turns))
        out.append(f'<text x="{x:.1f}" y="{_BASE + 22}" text-anchor="middle">{turns[place].turn}</text>')
    for number, (name, values) in enumerate(curves.items()):
        out += _line(name, values, scale, _LEFT + number * 150)
    return "\n".join([*out, "</g>", "</svg>", ""])


def _line(name: str, values: list[float], scale: Scale, x: int) -> Iterator[str]:
    """A policy's curve, and its place in the legend."""
    _, colour, dash = LOOKS[name]
    look = f'fill="none" stroke="{colour}" stroke-width="2.2" stroke-linejoin="round" stroke-dasharray="{dash}"'
    places = [f"{_across(n, len(values)):.1f},{_height(scale, value):.1f}" for n, value in enumerate(values)]
    # a line of one turn would be invisible: it gets a second end
    places += [f"{_LEFT + 6},{_height(scale, values[0]):.1f}"] if len(values) == 1 else []
    yield f'<polyline points="{" ".join(places)}" {look}/>'
    yield f'<line x1="{x}" y1="72" x2="{x + 34}" y2="72" {look}/>'
    yield f'<text x="{x + 42}" y="77">{escape(name)}</text>'


def _across(place: int, count: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (place / (count - 1) if count > 1 else 0)


def _height(scale: Scale, value: float) -> float:
    return _BASE - (_BASE - _TOP) * scale.place(value)
