"""Test how a count that a user typed is read."""

from __future__ import annotations

import pytest

from swecli.models.counts import parse_count
from swecli.models.errors import UsageError


def test_a_count_begins_at_one_and_nothing_is_the_default() -> None:
    assert parse_count("7", 30) == 7
    assert parse_count("", 30) == 30


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", " ", "1234567890"])
def test_what_is_no_count_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a whole number above 0"):
        parse_count(text, 30)
