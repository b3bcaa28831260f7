"""Amounts in US dollars as text."""

from __future__ import annotations

from swecli.models.counts import pluralize


def format_spent(cost: float | None, known_cost: float, unpriced: int) -> str:
    """Format what requests cost together: at least the `known_cost` part, and of how many the price is not known, if
    `cost` is None."""
    least = format_least(cost, known_cost)
    if cost is not None or not known_cost:
        return least
    return f"{least} (price of {pluralize(unpriced, 'request')} not known)"


def format_least(cost: float | None, known_cost: float) -> str:
    """Format what requests cost together in few words: a `cost` of None is at least the `known_cost` part."""
    if cost is not None:
        return format_dollars(cost)
    return f"at least {format_dollars(known_cost)}" if known_cost else "price not known"


def format_dollars(cost: float | None) -> str:
    """Format US dollars; None is "unknown", never "$0.00"."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"
