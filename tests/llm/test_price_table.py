"""Test the table of prices and limits, how a model's row is found or guessed, what a request costs by it, and that
litellm and tiktoken stay offline."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import (
    SHIPPED_TABLE,
    chat_models,
    cost_of,
    find_row,
    guess_row,
    model_table,
    prepare_environment,
    provider_names,
    token_count,
    tokenizer_folder,
)
from swecli.llm.profile import Profile
from swecli.llm.providers.litellm import load_litellm
from swecli.llm.services import HOSTED
from swecli.models.message import Usage

ROOT = Path(__file__).parents[2]
TABLE = model_table()


@pytest.fixture(scope="module")
def litellm() -> Any:
    """Import litellm as the product does, without downloading its tables."""
    return load_litellm()


def test_the_shipped_table_is_the_one_made_of_the_installed_litellm() -> None:
    source = json.loads(SHIPPED_TABLE.read_bytes())["source"]
    if f"litellm {version('litellm')} " not in source:
        pytest.skip(f"made of another version: {source}")
    done = subprocess.run(
        [sys.executable, "scripts/release/models", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_shipped_table_is_small_and_holds_chat_models_only() -> None:
    assert 500_000 < SHIPPED_TABLE.stat().st_size < 2_000_000
    assert {row["mode"] for row in TABLE.values()} == {"chat", "responses"}
    assert not [name for name, row in TABLE.items() if len(row) > 40]


@pytest.mark.slow
def test_the_table_says_of_each_chat_model_what_litellms_own_says(litellm: Any) -> None:
    kinds = [
        Usage(input=input_tokens, cache_read=3, cache_write=5, output=7, reasoning=11)
        for input_tokens in (1_000, 150_000, 250_000, 300_000, 600_000)
    ]
    for name, whole in litellm.model_cost.items():
        row = TABLE.get(name)
        provider = str(whole.get("litellm_provider"))
        if row is None or "tiered_pricing" in whole or "alias_of" in whole:
            continue
        endpoint = Endpoint(name, provider, name, "openai", None, None, "", "", False)
        assert [cost_of(usage, row) for usage in kinds] == [
            cost_of(usage, whole) for usage in kinds
        ]
        ours, theirs = (
            replace(Profile.build(endpoint, each, {}), price={}) for each in (row, whole)
        )
        assert ours == theirs


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


@pytest.mark.parametrize(
    "model", ["claude-opus-4-1", "claude-opus-4-1-20250805", "claude-3-7-sonnet-20250219"]
)
def test_nothing_is_said_of_a_model_older_than_all_known_ones_of_its_family(model: str) -> None:
    assert guess_row("anthropic", model) is None


def test_a_model_between_two_known_ones_is_like_the_older_one() -> None:
    assert {"claude-opus-4-8", "claude-opus-5"} <= set(TABLE)
    found = guess_row("anthropic", "claude-opus-4-9")
    assert found is not None
    assert found[0] == "claude-opus-4-8"


@pytest.mark.parametrize(
    ("provider", "model", "same"),
    [("anthropic", "claude-opus-4.6", "claude-opus-4-6"), ("openai", "gpt-5-4", "gpt-5.4")],
)
def test_a_dot_in_a_version_is_a_hyphen(provider: str, model: str, same: str) -> None:
    found = guess_row(provider, model)
    assert found is not None
    assert found[0] == same


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
    for provider, name in [(one.name, one.default_model) for one in HOSTED if one.default_model]:
        assert name in chat_models(TABLE, provider)
        row = find_row(provider, name.partition("/")[2])
        assert row is not None
        assert row["supports_function_calling"]
        assert row["mode"] == "chat"
        assert row["max_input_tokens"] >= 100_000
        assert row["input_cost_per_token"] > 0
        assert not row.get("deprecation_date")


MODELS = (
    "openai/gpt-4.1",
    "openai/gpt-6.1-sol",
    "anthropic/claude-haiku-4-5",
    "gemini/gemini-2.5-pro",
)


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


def test_the_environment_makes_litellm_use_local_tables_and_production_mode() -> None:
    environ = {"LITELLM_LOCAL_MODEL_COST_MAP": "False"}
    prepare_environment(environ)
    assert {name for name, value in environ.items() if value == "True"} >= {
        "LITELLM_LOCAL_MODEL_COST_MAP",
        "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    }
    assert environ["LITELLM_MODE"] == "PRODUCTION"


def test_every_litellm_variable_for_local_tables_is_set() -> None:
    tables = tokenizer_folder()
    assert tables is not None
    folder = tables.parents[1]
    environ: dict[str, str] = {}
    prepare_environment(environ)
    known = {
        word
        for name in (
            "__init__.py",
            "anthropic_beta_headers_manager.py",
            "litellm_core_utils/get_model_cost_map.py",
        )
        for word in re.findall(
            r"LITELLM_LOCAL_[A-Z_]+", (folder / name).read_text(encoding="utf-8")
        )
    }
    assert known
    assert known <= set(environ)


def test_a_tiktoken_cache_dir_of_the_user_is_kept() -> None:
    environ = {"TIKTOKEN_CACHE_DIR": "/mine"}
    prepare_environment(environ)
    assert environ["TIKTOKEN_CACHE_DIR"] == "/mine"


def test_tiktoken_cache_dir_is_the_folder_with_the_token_tables() -> None:
    tables = tokenizer_folder()
    environ: dict[str, str] = {}
    prepare_environment(environ)
    assert tables is not None
    assert environ["TIKTOKEN_CACHE_DIR"] == str(tables)
    # tiktoken names its cached tables by a hash of their URL.
    assert any(len(path.name) == 40 for path in tables.iterdir())


def test_preparing_the_environment_imports_no_heavy_modules() -> None:
    program = (
        "import sys; from swecli.llm.price_table import prepare_environment; prepare_environment({}); "
        "print([m for m in ('litellm', 'openai', 'httpx', 'pydantic', 'tiktoken') if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


def test_a_revision_at_the_end_of_amazons_names_is_no_other_model() -> None:
    found = guess_row("bedrock", "us.anthropic.claude-sonnet-5-5-v1:0")
    assert found is not None
    assert found[0] == "us.anthropic.claude-sonnet-5-5"
