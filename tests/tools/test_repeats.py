"""Test detecting repeated calls, without false alarms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.approval import AskRequest, Decision
from swecli.models.message import ToolCall
from swecli.tools.repeats import MAX_SAME_CALLS, LoopGuard, find_cycle, fingerprint


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
        ("abcdabcd", 2),
        ("abcdefabcdefabcdef", 3),
        ("abcdefgabcdefg", 1),
        ("aab", 1),
    ],
)
def test_cycles_of_up_to_six_calls_are_counted(calls: str, count: int) -> None:
    assert find_cycle(list(calls))[1] == count


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(1, 6))
@pytest.mark.slow
def test_a_cycle_repeated_n_times_counts_at_least_n(cycle: list[str], n: int) -> None:
    assert find_cycle(cycle * n)[1] >= n


def test_a_fingerprint_depends_on_the_result_and_not_on_the_order_of_arguments() -> None:
    one = ToolCall("1", "t", {"a": 1, "b": 2})
    other = ToolCall("2", "t", {"b": 2, "a": 1})
    assert fingerprint(one, "x") == fingerprint(other, "x")
    assert fingerprint(one, "x") != fingerprint(one, "y")


async def test_polling_with_changing_results_asks_the_user_every_ten_calls() -> None:
    asked: list[str] = []

    async def ask(request: AskRequest) -> Decision:
        asked.append(request.preview.body)
        return Decision(True)

    guard = LoopGuard()
    for n in range(3 * MAX_SAME_CALLS):
        guard.begin_reply()
        assert guard.record(ToolCall(str(n), "status"), f"step {n}") == ""
        assert await guard.may_continue(ask)
    assert asked == ["status was called 10 times in a row with the same arguments."] * 3


async def test_the_approval_for_a_cycle_names_its_calls() -> None:
    asked: list[str] = []

    async def ask(request: AskRequest) -> Decision:
        asked.append(request.preview.body)
        return Decision(False)

    guard = LoopGuard()
    for _ in range(3):
        for name in ("read_file", "list_files", "search_files", "read_file"):
            guard.begin_reply()
            guard.record(ToolCall("x", name, {"of": name}), "same")
    assert not await guard.may_continue(ask)
    assert asked == [
        "The same 4 calls (read_file, list_files, search_files) were made 3 times with the same results."
    ]


async def test_equal_calls_of_one_reply_count_once() -> None:
    guard = LoopGuard()
    for n in range(5):
        guard.record(ToolCall(str(n), "ls"), "same")
    assert len(guard.fingerprints) == 1


async def test_repeated_calls_notify_the_model_before_the_user_is_asked() -> None:
    asked: list[AskRequest] = []

    async def ask(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(False)

    guard, on = LoopGuard(), []
    notes = []
    for n in range(3):
        guard.begin_reply()
        notes.append(guard.record(ToolCall(f"c{n}", "ls"), "same"))
        on.append(await guard.may_continue(ask))
    assert [bool(note) for note in notes] == [False, True, True]
    assert "call c0 again" in notes[1]
    assert on == [True, True, False]
    assert len(asked) == 1


async def test_waiting_is_no_loop() -> None:
    async def ask(request: AskRequest) -> Decision:
        raise AssertionError(request.summary)

    guard = LoopGuard()
    for n in range(5):
        guard.begin_reply()
        waiting = ToolCall(f"w{n}", "read_result", {"call_id": "job-1"})
        assert guard.record(waiting, "job-1: running", is_waiting=True) == ""
        guard.begin_reply()
        slow = ToolCall(f"s{n}", "run_command", {"command": "sleep 1; cat s"}, duration_ms=1010)
        assert guard.record(slow, "not yet") == ""
        assert await guard.may_continue(ask)


async def test_where_nobody_can_be_asked_the_model_is_warned_once_before_the_end() -> None:
    async def ask(request: AskRequest) -> Decision:
        return Decision(False, by="headless")

    guard, notes, on = LoopGuard(), [], []
    for n in range(6):
        guard.begin_reply()
        notes.append(guard.record(ToolCall(f"c{n}", "ls"), "same"))
        on.append(await guard.may_continue(ask))
    assert on == [True] * 5 + [False]
    assert "one more round ends this run" in notes[3]
