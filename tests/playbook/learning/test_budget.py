"""When a model may be asked to reflect, and the reason when not."""

from __future__ import annotations

import pytest

from swecli.models.message import Usage
from swecli.playbook.learning.budget import LEAST, ReflectionBudget, refusal
from swecli.store.records import SessionTotals, Spent


def session(turns: int, reflected: int = 0) -> SessionTotals:
    parts = {"turn": Spent(Usage(input=turns)), "reflect": Spent(Usage(input=reflected))}
    return SessionTotals(Usage(input=turns + reflected), 0.0, 2, parts)


@pytest.mark.parametrize(
    ("turns", "reflected", "tokens", "allowed"),
    [
        (0, 0, LEAST, True),
        (0, 1, LEAST, False),
        (100_000, 0, 15_000, True),
        (100_000, 0, 15_001, False),
        (100_000, 10_000, 5_000, True),
        (100_000, 10_000, 5_001, False),
    ],
)
def test_reflecting_takes_its_share_of_the_sessions_tokens(
    turns: int, reflected: int, tokens: int, allowed: bool
) -> None:
    assert (refusal(ReflectionBudget(), session(turns, reflected), Spent(), tokens, None) == "") is allowed


def test_no_share_is_no_question() -> None:
    assert "0 %" in refusal(ReflectionBudget(0), session(10**6), Spent(), 1, None)


@pytest.mark.parametrize(
    ("today", "worst", "said"),
    [(0.4, 0.1, ""), (0.45, 0.1, "$0.4500 are spent"), (None, 0.1, "not known"), (0.0, None, "not known")],
)
def test_the_cap_of_a_day_is_never_passed(today: float | None, worst: float | None, said: str) -> None:
    found = refusal(ReflectionBudget(15, 0.5), session(10**6), Spent(cost=today), 100, worst)
    assert said in found
    assert bool(found) is bool(said)
