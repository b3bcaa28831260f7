"""Amounts in US dollars as text."""

from __future__ import annotations


def format_dollars(cost: float | None) -> str:
    """Format US dollars; None is "unknown", never "$0.00"."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"
