"""Prices of three kinds of models, in US dollars per token with the keys of the table, and requests by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from swecli.models.message import Usage
from swecli.models.request_parts import PartSizes
from swecli.store.spending import PaidRequest

# a tenth for what is read from the cache, a quarter more for what is written to it
CACHING = {
    "input_cost_per_token": 3e-06,
    "cache_read_input_token_cost": 3e-07,
    "cache_creation_input_token_cost": 3.75e-06,
    "output_cost_per_token": 1.5e-05,
}
# reasoning has a price of its own
REASONING = {
    "input_cost_per_token": 1.25e-06,
    "cache_read_input_token_cost": 1.25e-07,
    "output_cost_per_token": 1e-05,
    "output_cost_per_reasoning_token": 1.2e-05,
}
# long prompts cost twice as much, and the cache has no price
TIERED = {
    "input_cost_per_token": 1e-06,
    "input_cost_per_token_above_200k_tokens": 2e-06,
    "output_cost_per_token": 4e-06,
    "output_cost_per_token_above_200k_tokens": 6e-06,
}
_START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def paid(
    usage: Usage,
    cost: float | None,
    parts: PartSizes | None = None,
    *,
    minute: float = 0,
    **fields: Any,
) -> PaidRequest:
    """Return a request that was answered in this minute; `fields` are others of it."""
    values: dict[str, Any] = {"model": "a/b", "purpose": "turn", "interaction": 1, "step": 1}
    return PaidRequest(
        **values | fields,
        usage=usage,
        cost=cost,
        parts=parts or {},
        answered_at=_START + timedelta(minutes=minute),
    )
