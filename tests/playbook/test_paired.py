"""Turns without something beside turns with it: each is used once, and little is said to be little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.effect import UNKNOWN
from swecli.playbook.paired import Pairs, without_bullet, without_playbook
from swecli.store.records import TurnRecord


def turn(number: int, good: bool | None, session: str = "s", **known: object) -> TurnRecord:
    return TurnRecord(session, number, good=good, **known)  # type: ignore[arg-type]


def shown(number: int, good: bool | None, session: str = "s") -> TurnRecord:
    return turn(number, good, session, shown=("P-1",))


def off(number: int, good: bool | None, session: str = "s") -> TurnRecord:
    return turn(number, good, session, ablation="off", withheld=("P-1",))


def test_each_turn_without_is_beside_the_one_before_it() -> None:
    records = [shown(1, True), off(2, False), shown(3, False), off(4, True), shown(5, True), off(6, True)]
    assert without_playbook(records) == Pairs(3, 1, 1)


def test_a_turn_takes_part_once_and_what_nobody_knows_not_at_all() -> None:
    records = [shown(1, True), off(2, False), off(3, False), shown(4, None), off(5, None)]
    assert without_playbook(records) == Pairs(1, 1, 0)


def test_turns_of_the_same_session_belong_together_and_sessions_of_one_turn_beside_the_last() -> None:
    own = [shown(1, True, "a"), shown(1, False, "b"), off(2, False, "a")]
    assert without_playbook(own) == Pairs(1, 1, 0)
    singles = [shown(1, True, "a"), shown(1, False, "b"), off(1, True, "c")]
    assert without_playbook(singles) == Pairs(1, 0, 1)


def test_one_strategy_is_compared_where_it_alone_was_withheld() -> None:
    withheld = turn(2, False, ablation="withheld", withheld=("P-1",))
    assert without_bullet([shown(1, True), withheld, off(3, False)], "P-1") == Pairs(1, 1, 0)
    assert without_bullet([shown(1, True), withheld], "P-2") == Pairs()


def test_the_interval_is_agresti_and_mins() -> None:
    # z = 1.96, (12 - 3) / 32 -+ z * sqrt(12 + 3 + 1 - 9 * 9 / 32) / 32
    assert Pairs(30, 12, 3).difference == pytest.approx((0.3, 0.0565, 0.5060), abs=5e-4)
    assert Pairs(30, 12, 3).verdict.endswith("helps")
    assert Pairs(30, 3, 12).verdict.endswith("harms")
    assert Pairs(9, 9, 0).told() == f"9 pairs: {UNKNOWN}"
    assert Pairs(9, 9, 0).to_json()["interval"] is None


@given(st.lists(st.tuples(st.sampled_from([shown, off]), st.sampled_from([True, False, None])), max_size=30))
def test_there_are_no_more_pairs_than_turns_of_either_kind(told: list[tuple[type, bool | None]]) -> None:
    records = [make(number, good) for number, (make, good) in enumerate(told, 1)]
    pairs = without_playbook(records)
    known = [r for r in records if r.good is not None]
    assert pairs.count == min(sum(bool(r.shown) for r in known), sum(r.ablation == "off" for r in known))
    assert pairs.helped + pairs.harmed <= pairs.count
    mean, low, high = pairs.difference
    assert -1 <= low <= high <= 1
    assert -1 <= mean <= 1
