"""Test the price of the next request: its input, and what is assumed of the cache."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from swecli.actions.next_price import NextPrice, price_next
from swecli.app import Runtime
from swecli.models.message import Usage
from swecli.models.window_spec import WindowSpec
from tests.support.prices import CACHING, TIERED
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel


async def runtime_after(turns: int, *, cache: Any = "prefix", **settings: Any) -> Runtime:
    usage = Usage(input=1_000, cache_read=9_000, output=10)
    model = ScriptedModel([Reply(f"answer {n}", usage=usage) for n in range(20)], offline=False)
    model.profile = replace(model.profile, price=CACHING, cache=cache)
    runtime = make_runtime(model, learn=False, **settings)
    for number in range(turns):
        await run_turn(runtime, f"query {number}", learn=False)
    return runtime


def with_price(runtime: Runtime, price: dict[str, float]) -> NextPrice:
    model: Any = runtime.agent.model
    model.profile = replace(model.profile, price=price)
    return price_next(runtime.agent)


async def test_what_was_sent_before_has_the_price_of_the_cache() -> None:
    runtime = await runtime_after(2)
    price = price_next(runtime.agent)
    assert 0 < price.cached < price.tokens
    new = price.tokens - price.cached
    assert price.cost == pytest.approx(price.cached * 0.3e-6 + new * 3e-6)
    assert price.uncached_cost == pytest.approx(price.tokens * 3e-6)
    assert "what was sent in the last 5 minutes is taken to be there" in price.lines[1]
    assert "the answer at $15 for a million tokens" in price.lines[-1]


async def test_a_service_with_marks_writes_the_rest_to_its_cache() -> None:
    price = price_next((await runtime_after(2, cache="marks")).agent)
    new = price.tokens - price.cached
    assert price.cost == pytest.approx(price.cached * 0.3e-6 + new * 3.75e-6)
    assert "new and written to the cache" in price.lines[1]


async def test_before_the_first_request_nothing_is_in_the_cache() -> None:
    price = price_next((await runtime_after(0)).agent)
    assert (price.cached, price.assumption) == (0, "nothing was sent yet")
    assert price.cost == pytest.approx(price.tokens * 3e-6)


async def test_after_a_long_pause_the_cache_is_taken_to_be_empty() -> None:
    runtime = await runtime_after(2)
    runtime.session.context.asked_at = datetime.now(UTC) - timedelta(minutes=6)
    price = price_next(runtime.agent)
    assert price.cached == 0
    assert price.assumption.startswith("the last request was more than 5 minutes ago")


async def test_another_model_has_another_cache() -> None:
    runtime = await runtime_after(2)
    runtime.session.context.asked_model = "other/model"
    assert price_next(runtime.agent).assumption == "this model was sent nothing yet"


async def test_a_service_without_a_cache_says_so() -> None:
    price = price_next((await runtime_after(2, cache="none")).agent)
    assert (price.cached, price.assumption) == (0, "the service keeps no cache")


async def test_a_cache_that_was_never_read_from_is_not_counted_on() -> None:
    runtime = await runtime_after(0)
    runtime.agent.model._replies = [Reply("a", usage=Usage(input=10_000)) for _ in range(2)]  # type: ignore[attr-defined]
    for _ in range(2):
        await run_turn(runtime, "query", learn=False)
    price = price_next(runtime.agent)
    assert (price.cached, price.assumption) == (
        0,
        "no request of this session has read from a cache",
    )


async def test_a_window_that_moves_leaves_tools_and_system_text_in_the_cache() -> None:
    runtime = await runtime_after(3, window=WindowSpec(2))
    price = price_next(runtime.agent)
    assert 0 < price.cached < price.tokens
    assert "the window moves" in price.assumption


async def test_a_model_without_a_cache_price_pays_the_price_of_input() -> None:
    runtime = await runtime_after(2)
    price = with_price(runtime, TIERED)
    assert price.cost == pytest.approx(price.tokens * 1e-6)


async def test_an_unknown_price_is_said_with_the_tokens() -> None:
    price = with_price(await runtime_after(1), {})
    assert price.cost is None
    assert price.lines[0].startswith("The next request: price not known (")
    assert price.short == "next: price not known"


async def test_the_price_names_the_window_that_it_is_for() -> None:
    runtime = await runtime_after(2)
    runtime.sessions.set_window(WindowSpec(1))
    assert "window 1)" in price_next(runtime.agent).lines[0]
