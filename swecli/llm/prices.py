"""What a request cost, by litellm's local price table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from swecli.llm.tables import model_row, model_table
from swecli.models.message import Usage

_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


def cost_of(usage: Usage, row: Mapping[str, Any] | None) -> float | None:
    """US dollars for the tokens of one request; None where the table has no price.

    Long prompts take the dearer prices of the table (`…_above_200k_tokens`) for the whole request. A cache price
    the table leaves out is the input price; reasoning costs what output costs unless the table says otherwise.
    """
    if not row:
        return None
    suffix = _tier(row, usage.prompt)
    price_in = _price(row, "input_cost_per_token", suffix)
    price_out = _price(row, "output_cost_per_token", suffix)
    if price_in is None or price_out is None:
        return None
    read = _price(row, "cache_read_input_token_cost", suffix)
    write = _price(row, "cache_creation_input_token_cost", suffix)
    reasoning = _price(row, "output_cost_per_reasoning_token", suffix)
    return (
        usage.input * price_in
        + usage.cache_read * (price_in if read is None else read)
        + usage.cache_write * (price_in if write is None else write)
        + usage.output * price_out
        + usage.reasoning * (price_out if reasoning is None else reasoning)
    )


def cost_of_model(usage: Usage, name: str) -> float | None:
    """The same for a model named `provider/name`; reads the table anew (20 ms)."""
    provider, _, model = name.partition("/")
    return cost_of(usage, model_row(model_table(), provider, model))


def limit(row: Mapping[str, Any] | None, *keys: str) -> int | None:
    """The first of the keys that holds a number of tokens; None for none."""
    for key in keys:
        value = (row or {}).get(key)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return None


def _tier(row: Mapping[str, Any], prompt: int) -> str:
    """The suffix of the price keys for a prompt of that many tokens."""
    sizes = [int(found[1]) for key in row if (found := _ABOVE.fullmatch(key))]
    reached = [size for size in sizes if prompt > size * 1000]
    return f"_above_{max(reached)}k_tokens" if reached else ""


def _price(row: Mapping[str, Any], key: str, suffix: str) -> float | None:
    for name in (key + suffix, key):
        value = row.get(name)
        if isinstance(value, int | float):
            return float(value)
    return None
