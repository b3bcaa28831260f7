"""Test the profile of a model: its output reserve, and the layer that each field comes from."""

from __future__ import annotations

import pytest

from swecli.context.budget import request_limit
from swecli.llm.base import end_of_service
from swecli.llm.endpoints import resolve
from swecli.llm.price_table import model_table, token_count
from swecli.llm.profile import Profile
from tests.support.model_requests import model_for_endpoint

CHAT = {name: row for name, row in model_table().items() if row.get("mode") == "chat"}


def test_no_chat_model_of_the_table_keeps_less_than_half_of_its_window() -> None:
    """Reserving a model's largest possible output refused 155 models and halved the window of 699."""
    shares = {}
    for name, row in CHAT.items():
        window, output = (
            token_count(row, "max_input_tokens", "max_tokens"),
            token_count(row, "max_output_tokens", "max_tokens"),
        )
        if window and window >= 4_000:
            allowed = request_limit(window, Profile(window, output).reserve())
            shares[name] = (allowed or 0) / window
    assert len(shares) > 1_500
    assert min(shares.values()) >= 0.5
    assert not [name for name, share in shares.items() if share <= 0]


@pytest.mark.parametrize(
    ("window", "output", "reserve"),
    [(1_000_000, 128_000, 32_000), (200_000, 64_000, 32_000), (128_000, 128_000, 16_000), (32_000, None, 8_000),
     (8_192, 8_192, 2_048), (None, None, 8_192), (None, 500, 500), (0, 0, 8_192), (3, 9, 1), (4_000, 100, 100)],
)  # fmt: skip
def test_the_reserve_is_at_most_a_quarter_of_the_window(
    window: int | None, output: int | None, reserve: int
) -> None:
    assert Profile(window, output).reserve() == reserve
    assert Profile(window, output).reserve(777) == 777, "the user's setting wins"


def test_each_field_records_its_layer_and_the_highest_layer_is_used() -> None:
    at = resolve("openai/gpt-4.1", {"OPENAI_API_KEY": "k"})
    profile = Profile.build(at, CHAT["gpt-4.1"], {"window": 8_000}).layered(
        {"tools": False}, "learned"
    )
    assert (profile.window, profile.tools) == (8_000, False)
    assert {
        **profile.origins,
        "window": "probe",
        "tools": "learned",
        "max_output": "table",
    } == profile.origins
    assert "encoding" not in profile.origins


@pytest.mark.parametrize(
    "row",
    [
        {"max_input_tokens": 0},
        {"max_input_tokens": -1},
        {"max_tokens": "many"},
        {"max_input_tokens": True},
        {},
    ],
)
def test_a_row_without_a_usable_window_leaves_it_unknown(row: dict[str, object]) -> None:
    at = resolve("openai/odd", {"OPENAI_API_KEY": "k"})
    assert Profile.build(at, row, {}).window is None
    assert Profile.build(at, row, {}).reserve() == 8_192


def test_an_output_larger_than_the_window_leaves_room_for_the_question() -> None:
    at = resolve("openai/odd", {"OPENAI_API_KEY": "k"})
    profile = Profile.build(at, {"max_input_tokens": 4_096, "max_output_tokens": 1_000_000}, {})
    assert request_limit(profile.window, profile.reserve()) == 4_096 * 9 // 10 - 1_024


@pytest.mark.parametrize(
    ("row", "levels"),
    [
        ({}, ("low", "medium", "high")),
        ({"supports_none_reasoning_effort": True}, ("none", "low", "medium", "high")),
        ({"supports_max_reasoning_effort": True}, ("low", "medium", "high", "max")),
        ({"supports_low_reasoning_effort": False}, ("medium", "high")),
        ({"supports_minimal_reasoning_effort": "yes"}, ("low", "medium", "high")),
        ({"reasoning_effort_levels": ["max", "low"]}, ("low", "max")),
        ({"reasoning_effort_levels": []}, ()),
        ({"reasoning_effort_levels": ["low", "telepathic", 7, None, ["high"]]}, ("low",)),
        ({"reasoning_effort_levels": "high"}, ("low", "medium", "high")),
        ({"reasoning_effort_levels": {"low": 1}}, ("low", "medium", "high")),
        ({"supports_ultra_reasoning_effort": True}, ("low", "medium", "high")),
    ],
)
def test_levels_are_those_of_the_row_and_a_row_of_tomorrow_adds_none_that_is_unknown(
    row: dict[str, object], levels: tuple[str, ...]
) -> None:
    at = resolve("openai/odd", {"OPENAI_API_KEY": "k"})
    assert Profile.build(at, row | {"supports_reasoning": True}, {}).levels == levels


def test_a_model_whose_last_day_has_passed_is_named() -> None:
    ended = model_for_endpoint(resolve("deepseek/deepseek-chat", {}, keyless=True))
    assert "was served until 2026-07-24" in end_of_service(ended)
    served = model_for_endpoint(resolve("deepseek/deepseek-v4-pro", {}, keyless=True))
    assert end_of_service(served) == ""
