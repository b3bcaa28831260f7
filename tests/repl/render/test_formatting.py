"""Test formatting numbers for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.actions.context import _format_bar
from swecli.repl.commands.builtin.sessions import _format_age
from swecli.repl.render.formatting import format_dollars, format_tokens, percent


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(None, "unknown"), (0.0, "$0.00"), (0.0042, "$0.0042"), (0.5, "$0.50"), (12.345, "$12.35")],
)
def test_money_is_short_and_unknown_stays_unknown(cost: float | None, expected: str) -> None:
    assert format_dollars(cost) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0"), (999, "999"), (1200, "1.2k"), (48_300, "48k"), (999_600, "1.0M"), (1_300_000, "1.3M")],
)
def test_tokens_are_short(count: int, expected: str) -> None:
    assert format_tokens(count) == expected


@given(st.integers(0, 99_000_000))
def test_tokens_take_at_most_five_characters(count: int) -> None:
    assert len(format_tokens(count)) <= 5


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_bar_has_its_width_and_shows_something_for_something(part: int, whole: int) -> None:
    drawn = _format_bar(part, whole, 10)
    assert len(drawn) == 10
    assert (drawn.count("█") > 0) == (part > 0 and whole > 0)


def test_a_share_of_the_unknown_is_unknown() -> None:
    assert percent(10, None) is None
    assert percent(1, 1000) == 1
    assert percent(0, 1000) == 0


def test_ages_go_from_seconds_to_a_date() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    expected = [_format_age(now - timedelta(seconds=s), now) for s in (5, 65, 7200, 90_000, 300_000)]
    assert expected == ["5 s ago", "1 min ago", "2 h ago", "1 day ago", "2026-03-07"]


def test_a_time_to_come_or_without_zone_is_no_trouble() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert _format_age(now + timedelta(hours=1), now) == "0 s ago"
    assert _format_age(datetime(2026, 3, 10, 11, 59), now) == "1 min ago"
