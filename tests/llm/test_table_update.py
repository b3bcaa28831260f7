"""Test that the table of prices and limits can be fetched, says what changed, and cannot be damaged by what is sent."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.config.settings import Settings
from swecli.llm.price_table import (
    TABLE_HEAD,
    cost_of,
    fetched_table_path,
    find_row,
    guess_row,
    model_table,
    shipped_table,
)
from swecli.llm.public_json import fetch_object
from swecli.llm.registry import make_model
from swecli.llm.table_update import ADDRESS_VARIABLE, TableUpdate, read_rows, update_table
from swecli.models.errors import ModelNotFound, Unavailable
from swecli.models.message import Usage
from tests.llm.test_openrouter_list import serving

SHIPPED = shipped_table()
NEW = {
    "litellm_provider": "openai",
    "mode": "chat",
    "max_input_tokens": 777_000,
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 2e-6,
}


def update(rows: dict[str, Any]) -> TableUpdate:
    """Fetch a table that has these rows beside the shipped ones."""
    with serving(json.dumps(SHIPPED | rows).encode()) as (_, environ):
        base = environ["OPENROUTER_BASE_URL"]
        return update_table(environ | {ADDRESS_VARIABLE: f"{base}/prices.json"})


def test_a_fetched_table_is_used_and_its_changes_are_named() -> None:
    cheaper = SHIPPED["gpt-4.1"] | {"input_cost_per_token": 1e-7}
    done = update({"gpt-99": NEW, "gpt-4.1": cheaper})
    assert (done.added, done.removed, done.changed) == (("gpt-99",), (), ("gpt-4.1",))
    assert find_row("openai", "gpt-99") == NEW
    assert find_row("openai", "gpt-4.1") == cheaper
    assert find_row("anthropic", "claude-haiku-4-5") == SHIPPED["claude-haiku-4-5"]
    assert update({"gpt-4.1": cheaper}).removed == ("gpt-99",)


def test_a_name_that_ten_others_begin_with_is_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    names = {f"gpt-99-{end}": NEW | {"max_input_tokens": 5_000} for end in "abcdefghij"}
    update(names | {"gpt-99": NEW})
    assert make_model("gpt-99", Settings(), os.environ).profile.window == 777_000
    assert find_row("openai", "gpt-9") is None
    with pytest.raises(ModelNotFound, match=r"no model 'gpt-99-'"):
        make_model("gpt-99-", Settings(), os.environ)


@pytest.mark.parametrize("window", [0, -5, "many", None, True, 1e400])
def test_a_window_that_is_none_is_unknown(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    update({"gpt-99": NEW | {"max_input_tokens": window}})
    profile = make_model("openai/gpt-99", Settings(), os.environ).profile
    assert profile.window is None
    assert profile.reserve() > 0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_none_makes_the_cost_unknown(price: float) -> None:
    update({"gpt-99": NEW | {"input_cost_per_token": price}})
    assert cost_of(Usage(10, 0, 0, 10, 0), find_row("openai", "gpt-99")) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1_000],
        lambda whole: b"<html>",
        lambda whole: whole.replace(b'"version": 2,', b'"version": 3,'),
        lambda whole: whole.replace(b'"max_input_tokens": 777000', b'"max_input_tokens": 777000 oops'),
        lambda whole: b"\xff" * 5_000,
        lambda whole: TABLE_HEAD + b' "models": [1]}',
        lambda whole: TABLE_HEAD + b' "rows": {}}',
    ],
    ids=["empty", "cut off", "page", "future", "inside", "bytes", "list", "no rows"],
)  # fmt: skip
def test_a_damaged_or_newer_table_gives_way_to_the_installed_one(
    damage: Callable[[bytes], bytes],
) -> None:
    update({"gpt-99": NEW})
    path = fetched_table_path()
    path.write_bytes(damage(path.read_bytes()))
    assert find_row("openai", "gpt-99") is None
    assert find_row("openai", "gpt-4.1") == SHIPPED["gpt-4.1"]
    assert model_table()["gpt-4.1"] == SHIPPED["gpt-4.1"]


def test_a_table_that_is_older_than_the_installed_one_is_not_used() -> None:
    update({"gpt-99": NEW})
    os.utime(fetched_table_path(), (0, 0))
    assert find_row("openai", "gpt-99") is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>log in</html>", "is not JSON"),
        (b"[]", "of another shape"),
        (b"{}", "sent 0 models"),
        (json.dumps({"gpt-99": NEW, "x": 7, "y": {}}).encode(), "sent 1 models"),
        (b"[" * 200_000, "is not JSON"),
        (b" " * (33 << 20), "more than 32 MiB"),
    ],
    ids=["page", "array", "empty", "few", "deep", "large"],
)
def test_what_is_not_a_table_is_refused_in_one_line_and_not_stored(body: bytes, said: str) -> None:
    with serving(body) as (_, environ), pytest.raises(Unavailable, match=said) as caught:
        update_table(environ | {ADDRESS_VARIABLE: environ["OPENROUTER_BASE_URL"]})
    assert "\n" not in str(caught.value.message)
    assert not fetched_table_path().exists()


def test_a_server_that_never_answers_is_given_up() -> None:
    with serving(b"{}", is_silent=True) as (_, environ), pytest.raises(Unavailable) as caught:
        fetch_object(environ["OPENROUTER_BASE_URL"], seconds=0.2, max_bytes=10)
    assert "sent no list within 0.2 s" in caught.value.message


def test_without_a_network_there_is_one_line() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    with pytest.raises(Unavailable, match="cannot be read .*refused"):
        fetch_object(url, seconds=5, max_bytes=10)
    with pytest.raises(Unavailable, match="not an http address"):
        fetch_object("file:///etc/passwd", seconds=5, max_bytes=10)


def test_prices_by_the_size_of_a_prompt_are_read_from_both_forms() -> None:
    tiers = [
        {"range": [0, 32_000.0], "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
        {"range": [32_000.0, 1e6], "input_cost_per_token": 3e-6, "output_cost_per_token": 4e-6},
    ]
    row = {"litellm_provider": "dashscope", "mode": "chat", "tiered_pricing": tiers}
    found = read_rows({"dashscope/qwen-99": row})["dashscope/qwen-99"]
    assert cost_of(Usage(input=32_000, output=1), found) == pytest.approx(0.032 + 2e-6)
    assert cost_of(Usage(input=32_001, output=1), found) == pytest.approx(0.096003 + 4e-6)


@pytest.mark.parametrize("tiers", [7, [7], [{}], [{"range": []}], [{"range": "many"}]])
def test_prices_by_size_that_cannot_be_read_are_none(tiers: Any) -> None:
    row = {"litellm_provider": "dashscope", "mode": "chat"}
    assert read_rows({"dashscope/qwen-99": row | {"tiered_pricing": tiers}}) == {
        "dashscope/qwen-99": row
    }


def test_another_name_of_a_model_has_its_row() -> None:
    rows = read_rows(
        {"gpt-99": NEW, "openai/gpt-latest": {"alias_of": "gpt-99"}, "x": {"alias_of": 1}}
    )
    assert rows == {"gpt-99": NEW, "openai/gpt-latest": NEW}


@pytest.mark.parametrize("date", ["20269999", "20260230", "2026-13-01", "2026-99", "20000000"])
def test_a_date_that_is_no_date_is_a_part_of_the_name(date: str) -> None:
    assert guess_row("anthropic", f"claude-opus-5-{date}") is None
    assert guess_row("anthropic", "claude-opus-5-20260228") is not None


def test_the_folder_of_the_table_may_be_missing(own_home: Path) -> None:
    assert not (own_home / "swecli").exists()
    assert find_row("openai", "gpt-4.1") == SHIPPED["gpt-4.1"]
