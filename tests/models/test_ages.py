"""Test how the age of something is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from swecli.models.ages import format_age


def test_ages_are_given_in_seconds_minutes_hours_days_or_as_a_date() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    expected = [format_age(now - timedelta(seconds=s), now) for s in (5, 65, 7200, 90_000, 300_000)]
    assert expected == ["5 s ago", "1 min ago", "2 h ago", "1 day ago", "2026-03-07"]


def test_the_age_of_a_future_time_is_zero_and_a_time_without_zone_is_utc() -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert format_age(now + timedelta(hours=1), now) == "0 s ago"
    assert format_age(datetime(2026, 3, 10, 11, 59), now) == "1 min ago"
