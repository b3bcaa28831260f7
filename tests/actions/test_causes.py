"""Test what a session's requests were paid for, against calculations by hand."""

from __future__ import annotations

import pytest

from swecli.actions.causes import Cause, group_by_cause
from swecli.llm.price_table import cost_of
from swecli.models.message import Usage
from swecli.models.request_parts import RequestPart
from tests.support.prices import CACHING, REASONING, TIERED, paid


def by_name(causes: list[Cause]) -> dict[str, Cause]:
    return {cause.name: cause for cause in causes}


def test_the_cache_discount_belongs_to_the_beginning_of_the_prompt() -> None:
    usage = Usage(cache_read=8_000, cache_write=2_000, output=500)
    # 8,000 at 0.30, 2,000 at 3.75, 500 at 15 dollars per million
    assert cost_of(usage, CACHING) == pytest.approx(0.0024 + 0.0075 + 0.0075)
    parts = {
        RequestPart.TOOLS: 4_000,
        RequestPart.SYSTEM: 1_000,
        RequestPart.WINDOW: 3_000,
        RequestPart.QUERY: 500,
        RequestPart.RESULTS: 1_500,
    }
    causes = by_name(group_by_cause([paid(usage, 0.0174, parts)], {"a/b": CACHING}))
    assert causes["definitions of tools"].cost == pytest.approx(0.0012)
    assert causes["system text"].cost == pytest.approx(0.0003)
    assert causes["window: earlier turns"].cost == pytest.approx(0.0009)
    assert causes["your messages"].cost == pytest.approx(0.001875)
    assert causes["results of tools"].cost == pytest.approx(0.005625)
    assert causes["the answers themselves"].cost == pytest.approx(0.0075)
    assert sum(cause.known_cost for cause in causes.values()) == pytest.approx(0.0174)


def test_reasoning_is_a_cause_of_its_own_at_its_own_price() -> None:
    usage = Usage(input=1_000, cache_read=1_000, output=100, reasoning=400)
    cost = cost_of(usage, REASONING)
    assert cost == pytest.approx(0.00125 + 0.000125 + 0.001 + 0.0048)
    parts = {RequestPart.SYSTEM: 1_000, RequestPart.QUERY: 1_000}
    causes = by_name(group_by_cause([paid(usage, cost, parts)], {"a/b": REASONING}))
    assert causes["reasoning"].cost == pytest.approx(0.0048)
    assert causes["system text"].cost == pytest.approx(0.000125)
    assert causes["your messages"].cost == pytest.approx(0.00125)


def test_a_long_prompt_costs_the_higher_rate_and_its_cache_the_price_of_input() -> None:
    usage = Usage(input=50_000, cache_read=200_000, output=1_000)
    cost = cost_of(usage, TIERED)
    assert cost == pytest.approx(250_000 * 2e-06 + 1_000 * 6e-06)
    parts = {RequestPart.WINDOW: 200_000, RequestPart.QUERY: 50_000}
    causes = by_name(group_by_cause([paid(usage, cost, parts)], {"a/b": TIERED}))
    assert causes["window: earlier turns"].cost == pytest.approx(0.4)
    assert causes["your messages"].cost == pytest.approx(0.1)


def test_our_counts_are_scaled_to_those_of_the_provider() -> None:
    parts = {RequestPart.SYSTEM: 100, RequestPart.QUERY: 300}
    causes = by_name(group_by_cause([paid(Usage(input=800), 0.8, parts)], {}))
    assert (causes["system text"].tokens, causes["your messages"].tokens) == (200, 600)
    assert causes["your messages"].cost == pytest.approx(0.6)


def test_tokens_without_a_price_are_counted_and_their_cost_is_at_least_the_known_one() -> None:
    parts = {RequestPart.QUERY: 10}
    requests = [
        paid(Usage(input=10), 0.5, parts),
        paid(Usage(input=10), None, parts, model="new/model"),
    ]
    [cause] = group_by_cause(requests, {})
    assert (cause.tokens, cause.cost, cause.known_cost, cause.unpriced) == (20, None, 0.5, 1)


def test_what_is_asked_besides_the_turns_is_named_by_its_purpose() -> None:
    purposes = ("reflect", "review", "verify", "title", "task", "condense", "beside")
    requests = [
        paid(Usage(input=2**n), float(n), purpose=name) for n, name in enumerate(purposes, 1)
    ]
    causes = by_name(group_by_cause(requests, {}))
    assert set(causes) == {
        *("reflection", "reviews", "naming of sessions", "tasks", "summaries"),
        "beside",  # of another version: by the name that is stored
    }
    assert causes["reviews"].tokens == 4 + 8
    assert causes["reviews"].cost == 5.0


def test_a_turn_of_an_earlier_version_is_not_split() -> None:
    [cause] = group_by_cause([paid(Usage(input=10, output=5), 0.1)], {})
    assert (cause.name, cause.tokens, cause.cost) == ("turns of an earlier version", 15, 0.1)


def test_no_request_has_no_cause() -> None:
    assert group_by_cause([], {}) == []
