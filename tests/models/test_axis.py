"""Test where the ticks of an axis are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from swecli.models.axis import evenly_spaced, round_ticks


@given(some.integers(1, 1000), some.integers(2, 20))
def test_a_spread_has_the_first_and_the_last_at_nearly_equal_distances(
    count: int, most: int
) -> None:
    found = evenly_spaced(count, most)
    assert (found[0], found[-1]) == (0, count - 1)
    assert len(found) <= most
    distances = [later - earlier for earlier, later in pairwise(found)]
    assert not distances or max(distances) - min(distances) <= 1


@pytest.mark.parametrize(
    ("top", "ticks"),
    [
        (80_618, [0, 50_000, 100_000]),
        (100, [0, 50, 100]),
        (0.07, [0, 0.02, 0.04, 0.06, 0.08]),
        (3.6e-6, [0, 1e-6, 2e-6, 3e-6, 4e-6]),
    ],
)
def test_ticks_are_round_and_end_at_or_above_the_largest_amount(
    top: float, ticks: list[float]
) -> None:
    assert round_ticks(top) == pytest.approx(ticks)


@given(some.floats(1e-9, 1e12))
def test_an_axis_has_three_to_five_ticks(top: float) -> None:
    found = round_ticks(top)
    assert 3 <= len(found) <= 5
    assert found[0] == 0
    assert found[-1] >= top * (1 - 1e-9)


def test_counts_have_no_ticks_between_whole_numbers() -> None:
    assert round_ticks(1, min_step=1) == [0, 1]
    assert round_ticks(3, min_step=1) == [0, 1, 2, 3]
