"""Lay out the bar charts of pages: chart.html draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from swecli.models.axis import evenly_spaced, round_ticks
from swecli.models.counts import format_tokens
from swecli.values import dataclass

_ROOM = 42  # characters below a chart: six dates (`11-30`) and the gaps between them, as a phone has room for
_GAP = 2  # characters between two names


@dataclass(frozen=True, slots=True)
class Bar:
    name: str  # on the axis below
    amount: float
    cached: float  # how much of the amount is drawn in the color of the cache
    hint: str  # its figures, which a browser shows under the pointer


@dataclass(frozen=True, slots=True)
class Tick:
    position: float  # percent of the width or height
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars as wide as each other between two axes."""

    title: str
    note: str  # after the title in the caption; "" for none
    color: str  # class of the bars in style.css
    bars: Sequence[Bar]
    amount_ticks: Sequence[Tick]  # of the vertical axis, from 0
    maximum: float  # the amount at the end of that axis
    name_ticks: Sequence[Tick]  # names of the first, the last and some other bars

    def height(self, amount: float) -> float:
        """Return the height of an amount in percent of the chart."""
        return 100 * amount / self.maximum


def _token_labels(amounts: Sequence[float]) -> list[str]:
    return [format_tokens(round(amount)) for amount in amounts]


def _dollar_labels(amounts: Sequence[float]) -> list[str]:
    """Label evenly spaced amounts from 0 with as many decimals as their distance needs, one decimal as two: `$0.50`."""
    digits = math.ceil(-math.log10(amounts[1]))
    if digits > 0:
        digits = max(2, digits)
    return [f"${amount:,.{max(0, digits)}f}" for amount in amounts]


@dataclass(frozen=True, slots=True)
class Unit:
    """What the bars of a chart count."""

    color: str  # class of the bars in style.css
    min_distance: float  # of two ticks
    labels: Callable[[Sequence[float]], list[str]]


TOKENS = Unit("sent", 1.0, _token_labels)
DOLLARS = Unit("used", 0.0, _dollar_labels)


def make_chart(unit: Unit, title: str, note: str, bars: Sequence[Bar]) -> Chart | None:
    """Return a chart; None if all bars are 0."""
    largest = max((bar.amount for bar in bars), default=0)
    if not largest:
        return None
    amounts = round_ticks(largest, unit.min_distance)
    maximum = amounts[-1]
    amount_ticks = [
        Tick(100 * amount / maximum, label)
        for amount, label in zip(amounts, unit.labels(amounts), strict=True)
    ]
    return Chart(
        title=title,
        note=note,
        color=unit.color,
        bars=bars,
        amount_ticks=amount_ticks,
        maximum=maximum,
        name_ticks=_name_ticks(bars),
    )


def _name_ticks(bars: Sequence[Bar]) -> list[Tick]:
    """Return the names that there is room for: all of a short session's turns, else the first, the last and some."""
    count = len(bars)
    longest = max(len(bar.name) for bar in bars)
    most = _ROOM // (longest + _GAP)
    return [
        Tick(100 * (index + 0.5) / count, bars[index].name) for index in evenly_spaced(count, most)
    ]
