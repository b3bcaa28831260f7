"""Test truncating a conversation, with and without keeping calls and results together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context import loop_window, truncate_conversation
from swecli.context.repair import normalize
from swecli.context.truncate import _LEFT_OUT, truncate_safely
from swecli.models.api_message import calls_of
from tests.support.histories import Message, call, complaint, legal_histories, result

NOTE: Message = {"role": "assistant", "content": _LEFT_OUT}


def make_messages(count: int) -> list[Message]:
    return [{"role": ("user", "assistant")[n % 2], "content": str(n)} for n in range(count)]


def contents(messages: list[Message]) -> list[str]:
    return [m["content"] for m in messages]


@pytest.mark.parametrize(
    ("count", "fraction", "kept"),
    [
        (7, 0.5, "03456"),
        (5, 0.5, "034"),
        (7, 0.3, "0123456"),
        (2, 0.5, "01"),
        (1, 0.5, "0"),
        (0, 0.5, ""),
        (7, 0, "0123456"),
        (7, 1, "0"),
        (8, 1, "07"),
    ],
)
def test_the_first_message_is_kept_and_an_even_number_is_removed(
    count: int, fraction: float, kept: str
) -> None:
    assert "".join(contents(truncate_conversation(make_messages(count), fraction))) == kept


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        truncate_conversation(make_messages(7), fraction)


@given(st.integers(0, 50), st.floats(0, 1))
@settings(deadline=None)
def test_any_truncation_keeps_the_first_and_newest_messages_and_removes_an_even_number(
    count: int, fraction: float
) -> None:
    before = make_messages(count)
    after = truncate_conversation(before, fraction)
    assert (len(before) - len(after)) % 2 == 0
    assert after[:1] == before[:1]
    assert after[1:] == before[len(before) - len(after[1:]) :]


@given(legal_histories(turns=6))
@settings(max_examples=120, deadline=None)
@pytest.mark.slow
def test_safe_truncation_is_valid_and_keeps_the_first_and_last_messages(
    history: list[Message],
) -> None:
    after = truncate_safely(history)
    assert complaint(after) == ""
    assert normalize(after) == after
    users = [m for m in history if m["role"] == "user"]
    kept = [m for m in after if m["role"] == "user"]
    assert after[:2] == history[:2]
    assert kept[0] == users[0]
    assert kept[-1] == users[-1]
    assert after[-1] == history[-1]
    left = iter(history)
    assert all(m in left for m in after if m != NOTE), "the order of kept messages is unchanged"
    assert len(after) < len(history) or after == history


@given(legal_histories(turns=6))
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_repeated_safe_truncation_terminates(history: list[Message]) -> None:
    rounds = 0
    while len(shorter := truncate_safely(history)) < len(history):
        history, rounds = shorter, rounds + 1
    assert truncate_safely(history) == history
    assert rounds < 12
    assert history.count(NOTE) <= 1


def test_safe_truncation_inserts_a_note_between_two_user_messages() -> None:
    asking = {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]}
    later = make_messages(7)[2:]
    history = [*make_messages(1), asking, result("a"), result("b"), make_messages(2)[1], *later]
    assert truncate_safely(history) == [*make_messages(1), NOTE, *later]
    assert truncate_safely(truncate_safely(history)) == [*make_messages(1), NOTE, *later[2:]]


@pytest.mark.parametrize("count", range(1, 40))
def test_safe_truncation_equals_plain_truncation_for_alternating_roles(count: int) -> None:
    assert truncate_safely(make_messages(count)) == truncate_conversation(make_messages(count), 0.5)


def test_safe_truncation_removes_a_tool_call_together_with_its_results() -> None:
    asking = {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b"), call("c")]}
    results = [result("a"), result("b"), result("c")]
    history = [*make_messages(1), asking, *results, {"role": "assistant", "content": "end"}]
    assert truncate_safely(history) == [*make_messages(1), {"role": "assistant", "content": "end"}]


def test_safe_truncation_keeps_the_newest_step_with_a_fraction_of_one() -> None:
    asking = {"role": "assistant", "content": None, "tool_calls": [call("a")]}
    history = [*make_messages(1), asking, result("a")]
    assert truncate_safely(history, 1.0) == history


SYSTEM: Message = {"role": "system", "content": "review"}


def test_the_loop_window_keeps_the_system_message_and_the_last_ten_messages() -> None:
    history = [SYSTEM, *make_messages(24)]
    assert loop_window(history, 6) == [SYSTEM, *make_messages(24)[-10:]]


@pytest.mark.parametrize(("loop", "count"), [(5, 40), (1, 40), (6, 14), (20, 3)])
def test_the_loop_window_keeps_everything_in_early_loops_and_short_histories(
    loop: int, count: int
) -> None:
    history = [SYSTEM, *make_messages(count)]
    assert loop_window(history, loop) == history


def test_the_loop_window_drops_tool_results_without_their_call() -> None:
    asking = {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]}
    history = [SYSTEM, *make_messages(9), asking, result("a"), result("b"), *make_messages(8)]
    assert loop_window(history, 6) == [SYSTEM, *make_messages(8)]


def test_the_loop_window_includes_the_call_if_only_tool_results_would_remain() -> None:
    names = [f"c{n}" for n in range(12)]
    asking = {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]}
    history = [SYSTEM, *make_messages(5), asking, *[result(name) for name in names]]
    assert loop_window(history, 6) == [SYSTEM, *history[6:]]


def test_the_loop_window_with_keep_last_zero_has_only_the_system_message() -> None:
    assert loop_window([SYSTEM, *make_messages(20)], 6, keep_last=0) == [SYSTEM]
    assert loop_window([], 9, more_than=-1) == []


@given(legal_histories(turns=8), st.integers(0, 12), st.integers(0, 15))
@settings(deadline=None)
@pytest.mark.slow
def test_the_loop_window_does_not_separate_tool_calls_from_their_results(
    history: list[Message], loop: int, keep_last: int
) -> None:
    after = loop_window(history, loop, keep_last=keep_last)
    asked = {c["id"] for m in after for c in calls_of(m)}
    answered = {m["tool_call_id"] for m in after if m["role"] == "tool"}
    assert asked == answered
    assert after[0] == history[0]
