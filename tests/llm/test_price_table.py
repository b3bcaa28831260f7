"""Test reading litellm's price tables from disk without importing litellm."""

from __future__ import annotations

import re
from typing import Any

import pytest

from swecli.llm.endpoints import KEYED
from swecli.llm.price_table import chat_models, find_row, guess_row, model_table, provider_names
from swecli.llm.providers.litellm import load_litellm

TABLE = model_table()


@pytest.fixture(scope="module")
def litellm() -> Any:
    """Import litellm as the product does, without downloading its tables."""
    return load_litellm()


@pytest.mark.slow
def test_the_table_on_disk_is_the_one_litellm_uses(litellm: Any) -> None:
    for name in ("gpt-4.1", "claude-haiku-4-5", "gemini/gemini-2.5-pro"):
        assert (
            TABLE[name]["input_cost_per_token"] == litellm.model_cost[name]["input_cost_per_token"]
        )


def test_rows_are_found_with_and_without_the_provider_in_their_key() -> None:
    assert find_row("openai", "gpt-4.1") == TABLE["gpt-4.1"]
    assert find_row("gemini", "gemini-2.5-pro") == TABLE["gemini/gemini-2.5-pro"]


def test_a_row_of_another_provider_is_not_taken() -> None:
    assert find_row("ollama", "gpt-4.1") is None
    assert find_row("openai", "nonesuch") is None


def test_rows_are_found_by_provider_and_name() -> None:
    for name in TABLE:
        provider = str(TABLE[name].get("litellm_provider"))
        if provider in ("openai", "anthropic", "gemini", "mistral", "deepseek"):
            assert find_row(provider, name.removeprefix(f"{provider}/")) is not None


def test_a_name_without_provider_is_found_with_its_provider() -> None:
    for name, provider in (("gpt-4.1", "openai"), ("claude-haiku-4-5", "anthropic")):
        assert (find_row("", name) or {})["litellm_provider"] == provider
    assert find_row("", "nonesuch") is None


@pytest.mark.parametrize(
    ("provider", "model", "like"),
    [
        ("anthropic", "claude-opus-5-20260801", "claude-opus-5"),
        ("openai", "gpt-5.4-mini-2027-01-01", "gpt-5.4-mini"),
        ("openai", "nonesuch", None),
        ("openai", "gpt", None),
    ],
)
def test_a_dated_name_is_like_the_one_without_its_date(
    provider: str, model: str, like: str | None
) -> None:
    found = guess_row(provider, model)
    assert (found and found[0]) == like


@pytest.mark.parametrize(
    ("provider", "model", "family"),
    [
        ("openai", "gpt-99", r"gpt-\d+(\.\d+)?"),
        ("openai", "gpt-99-codex", r"gpt-\d+(\.\d+)?-codex"),
        ("anthropic", "claude-sonnet-99", r"claude-sonnet-\d+(-\d+)?"),
        ("anthropic", "claude-haiku-9-9-20991231", r"claude-haiku-\d+(-\d+)?"),
    ],
)
def test_a_newer_name_is_like_the_newest_of_its_family(
    provider: str, model: str, family: str
) -> None:
    found = guess_row(provider, model)
    assert found is not None
    like, row = found
    assert re.fullmatch(family, like)
    versions = [
        [int(number) for number in re.findall(r"\d+", name)]
        for name in chat_models(TABLE, provider)
        if re.fullmatch(f"{provider}/{family}", name)
    ]
    assert [int(number) for number in re.findall(r"\d+", like)] == max(versions)
    resembled = dict(find_row(provider, like) or {})
    resembled.pop("deprecation_date", None)  # the end of that model is not the end of this one
    assert row == resembled


def test_a_dot_in_a_version_is_a_decimal_point() -> None:
    named = [re.fullmatch(r"xai/grok-(\d+(\.\d+)?)", name) for name in chat_models(TABLE, "xai")]
    numbers = [float(name[1]) for name in named if name]
    assert 4.2 in numbers, "grok-4.20, which is older than grok-4.3"
    found = guess_row("xai", "grok-99")
    assert found is not None
    assert found[0] == f"grok-{max(numbers)}"


def test_all_providers_are_listed() -> None:
    assert {
        "openai",
        "anthropic",
        "gemini",
        "groq",
        "bedrock",
        "azure",
        "ollama",
    } <= provider_names()


def test_default_models_are_chat_models_of_the_table_that_support_tool_calls() -> None:
    for provider, name in [(one.name, one.default_model) for one in KEYED if one.default_model]:
        assert name in chat_models(TABLE, provider)
        row = find_row(provider, name.partition("/")[2])
        assert row is not None
        assert row["supports_function_calling"]
        assert row["mode"] == "chat"
        assert row["max_input_tokens"] >= 100_000
        assert row["input_cost_per_token"] > 0
        assert not row.get("deprecation_date")
