"""The price of a request: a model's in litellm's local table, or relative units if it has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from swecli.llm.price_table import cost_of, row_of
from swecli.models.message import Usage

# Price of each kind of token relative to an input token, typical of several providers.
RELATIVE = {
    "input_cost_per_token": 1.0,
    "cache_creation_input_token_cost": 1.25,
    "cache_read_input_token_cost": 0.1,
    "output_cost_per_token": 5.0,
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one model. `row` has the keys of litellm's table."""

    model: str
    unit: Literal["USD", "relative units"]
    row: Mapping[str, Any]

    @classmethod
    def of(cls, name: str) -> Prices:
        """Return the prices of the model `provider/name` (or `name`) from litellm's local table, or relative prices."""
        row = row_of(name)
        if cost_of(Usage(input=1, output=1), row) is None:
            return cls(name, "relative units", RELATIVE)
        # only the keys needed: the row is read for each of many thousand requests
        kept, found = tuple(RELATIVE), (row or {}).items()
        used = {
            key: value
            for key, value in found
            if isinstance(value, int | float) and key.startswith(kept)
        }
        return cls(name, "USD", used)

    def cost(self, usage: Usage) -> float:
        return cost_of(usage, self.row) or 0.0

    def per_million(self) -> dict[str, float]:
        """Return the price of a million tokens of each kind, or of one token in relative units, for short prompts."""
        many = 1_000_000 if self.unit == "USD" else 1
        one = {
            name: Usage(**{name: 1}) for name in ("input", "cache_write", "cache_read", "output")
        }
        return {name: round(self.cost(usage) * many, 6) for name, usage in one.items()}
