"""Test where the ticks of an axis are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from swecli.models.axis import spread


@given(some.integers(1, 1000), some.integers(2, 20))
def test_a_spread_has_the_first_and_the_last_at_nearly_equal_distances(
    count: int, most: int
) -> None:
    found = spread(count, most)
    assert (found[0], found[-1]) == (0, count - 1)
    assert len(found) <= most
    distances = [later - earlier for earlier, later in pairwise(found)]
    assert not distances or max(distances) - min(distances) <= 1
