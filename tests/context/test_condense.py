"""Test the choice between leaving a conversation unchanged, summarizing it and truncating it once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from swecli.context import TruncateOptions, TruncateResponse, truncate_conversation_if_needed

Message = Any  # not typed: invalid ones are made too
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
