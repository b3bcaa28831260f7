"""Going round in circles is seen for what it is, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.agent.loop_guard import LoopGuard, fingerprint, times
from swecli.models.message import AskRequest, Decision, ToolCall


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("a", 1),
        ("ab", 1),
        ("aa", 2),
        ("aaa", 3),
        ("abab", 2),
        ("ababab", 3),
        ("abcabc", 2),
        ("abcdabcd", 1),
        ("aab", 1),
    ],
)
def test_cycles_of_up_to_three_calls_are_counted(calls: str, count: int) -> None:
    assert times(list(calls)) == count


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.integers(1, 6))
def test_a_cycle_made_n_times_counts_n_at_least(cycle: list[str], n: int) -> None:
    assert times(cycle * n) >= n


def test_the_order_of_arguments_makes_no_difference_and_the_result_does() -> None:
    one = ToolCall("1", "t", {"a": 1, "b": 2})
    other = ToolCall("2", "t", {"b": 2, "a": 1})
    assert fingerprint(one, "x") == fingerprint(other, "x")
    assert fingerprint(one, "x") != fingerprint(one, "y")


def test_polling_that_brings_news_is_no_circle() -> None:
    guard = LoopGuard()
    assert [guard.take(ToolCall(str(n), "status"), f"step {n}") for n in range(9)] == [""] * 9


async def test_the_model_is_told_then_the_user_is_asked() -> None:
    asked: list[AskRequest] = []

    async def ask(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(False)

    guard, on = LoopGuard(), []
    notes = []
    for n in range(3):
        notes.append(guard.take(ToolCall(f"c{n}", "ls"), "same"))
        on.append(await guard.going_on(ask))
    assert [bool(note) for note in notes] == [False, True, True]
    assert "call c0 again" in notes[1]
    assert on == [True, True, False]
    assert len(asked) == 1
