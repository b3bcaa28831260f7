"""What may be said of a strategy's effect: intervals by known formulas, and nothing where there is too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import Bullet
from swecli.playbook.effect import UNKNOWN, Share, compared, difference, effects, wilson, with_and_without
from swecli.store.records import TurnRecord


@pytest.mark.parametrize(
    ("good", "known", "low", "high"),
    [(0, 0, 0, 1), (15, 148, 0.0624, 0.1605), (81, 263, 0.2553, 0.3662), (0, 20, 0, 0.1611), (29, 29, 0.8830, 1)],
)  # fmt: skip  # the published examples of Newcombe, Statistics in Medicine 17, 857 (1998), table I
def test_the_interval_is_wilsons(good: int, known: int, low: float, high: float) -> None:
    assert wilson(good, known) == pytest.approx((low, high), abs=5e-4)


def test_the_difference_is_newcombes() -> None:
    # 56/70 against 48/80: Newcombe, Statistics in Medicine 17, 873 (1998), method 10
    assert difference(Share(56, 70), Share(48, 80)) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-4)


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_holds_its_share(good: int, more: int) -> None:
    low, high = wilson(good, good + more)
    assert 0 <= low <= high <= 1
    if good + more:
        assert low - 1e-9 <= good / (good + more) <= high + 1e-9


def test_too_little_is_said_to_be_too_little() -> None:
    assert Share(9, 9).told() == f"9 of 9, {UNKNOWN}"
    assert compared(Share(9, 9), Share(50, 100)) == UNKNOWN
    assert compared(Share(95, 100), Share(50, 100)).endswith("helps")
    assert compared(Share(50, 100), Share(95, 100)).endswith("harms")
    assert compared(Share(5, 10), Share(6, 10)).endswith("no clear effect")
    assert Share(3, 9).to_json() == {"good": 3, "known": 9, "interval": None}


def turn(number: int, good: bool | None, **known: object) -> TurnRecord:
    return TurnRecord("s", number, good=good, **known)  # type: ignore[arg-type]


def test_turns_are_counted_by_what_was_shown_cited_and_withheld() -> None:
    records = [
        *(turn(n, True, shown=("P-1",), cited=("P-1",)) for n in range(10)),
        *(turn(n, False, shown=("P-1",)) for n in range(10, 20)),
        *(turn(n, False, ablation="withheld", withheld=("P-1",)) for n in range(20, 31)),
        *(turn(n, None, shown=("P-1",)) for n in range(31, 33)),
        *(turn(n, False, ablation="off", withheld=("P-1",)) for n in range(33, 43)),
    ]
    [found] = effects([Bullet("P-1", "x")], records)
    assert (found.shown, found.cited, found.withheld) == (22, 10, 11)
    assert (found.when_cited, found.when_shown, found.when_withheld) == (Share(10, 10), Share(10, 20), Share(0, 11))
    assert found.verdict.endswith("helps")
    assert with_and_without(records) == (Share(10, 20), Share(0, 10))
