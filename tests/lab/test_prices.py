"""Test the prices that a replay uses: litellm's local table, or relative units if a model has no price."""

from __future__ import annotations

import pytest

from lab.windows.prices import Prices
from swecli.models.message import Usage


def test_a_known_model_has_prices_in_usd() -> None:
    prices = Prices.of("anthropic/claude-sonnet-4-5")
    assert prices.unit == "USD"
    assert "cache_creation_input_token_cost" in prices.row
    each = prices.per_million()
    assert each["cache_read"] < each["input"] < each["cache_write"] < each["output"]


def test_a_model_is_found_without_its_provider_prefix() -> None:
    assert Prices.of("gpt-4.1").per_million() == Prices.of("openai/gpt-4.1").per_million()
    assert "cache_creation_input_token_cost" not in Prices.of("gpt-4.1").row


def test_requests_above_200k_tokens_use_the_higher_price() -> None:
    row = {
        "input_cost_per_token": 3e-6,
        "input_cost_per_token_above_200k_tokens": 6e-6,
        "output_cost_per_token": 1e-5,
    }
    prices = Prices("some/model", "USD", row)
    assert prices.cost(Usage(input=150_000)) == pytest.approx(0.45)
    assert prices.cost(Usage(input=300_000)) == pytest.approx(1.8)


@pytest.mark.parametrize("name", ["scripted/test", "", "nobody/nothing", "/", "anthropic/"])
def test_costs_of_a_model_without_a_price_are_in_relative_units(name: str) -> None:
    prices = Prices.of(name)
    assert (prices.model, prices.unit) == (name, "relative units")
    assert prices.per_million() == {"input": 1, "cache_write": 1.25, "cache_read": 0.1, "output": 5}
