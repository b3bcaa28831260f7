"""Test how the adaptive window chooses its size from the query."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context import adaptive_window_size


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("implement OAuth", 7),
        ("REFACTOR", 7),
        ("please design a new schema for the orders table", 7),
        ("run the tests", 3),
        ("", 3),
        ("why does this function return None here", 5),
    ],
)
def test_keywords_of_the_query_take_precedence_over_its_length(query: str, size: int) -> None:
    assert adaptive_window_size(query) == size


def test_the_size_stays_within_its_bounds() -> None:
    assert adaptive_window_size("implement it", max_size=6) == 6
    assert adaptive_window_size("go", min_size=4) == 4
    assert adaptive_window_size("one two three four five six", default=50) == 10


@given(st.text(), st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
@settings(deadline=None)
def test_any_query_gets_a_size_within_the_bounds(
    query: str, default: int, first: int, second: int
) -> None:
    smallest, largest = sorted((first, second))
    size = adaptive_window_size(query, default, smallest, largest)
    assert smallest <= size <= largest
