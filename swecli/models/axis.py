"""Ticks of the axes of charts."""

from __future__ import annotations

import math


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` (at least two) of the numbers below `count`, evenly spread, with the first and the last."""
    steps = max(1, min(count, most) - 1)
    return sorted({round(step * (count - 1) / steps) for step in range(steps + 1)})


def round_ticks(top: float, least: float = 0.0) -> list[float]:
    """Return three to five amounts from 0 to `top` (above 0) or the next one, multiples of 1, 2 or 5 times a power
    of ten. They are at least `least` apart, and fewer where that needs it."""
    rough = max(top / 4, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    steps = math.ceil(round(top / step, 9))  # 0.6 / 0.2 is a little less than 3
    return [number * step for number in range(steps + 1)]
