"""Lay out the bar charts of pages: chart.html draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from swecli.models.axis import round_ticks, spread
from swecli.models.counts import format_tokens

_MOST_NAMES = 6  # below a chart: as many dates as a phone has room for


@dataclass(frozen=True, slots=True)
class Bar:
    name: str  # on the axis below
    amount: float
    part: float  # of the amount: has a color of its own
    hint: str  # of its figures, shown under the pointer


@dataclass(frozen=True, slots=True)
class Tick:
    at: float  # percent of the width or height
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars as wide as each other between two axes."""

    title: str
    note: str  # behind the title of the caption
    color: str  # class of the bars in style.css
    bars: Sequence[Bar]
    up: Sequence[Tick]  # the axis of amounts, from 0
    top: float  # amount at the end of that axis
    along: Sequence[Tick]  # names of the first, the last and some other bars

    def height(self, amount: float) -> float:
        """Return the height of an amount in percent of the chart."""
        return 100 * amount / self.top


def _token_labels(amounts: Sequence[float]) -> list[str]:
    return [format_tokens(round(amount)) for amount in amounts]


def _dollar_labels(amounts: Sequence[float]) -> list[str]:
    """Label amounts, of which the second is the distance of all, with as many digits as that needs; cents are two."""
    digits = math.ceil(-math.log10(amounts[1]))
    if digits > 0:
        digits = max(2, digits)
    return [f"${amount:,.{max(0, digits)}f}" for amount in amounts]


@dataclass(frozen=True, slots=True)
class Unit:
    """What the bars of a chart count."""

    color: str  # class of the bars in style.css
    least: float  # distance of two ticks
    labels: Callable[[Sequence[float]], list[str]]


TOKENS = Unit("sent", 1.0, _token_labels)
DOLLARS = Unit("used", 0.0, _dollar_labels)


def make_chart(unit: Unit, title: str, note: str, bars: Sequence[Bar]) -> Chart | None:
    """Return a chart; None if all bars are 0."""
    largest = max((bar.amount for bar in bars), default=0)
    if not largest:
        return None
    amounts = round_ticks(largest, unit.least)
    top = amounts[-1]
    heights = [100 * amount / top for amount in amounts]
    up = [Tick(at, label) for at, label in zip(heights, unit.labels(amounts), strict=True)]
    return Chart(title, note, unit.color, bars, up, top, _name_bars(bars))


def _name_bars(bars: Sequence[Bar]) -> list[Tick]:
    count = len(bars)
    return [Tick(100 * (at + 0.5) / count, bars[at].name) for at in spread(count, _MOST_NAMES)]
