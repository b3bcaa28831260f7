"""litellm's tables are read from disk, without litellm."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm.endpoints import KEYED
from swecli.llm.providers.litellm import load_litellm
from swecli.llm.tables import chat_models, model_row, model_table, provider_names, provider_of

TABLE = model_table()


@pytest.fixture(scope="module")
def litellm() -> Any:
    """The module, imported the way the product does it: without asking the network for its tables."""
    return load_litellm()


def test_the_table_on_disk_is_the_one_litellm_uses(litellm: Any) -> None:
    for name in ("gpt-4.1", "claude-haiku-4-5", "gemini/gemini-2.5-pro"):
        assert TABLE[name]["input_cost_per_token"] == litellm.model_cost[name]["input_cost_per_token"]


def test_rows_are_found_with_and_without_the_provider_in_their_key() -> None:
    assert model_row(TABLE, "openai", "gpt-4.1") is TABLE["gpt-4.1"]
    assert model_row(TABLE, "gemini", "gemini-2.5-pro") is TABLE["gemini/gemini-2.5-pro"]


def test_a_row_of_another_provider_is_not_taken() -> None:
    assert model_row(TABLE, "ollama", "gpt-4.1") is None
    assert model_row(TABLE, "openai", "nonesuch") is None


def test_the_provider_of_a_bare_name_is_known() -> None:
    assert provider_of(TABLE, "gpt-4.1") == "openai"
    assert provider_of(TABLE, "claude-haiku-4-5") == "anthropic"
    assert provider_of(TABLE, "nonesuch") is None


def test_all_providers_are_listed() -> None:
    assert {"openai", "anthropic", "gemini", "groq", "bedrock", "azure", "ollama"} <= provider_names(TABLE)


def test_the_defaults_are_chat_models_of_the_table_that_can_call_tools_in_parallel() -> None:
    for provider, name in [(one.name, one.default_model) for one in KEYED if one.default_model]:
        assert name in chat_models(TABLE, provider)
        row = model_row(TABLE, provider, name.partition("/")[2])
        assert row is not None
        assert row["supports_function_calling"]
        assert row["mode"] == "chat"
        assert row["max_input_tokens"] >= 200_000
