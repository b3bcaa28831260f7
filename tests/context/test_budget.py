"""Test the output reserve, the safety buffer and the thresholds of a request's limits."""

from __future__ import annotations

import logging

import pytest

from swecli.context import (
    MAX_CONDENSE_THRESHOLD,
    MIN_CONDENSE_THRESHOLD,
    TOKEN_BUFFER_PERCENTAGE,
    allowed_tokens,
    effective_threshold,
)
from swecli.context.budget import request_limit


def test_the_budget_constants_have_the_specified_values() -> None:
    assert (TOKEN_BUFFER_PERCENTAGE, MIN_CONDENSE_THRESHOLD, MAX_CONDENSE_THRESHOLD) == (
        0.1,
        50,
        100,
    )


@pytest.mark.parametrize(
    ("window", "reserve", "allowed"),
    [
        (200_000, None, 171_808),
        (200_000, 8192, 171_808),
        (200_000, 0, 171_808),
        (128_000, 4096, 111_104),
        (100_000, 30_000, 60_000),
        (4_096, None, -4_506),
    ],
)
def test_allowed_tokens_are_ninety_percent_of_the_window_minus_the_reserve(
    window: int, reserve: int | None, allowed: int
) -> None:
    assert allowed_tokens(window, reserve) == allowed
    assert isinstance(allowed_tokens(window, reserve), int)


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        ({}, 75),
        ({"code": -1}, 75),
        ({"code": 50}, 50),
        ({"code": 100}, 100),
        ({"other": 60}, 75),
        ({"code": 60}, 60),
    ],
)
def test_a_profile_uses_its_threshold_or_inherits_the_global_one(
    profiles: dict[str, int], expected: int
) -> None:
    assert effective_threshold(75, profiles, "code") == expected


@pytest.mark.parametrize("wrong", [49, 101, 150, 0, -2])
def test_a_profile_threshold_out_of_range_warns_and_the_global_one_is_used(
    wrong: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert effective_threshold(75, {"code": wrong}, "code") == 75
    assert str(wrong) in caplog.text


def test_the_request_limit_is_at_least_a_quarter_of_the_window() -> None:
    assert request_limit(200_000) == 171_808
    assert request_limit(8_192) == 2_048
    assert request_limit(131_072, 131_072) == 32_768


@pytest.mark.parametrize("window", [None, 0, -1])
def test_an_unknown_window_has_no_request_limit(window: int | None) -> None:
    assert request_limit(window) is None
