"""Test formatting numbers for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.actions.builtin.context import _format_bar
from swecli.repl.render.formatting import format_age, format_dollars, format_tokens, percent


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


def test_ages_are_given_in_seconds_minutes_hours_days_or_as_a_date() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    expected = [format_age(now - timedelta(seconds=s), now) for s in (5, 65, 7200, 90_000, 300_000)]
    assert expected == ["5 s ago", "1 min ago", "2 h ago", "1 day ago", "2026-03-07"]


def test_the_age_of_a_future_time_is_zero_and_a_time_without_zone_is_utc() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert format_age(now + timedelta(hours=1), now) == "0 s ago"
    assert format_age(datetime(2026, 3, 10, 11, 59), now) == "1 min ago"
