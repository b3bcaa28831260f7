"""Test the estimate of what a full window would have cost, against calculations by hand."""

from __future__ import annotations

import pytest

from swecli.actions.full_window import FullWindow, estimate_full_window
from swecli.llm.price_table import cost_of
from swecli.models.message import Usage
from swecli.models.request_parts import PartSizes, RequestPart
from swecli.store.spending import PaidRequest
from tests.support.prices import CACHING, TIERED, paid

FIXED = {RequestPart.TOOLS: 4_000, RequestPart.SYSTEM: 500}


def estimate(requests: list[PaidRequest], **given: object) -> FullWindow:
    fields: dict[str, object] = {
        "prices": {"a/b": CACHING},
        "stored_sizes": {},
        "windows": {},
        "cache_minutes": 5,
    }
    return estimate_full_window(requests, **fields | given)  # type: ignore[arg-type]  # see above


def turn(number: int, usage: Usage, parts: PartSizes, **given: object) -> PaidRequest:
    cost = cost_of(usage, CACHING)
    place = {"interaction": number, "minute": number} | given
    return paid(usage, cost, {**FIXED, **parts}, **place)  # type: ignore[arg-type]  # see above


def three_turns() -> list[PaidRequest]:
    """A window of one turn: the third request has lost the first turn."""
    return [
        turn(1, Usage(cache_write=5_000, output=100), {RequestPart.QUERY: 500}),
        turn(
            2,
            Usage(cache_read=4_500, cache_write=1_000, output=100),
            {RequestPart.WINDOW: 600, RequestPart.QUERY: 400},
        ),
        turn(
            3,
            Usage(cache_read=4_500, cache_write=900, output=200),
            {RequestPart.OUTLINE: 100, RequestPart.WINDOW: 500, RequestPart.QUERY: 300},
        ),
    ]


def test_each_request_has_all_turns_before_it_and_finds_the_last_one_in_the_cache() -> None:
    full = estimate(three_turns())
    # sent: 5,000, then 600 of turn 1 more, then 500 of turn 2 more
    assert full.full_sent == 5_000 + 5_500 + 5_900
    first = 5_000 * 3.75e-6 + 100 * 15e-6
    second = 5_000 * 0.3e-6 + 500 * 3.75e-6 + 100 * 15e-6
    third = 5_500 * 0.3e-6 + 400 * 3.75e-6 + 200 * 15e-6
    assert full.full_cost == pytest.approx(first + second + third)
    assert full.cost == pytest.approx(0.02025 + 0.0066 + 0.007725)
    assert (full.requests, full.unpriced, full.unmeasured, full.too_long) == (3, 0, 0, 0)


def test_after_a_long_pause_the_cache_is_empty_for_it_too() -> None:
    first, second, _ = three_turns()
    late = turn(2, second.usage, second.parts, minute=60)
    full = estimate([first, late])
    expected = 5_000 * 3.75e-6 + 100 * 15e-6 + 5_500 * 3.75e-6 + 100 * 15e-6
    assert full.full_cost == pytest.approx(expected)


def test_a_model_that_never_read_from_a_cache_does_not_then() -> None:
    usage = Usage(input=5_000, output=10)
    requests = [
        turn(number, usage, {RequestPart.WINDOW: 0, RequestPart.QUERY: 500}) for number in (1, 2)
    ]
    full = estimate(requests)
    assert full.full_cost == pytest.approx((5_000 + 5_510) * 3e-6 + 20 * 15e-6)


def test_the_higher_rate_of_long_prompts_counts() -> None:
    parts = {RequestPart.QUERY: 150_000}
    requests = [paid(Usage(input=150_000), 0.15, parts, interaction=number) for number in (1, 2)]
    full = estimate(requests, prices={"a/b": TIERED}, windows={"a/b": 200_000})
    assert full.full_cost == pytest.approx(150_000 * 1e-6 + 300_000 * 2e-6)
    assert full.too_long == 1


def test_a_turn_that_was_undone_is_replaced_by_the_one_after_it() -> None:
    first, second, third = three_turns()
    again = turn(2, second.usage, second.parts, minute=2.5)
    full = estimate([first, second, again, third])
    assert full.full_sent == 5_000 + 5_500 + 5_500 + 5_900


def test_turns_before_a_fork_have_their_stored_sizes() -> None:
    request = turn(3, Usage(input=5_000), {RequestPart.WINDOW: 200, RequestPart.QUERY: 300})
    full = estimate([request], stored_sizes={1: 1_000, 2: 500, 3: 300})
    assert full.full_sent == 4_800 + 1_500


def test_what_is_not_known_is_counted_beside() -> None:
    first, second, third = three_turns()
    unpriced = turn(2, second.usage, second.parts, model="new/model")
    old = paid(third.usage, third.cost, interaction=3)
    full = estimate([first, unpriced, old])
    assert (full.requests, full.unpriced, full.unmeasured) == (1, 1, 1)


def test_other_requests_are_none_of_turns() -> None:
    full = estimate([paid(Usage(input=10), 0.1, purpose="reflect")])
    assert full == FullWindow()


def test_five_hundred_turns_take_one_pass() -> None:
    usage = Usage(input=5_000, output=10)
    requests = [turn(number, usage, {RequestPart.QUERY: 500}) for number in range(1, 501)]
    full = estimate(requests)
    # turn n has the 510 tokens of each turn before it
    assert full.full_sent == 500 * 5_000 + 510 * (499 * 500 // 2)
