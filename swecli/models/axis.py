"""Ticks of the axes of charts."""

from __future__ import annotations


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` (at least two) of the numbers below `count`, evenly spread, with the first and the last."""
    steps = max(1, min(count, most) - 1)
    return sorted({round(step * (count - 1) / steps) for step in range(steps + 1)})
