"""Test formatting numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.actions.builtin.context import _format_bar
from swecli.models.counts import format_tokens, percent
from swecli.models.money import format_dollars


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(None, "unknown"), (0.0, "$0.00"), (0.0042, "$0.0042"), (0.5, "$0.50"), (12.345, "$12.35")],
)
def test_dollars_are_rounded_and_an_unknown_cost_is_named_unknown(
    cost: float | None, expected: str
) -> None:
    assert format_dollars(cost) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1200, "1.2k"),
        (48_300, "48k"),
        (999_600, "1.0M"),
        (1_300_000, "1.3M"),
    ],
)
def test_token_counts_are_abbreviated(count: int, expected: str) -> None:
    assert format_tokens(count) == expected


@given(st.integers(0, 99_000_000))
def test_token_counts_take_at_most_five_characters(count: int) -> None:
    assert len(format_tokens(count)) <= 5


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_bar_has_a_fixed_width_and_is_empty_only_for_zero(part: int, whole: int) -> None:
    drawn = _format_bar(part, whole, 10)
    assert len(drawn) == 10
    assert (drawn.count("█") > 0) == (part > 0 and whole > 0)


def test_a_percentage_of_an_unknown_total_is_none() -> None:
    assert percent(10, None) is None
    assert percent(1, 1000) == 1
    assert percent(0, 1000) == 0
