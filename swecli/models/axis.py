"""Ticks of the axes of charts."""

from __future__ import annotations

import math


def evenly_spaced(count: int, limit: int) -> list[int]:
    """Return at most `limit` (at least two) of the numbers below `count`, evenly spread, first and last included."""
    steps = max(1, min(count, limit) - 1)
    return sorted({round(step * (count - 1) / steps) for step in range(steps + 1)})


def round_ticks(maximum: float, min_step: float = 0.0) -> list[float]:
    """Return three to five amounts from 0 to `maximum` (above 0) or the next one, multiples of 1, 2 or 5 times a power
    of ten: `round_ticks(7)` is 0, 2, 4, 6, 8. They are at least `min_step` apart, and fewer where that needs it."""
    target = max(maximum / 4, min_step)
    power = 10.0 ** math.floor(math.log10(target))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= target)
    steps = math.ceil(round(maximum / step, 9))  # 0.6 / 0.2 is a little less than 3
    return [number * step for number in range(steps + 1)]
