"""Amounts in US dollars as text."""

from __future__ import annotations

from swecli.models.counts import pluralize


def format_spent(cost: float | None, known: float, unpriced: int) -> str:
    """Format what requests cost together: the `known` part, and how many have no known price, if `cost` is None."""
    if cost is not None:
        return format_dollars(cost)
    if not known:
        return "unknown"
    return f"{format_dollars(known)} + {pluralize(unpriced, 'request')} unknown"


def format_dollars(cost: float | None) -> str:
    """Format US dollars; None is "unknown", never "$0.00"."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"
