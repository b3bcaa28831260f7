"""Test `/model`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.app import Runtime
from swecli.config.model_entry import parse_models
from swecli.models.errors import SwecliError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn
from tests.support.strict_provider import Reply, StrictProvider


async def test_model_shows_the_model_and_why_it_was_chosen(ctx: ScriptedContext) -> None:
    ctx.will_pick(None)
    assert "scripted/test (for this test)" in await ctx.type("/model")
    labels = [label for _, label in ctx.offered[-1]]
    assert "mistral/mistral-large-4 · needs MISTRAL_API_KEY" in labels
    ctx.will_pick("demo")
    assert "demo (" in await ctx.type("/model")


async def test_a_chosen_model_answers_the_next_turn(runtime: Runtime, ctx: ScriptedContext) -> None:
    assert "demo" in await ctx.type("/model demo")
    await run_turn(runtime, "hello")
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.model == "demo"


async def test_choosing_a_model_with_a_window_too_small_for_any_turn_warns(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    table = {
        "tiny": {
            "api": "openai",
            "model": "tiny",
            "context_window": 1_024,
            "base_url": "http://127.0.0.1:9/v1",
        }
    }
    runtime.settings = replace(runtime.settings, models=parse_models(table))
    assert "tiny has a window of 1,024 tokens: too small" in await ctx.type("/model tiny")
    assert "too small" not in await ctx.type("/model demo")


async def test_choosing_a_model_without_a_price_says_that_the_cost_limit_cannot_be_kept(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    table = {"own": {"api": "openai", "model": "own", "base_url": "http://127.0.0.1:9/v1"}}
    runtime.settings = replace(runtime.settings, models=parse_models(table), max_budget_usd=1.0)
    runtime.agent.settings = runtime.settings
    assert "The price of own is unknown" in await ctx.type("/model own")
    assert "price" not in await ctx.type("/model demo")


async def test_an_unknown_model_changes_nothing(runtime: Runtime, ctx: ScriptedContext) -> None:
    with pytest.raises(SwecliError):
        await ctx.type("/model nosuch/thing")
    assert runtime.agent.model.name == "scripted/test"


def test_completion_offers_the_model_in_use_and_the_demo(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    found = ctx.table.find("model")
    assert found is not None
    assert found.complete is not None
    names = [name for name, _ in found.complete(runtime)]
    assert names[0] == "scripted/test"
    assert "demo" in names


@pytest.mark.slow
async def test_two_gateways_of_the_same_protocol_answer_in_one_session(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    with (
        StrictProvider([Reply("one")], key="k1") as one,
        StrictProvider([Reply("two"), Reply("hm")], key="k2") as two,
    ):
        shared = {"api": "openai", "model": "gpt-4.1"}
        tables = {
            "a": shared | {"base_url": one.openai_base, "key_command": ["echo", "k1"]},
            "b": shared
            | {"base_url": two.openai_base, "key_command": ["echo", "k2"], "thinking": "low"},
        }
        runtime.settings = replace(runtime.settings, models=parse_models(tables))
        assert "a (chosen here)" in await ctx.type("/model a")
        await run_turn(runtime, "first")
        await ctx.type("/model b")
        await run_turn(runtime, "second")
        await ctx.type("/effort high")
        await run_turn(runtime, "third")
        assert (len(one.requests), len(two.requests)) == (1, 2)
        assert [m["content"] for m in two.bodies[0]["messages"] if m["role"] == "assistant"] == [
            "one"
        ]
        assert [body["reasoning_effort"] for body in two.bodies] == ["low", "high"]
        assert not one.refusals + two.refusals


async def test_model_fast_sets_the_model_that_condenses_and_verifies(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "fast: demo" in await ctx.type("/model fast demo")
    assert runtime.agent.condense_model is not None
    assert (runtime.agent.model.name, runtime.agent.condense_model.name) == (
        "scripted/test",
        "demo",
    )
    assert runtime.agent.settings.review_verify_model == "demo"
    with pytest.raises(SwecliError):
        await ctx.type("/model fast nosuch/thing")
    assert runtime.agent.condense_model.name == "demo"


async def test_the_list_of_models_names_the_command_that_can_be_typed_here(
    ctx: ScriptedContext,
) -> None:
    printed = await ctx.type("/models")
    assert "`/models WORD`" in printed
    assert "swecli models" not in printed
