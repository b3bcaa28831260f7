"""What a replayed request costs: a model's own prices, or relative units where none are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from swecli.llm.price_table import cost_of, find_row, limit, owner_of
from swecli.models.message import Usage

Unit = Literal["USD", "relative units"]

# A token of each kind beside a token of input, as several providers bill them.
RELATIVE = {
    "input_cost_per_token": 1.0,
    "cache_creation_input_token_cost": 1.25,
    "cache_read_input_token_cost": 0.1,
    "output_cost_per_token": 5.0,
}
_USED = tuple(RELATIVE)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one model. `row` holds the keys of litellm's table; `context_window` and `max_output` are in
    tokens, None if unknown."""

    model: str
    unit: Unit
    row: Mapping[str, Any]
    context_window: int | None = None
    max_output: int | None = None

    @property
    def writes(self) -> bool:
        """Whether what is put into the cache is billed apart from plain input."""
        return "cache_creation_input_token_cost" in self.row

    def cost(self, usage: Usage) -> float:
        """The price of one request."""
        return cost_of(usage, self.row) or 0.0

    def per_million(self) -> dict[str, float]:
        """The price of a million tokens of each kind, or how many units one token is; long prompts may cost more."""
        many = 1_000_000 if self.unit == "USD" else 1
        one = {name: Usage(**{name: 1}) for name in ("input", "cache_write", "cache_read", "output")}
        return {name: round(self.cost(usage) * many, 6) for name, usage in one.items()}


def prices_of(name: str) -> Prices:
    """The prices of the model `provider/name` (or `name`) by litellm's local table; relative ones where it has none."""
    provider, slash, model = name.partition("/")
    if not slash:
        provider, model = owner_of(name) or "", name
    row = find_row(provider, model)
    sizes = (limit(row, "max_input_tokens", "max_tokens"), limit(row, "max_output_tokens", "max_tokens"))
    if cost_of(Usage(input=1, output=1), row) is None:
        return Prices(name, "relative units", RELATIVE, *sizes)
    # only what is looked at: it is looked at once for each of many thousand requests
    used = {
        key: value for key, value in (row or {}).items() if isinstance(value, int | float) and key.startswith(_USED)
    }
    return Prices(name, "USD", used, *sizes)
