"""Test the types of columns."""

from __future__ import annotations

import math

from swecli.store.tables.columns import Money


def test_a_cost_that_is_not_a_finite_number_is_unknown() -> None:
    assert [Money.clean(x) for x in (0.5, math.nan, math.inf, None)] == [0.5, None, None, None]
