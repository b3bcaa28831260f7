"""Test truncating a conversation, with and without keeping calls and results together, and the choice between leaving
it unchanged, summarizing it and truncating it once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context import (
    TruncateOptions,
    TruncateResponse,
    loop_window,
    truncate_conversation,
    truncate_conversation_if_needed,
)
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


HISTORY: list[Message] = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": "second"},
    {"role": "user", "content": "third"},
    {"role": "assistant", "content": "fourth"},
    {"role": "user", "content": ""},
]
SHORT: list[Message] = [HISTORY[0], {"role": "assistant", "content": "summary"}, HISTORY[-1]]
Condense = Callable[[TruncateOptions], Awaitable[TruncateResponse]]


def condense_returning(**fields: Any) -> Condense:
    async def condense(make_options: TruncateOptions) -> TruncateResponse:
        given: dict[str, Any] = {
            "messages": SHORT,
            "summary": "What happened.",
            "cost": 0.02,
            "new_context_tokens": 100,
        }
        return TruncateResponse(**(given | fields))

    return condense


def make_options(total: int, **changes: Any) -> TruncateOptions:
    given: dict[str, Any] = {
        "messages": HISTORY,
        "total_tokens": total,
        "context_window": 100_000,
        "max_tokens": 30_000,
        "auto_condense_context": False,
        "count_tokens": len,
    }
    return TruncateOptions(**(given | changes))


async def test_a_conversation_within_the_allowed_tokens_is_unchanged() -> None:
    answer = await truncate_conversation_if_needed(make_options(60_000))
    assert answer == TruncateResponse(messages=HISTORY, prev_context_tokens=60_000)


async def test_a_conversation_over_the_allowed_tokens_is_truncated_once() -> None:
    answer = await truncate_conversation_if_needed(make_options(60_001))
    assert answer == TruncateResponse(
        messages=[HISTORY[0], *HISTORY[3:]], prev_context_tokens=60_001
    )


async def test_the_tokens_of_the_last_message_are_added_to_the_total() -> None:
    heavy = [*HISTORY[:4], {"role": "user", "content": [{"type": "text", "text": "x" * 11}]}]
    answer = await truncate_conversation_if_needed(make_options(59_990, messages=heavy))
    assert answer.prev_context_tokens == 60_001
    assert len(answer.messages) == 3


async def test_an_empty_conversation_stays_empty() -> None:
    answer = await truncate_conversation_if_needed(make_options(70_000, messages=[]))
    assert answer.messages == []


@pytest.mark.parametrize(("total", "condensed"), [(49_999, False), (50_000, True)])
async def test_a_summary_replaces_the_history_from_the_threshold_on(
    total: int, condensed: bool
) -> None:
    asked = make_options(
        total,
        auto_condense_context=True,
        auto_condense_context_percent=50,
        condense=condense_returning(),
    )
    answer = await truncate_conversation_if_needed(asked)
    assert (answer.messages == SHORT) is condensed
    assert (answer.summary, answer.cost) == (("What happened.", 0.02) if condensed else ("", 0.0))
    assert (answer.prev_context_tokens, answer.error) == (total, None)


async def test_a_conversation_over_the_allowed_tokens_is_condensed_below_the_threshold_too() -> (
    None
):
    asked = make_options(
        60_001,
        auto_condense_context=True,
        auto_condense_context_percent=100,
        condense=condense_returning(),
    )
    assert (await truncate_conversation_if_needed(asked)).summary


@pytest.mark.parametrize(
    ("threshold", "condensed"), [(60, True), (-1, False), (150, False), (70, False)]
)
async def test_a_valid_profile_threshold_replaces_the_global_one(
    threshold: int, condensed: bool
) -> None:
    profiles: dict[str, Any] = {
        "profile_thresholds": {"code": threshold},
        "current_profile_id": "code",
    }
    asked = make_options(
        60_000,
        max_tokens=8192,
        auto_condense_context=True,
        auto_condense_context_percent=80,
        condense=condense_returning(),
    )
    for name, value in profiles.items():
        setattr(asked, name, value)
    assert bool((await truncate_conversation_if_needed(asked)).summary) is condensed


async def test_a_summary_that_is_still_too_large_is_truncated() -> None:
    large = condense_returning(messages=HISTORY, new_context_tokens=90_000)
    answer = await truncate_conversation_if_needed(
        make_options(95_000, auto_condense_context=True, condense=large)
    )
    assert answer.messages == [HISTORY[0], *HISTORY[3:]]
    assert answer.new_context_tokens == 90_000 - len("second") - len("third")
    assert (answer.summary, answer.error) == ("What happened.", None)


async def test_the_tokens_are_counted_if_the_condenser_does_not_report_them() -> None:
    silent = condense_returning(new_context_tokens=None)
    asked = make_options(70_000, auto_condense_context=True, condense=silent, system_prompt="four")
    assert (await truncate_conversation_if_needed(asked)).new_context_tokens == len(
        "firstsummary"
    ) + 4


async def failing_condense(make_options: TruncateOptions) -> TruncateResponse:
    raise ConnectionError("the line is dead")


async def empty_condense(make_options: TruncateOptions) -> Any:
    return None


FAILURES = {
    "the line is dead": failing_condense,
    "returned nothing": empty_condense,
    "no summary": condense_returning(summary="  "),
    "no such model": condense_returning(error="no such model"),
    "no smaller": condense_returning(new_context_tokens=70_001),
    "condensing failed": condense_returning(error=""),
}


@pytest.mark.parametrize("reason", FAILURES)
async def test_a_condenser_that_fails_is_reported_and_truncation_follows(reason: str) -> None:
    asked = make_options(70_001, auto_condense_context=True, condense=FAILURES[reason])
    answer = await truncate_conversation_if_needed(asked)
    assert reason in str(answer.error)
    assert answer.messages == [HISTORY[0], *HISTORY[3:]]
    assert (answer.summary, answer.new_context_tokens) == ("", None)


async def test_a_failed_condenser_below_the_allowed_tokens_leaves_the_messages_unchanged() -> None:
    asked = make_options(
        55_000,
        auto_condense_context=True,
        auto_condense_context_percent=50,
        condense=failing_condense,
    )
    answer = await truncate_conversation_if_needed(asked)
    assert answer.messages == HISTORY
    assert answer.error


async def test_without_a_condenser_the_conversation_is_truncated() -> None:
    answer = await truncate_conversation_if_needed(make_options(70_000, auto_condense_context=True))
    assert (len(answer.messages), answer.error) == (3, None)


async def test_cancelling_the_condenser_leaves_the_messages_unchanged() -> None:
    async def waiting(make_options: TruncateOptions) -> TruncateResponse:
        await asyncio.Event().wait()
        raise AssertionError

    asked = make_options(70_000, auto_condense_context=True, condense=waiting)
    task = asyncio.create_task(truncate_conversation_if_needed(asked))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked.messages == HISTORY
