"""Test that costs are computed from litellm's local table and equal litellm's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.price_table import cost_of, find_row, model_table, token_count
from swecli.llm.providers.litellm import load_litellm
from swecli.models.message import Usage

TABLE = model_table()
MODELS = (
    "openai/gpt-4.1",
    "openai/gpt-6.1-sol",
    "anthropic/claude-haiku-4-5",
    "gemini/gemini-2.5-pro",
)


@pytest.fixture(scope="module")
def litellm() -> Any:
    """Import litellm as the product does, without downloading its tables."""
    return load_litellm()


@pytest.mark.slow  # imports litellm
@pytest.mark.parametrize(
    "name",
    [*MODELS, "gemini/gemini-3.8-flash", "anthropic/claude-sonnet-5-5", "groq/openai/gpt-oss-120b"],
)
@pytest.mark.parametrize("size", [1_000, 250_000, 400_000])
def test_the_cost_equals_the_cost_that_litellm_computes(litellm: Any, name: str, size: int) -> None:
    provider, _, model = name.partition("/")
    usage = Usage(input=size, cache_read=2_000, output=300, reasoning=200)
    theirs = litellm.Usage(
        prompt_tokens=usage.prompt,
        completion_tokens=500,
        total_tokens=usage.total,
        prompt_tokens_details={"cached_tokens": 2_000},
        completion_tokens_details={"reasoning_tokens": 200, "text_tokens": 300},
    )
    expected = sum(
        litellm.cost_per_token(model=model, custom_llm_provider=provider, usage_object=theirs)
    )
    assert cost_of(usage, find_row(provider, model)) == pytest.approx(expected)


def test_a_prompt_above_200k_tokens_is_charged_at_the_higher_price() -> None:
    row = TABLE["gemini/gemini-2.5-pro"]
    assert cost_of(Usage(input=200_000), row) == pytest.approx(
        200_000 * row["input_cost_per_token"]
    )
    assert cost_of(Usage(input=200_001), row) == pytest.approx(
        200_001 * row["input_cost_per_token_above_200k_tokens"]
    )


def test_the_cost_is_unknown_if_the_price_is_unknown() -> None:
    assert cost_of(Usage(input=5), None) is None
    assert cost_of(Usage(input=5), {"input_cost_per_token": 1e-6}) is None
    assert cost_of(Usage(input=5), find_row("openai", "nonesuch")) is None


def test_a_price_of_zero_gives_a_cost_of_zero() -> None:
    assert (
        cost_of(Usage(input=5), {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}) == 0.0
    )


def test_cache_writes_are_charged_at_their_price_in_the_table() -> None:
    row = TABLE["claude-haiku-4-5"]
    assert cost_of(Usage(cache_write=1000), row) == pytest.approx(
        1000 * row["cache_creation_input_token_cost"]
    )


def test_token_count_is_the_first_number_of_the_given_columns_or_zero() -> None:
    assert token_count({"a": "x", "b": 5.0}, "a", "b") == 5
    assert token_count({"a": 0}, "a") == 0
    assert token_count(None, "a") == 0


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**6), st.sampled_from(MODELS))
def test_more_tokens_never_cost_less(one: int, other: int, output: int, name: str) -> None:
    provider, _, model = name.partition("/")
    row = find_row(provider, model)
    small, large = sorted((one, other))
    cheap, dear = (
        cost_of(Usage(input=small, output=output), row),
        cost_of(Usage(input=large, output=output), row),
    )
    assert cheap is not None
    assert dear is not None
    assert 0 <= cheap <= dear
