"""Test that a turn goes on with another model when its own is overloaded, over loopback services that refuse requests
as real ones do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm.registry import make_model
from swecli.models.errors import Unavailable
from swecli.models.events import Event, ModelChanged, TextDelta, TurnFailed, TurnFinished
from tests.support.command_context import ScriptedContext
from tests.support.databases import OPENED
from tests.support.runtime import User, make_start, run_turn
from tests.support.scripted import Reply as ScriptedReply
from tests.support.scripted import ScriptedModel
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider, Tokens

OVERLOADED = Refusal(503, "The service is overloaded.", headers={"retry-after": "0"})
DAY_IS_USED_UP = Refusal(429, "Rate limit reached: requests per day. Try again in 5h.")
LOOK = Call("list_files", {})


def table(server: StrictProvider, **more: Any) -> dict[str, Any]:
    """Return the table of a model of the user's own at a server."""
    values = {"api": "openai", "model": "gpt-4.1", "base_url": server.openai_base}
    return {**values, "key_command": ["echo", "test-key"], **more}


def runtime_with(
    first: StrictProvider,
    models: dict[str, dict[str, Any]],
    fallback: Sequence[str] = ("second",),
    *,
    name: str = "openai/gpt-4.1",
    **settings: Any,
) -> Runtime:
    """Build a runtime with a model of the first server, and fallbacks that are tables of the settings."""
    start = make_start(
        fallback=tuple(fallback), models=parse_models(models), learn=False, **settings
    )
    start = replace(start, environ={**start.environ, **first.environ()})
    runtime = build_runtime(start, User(), model=make_model(name, Settings(), first.environ()))
    OPENED.closers.append(runtime.close)
    return runtime


def changes(events: Sequence[Event]) -> list[ModelChanged]:
    return [event for event in events if isinstance(event, ModelChanged)]


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_turn_goes_on_with_the_next_model_and_one_line_says_so() -> None:
    with (
        StrictProvider([OVERLOADED] * 5) as first,
        StrictProvider([Reply("From the second.")]) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)})
        events = await run_turn(runtime, "go", learn=False)
    assert len(first.requests) == 5, "after the usual attempts"
    assert text_of(events) == "From the second."
    [changed] = changes(events)
    assert (changed.failed, changed.model) == ("openai/gpt-4.1", "second")
    assert changed.describe().startswith("this turn goes on with second: http://127.0.0.1")
    assert "is overloaded" in changed.describe()
    assert isinstance(events[-1], TurnFinished)
    assert not second.refusals


async def test_the_turn_stays_with_it_and_the_next_one_asks_the_first_again() -> None:
    with (
        StrictProvider([DAY_IS_USED_UP, Reply("Back.")]) as first,
        StrictProvider([Reply(calls=(LOOK,)), Reply("One.")]) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)})
        await run_turn(runtime, "one", learn=False)
        events = await run_turn(runtime, "two", learn=False)
    assert (len(first.requests), len(second.requests)) == (2, 2)
    assert text_of(events) == "Back."
    assert changes(events) == []


async def test_a_model_that_is_still_overloaded_is_tried_once_without_waiting() -> None:
    with (
        StrictProvider([OVERLOADED] * 6) as first,
        StrictProvider([Reply("One."), Reply("Two.")]) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)})
        await run_turn(runtime, "one", learn=False)
        await run_turn(runtime, "two", learn=False)
    assert len(first.requests) == 6


async def test_a_turn_goes_on_where_it_was_with_its_calls_and_without_foreign_thoughts() -> None:
    overloaded = Refusal(529, "Overloaded", headers={"retry-after": "0"})
    thinking = Reply(reasoning="Secret thoughts.", calls=(LOOK,))
    with (
        StrictProvider([thinking, *[overloaded] * 5]) as first,
        StrictProvider([Reply("Done by the second.")]) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)}, name="anthropic/claude-haiku-4-5")
        events = await run_turn(runtime, "go", learn=False)
    assert text_of(events) == "Done by the second."
    [body] = second.bodies
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert "Secret thoughts" not in json.dumps(body)
    assert "signature" not in json.dumps(body["messages"])
    assert not second.refusals


async def test_each_request_costs_what_its_own_model_does() -> None:
    tokens = Tokens(input=1_000, output=100)
    with (
        StrictProvider([Reply(calls=(LOOK,), usage=tokens), DAY_IS_USED_UP]) as first,
        StrictProvider([Reply("Done.", usage=tokens)]) as second,
    ):
        price = {"input": 10, "output": 20}
        runtime = runtime_with(first, {"second": table(second, price=price)})
        events = await run_turn(runtime, "go", learn=False)
    finished = events[-1]
    assert isinstance(finished, TurnFinished)
    first_cost = 1_000 * 2e-6 + 100 * 8e-6
    second_cost = 1_000 * 10e-6 + 100 * 20e-6
    assert finished.cost == pytest.approx(first_cost + second_cost)
    ctx = ScriptedContext(runtime, width=120)
    assert "second" in await ctx.type("/cost")


@pytest.mark.parametrize(
    ("refusal", "requests"),
    [
        (Refusal(401, "Invalid key"), 1),
        (Refusal(404, "The model `gpt-4.1` does not exist", code="model_not_found"), 1),
        (Refusal(402, "No credit"), 1),
        (Refusal(500, "Internal error", headers={"retry-after": "0"}), 5),
    ],
)
async def test_what_another_model_would_not_help_with_fails_as_before(
    refusal: Refusal, requests: int
) -> None:
    with StrictProvider([refusal] * 5) as first, StrictProvider([Reply("never")]) as second:
        runtime = runtime_with(first, {"second": table(second)})
        events = await run_turn(runtime, "go", learn=False)
    assert isinstance(events[-1], TurnFailed)
    assert changes(events) == []
    assert len(first.requests) == requests
    assert second.requests == []


async def test_models_that_cannot_go_on_are_passed_over_and_named() -> None:
    with (
        StrictProvider([DAY_IS_USED_UP]) as first,
        StrictProvider([Reply("From the last.")]) as second,
    ):
        models = {
            "keyless": {**table(second), "key_env": "NO_SUCH_KEY"},
            "toolless": table(second, tools=False),
            "tiny": table(second, context_window=4_000),
            "last": table(second),
        }
        del models["keyless"]["key_command"]
        order = ["openai/gpt-4.1", "keyless", "toolless", "tiny", "nosuch", "last"]
        runtime = runtime_with(first, models, order)
        events = await run_turn(runtime, "word " * 6_000, learn=False)
    [changed] = changes(events)
    assert changed.model == "last"
    reasons = {one.model: one.reason for one in changed.passed_over}
    assert reasons["openai/gpt-4.1"] == "it is the one that failed"
    assert "NO_SUCH_KEY" in reasons["keyless"]
    assert reasons["toolless"] == "it has no tools"
    assert reasons["tiny"].startswith("the request has ")
    assert "nosuch" in reasons["nosuch"]
    assert (
        "passed over: openai/gpt-4.1 (it is the one that failed), keyless (" in changed.describe()
    )


async def test_a_cost_limit_passes_over_a_model_without_a_price() -> None:
    with StrictProvider([DAY_IS_USED_UP]) as first, StrictProvider([]) as second:
        unpriced = table(second, model="house-model")
        runtime = runtime_with(first, {"second": unpriced}, max_budget_usd=1.0)
        events = await run_turn(runtime, "go", learn=False)
    [changed] = changes(events)
    assert changed.model == ""
    assert changed.passed_over[0].reason.startswith("The price of second is unknown")
    assert "no other model can go on" in changed.describe()
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.exit_code == Unavailable.exit_code


async def test_if_the_second_fails_too_the_third_is_asked() -> None:
    with (
        StrictProvider([DAY_IS_USED_UP]) as first,
        StrictProvider([Refusal(401, "Invalid key")] * 2) as second,
        StrictProvider([Reply("From the third.")]) as third,
    ):
        models = {"second": table(second), "third": table(third)}
        runtime = runtime_with(first, models, ["second", "third"])
        events = await run_turn(runtime, "go", learn=False)
    assert [changed.model for changed in changes(events)] == ["second", "third"]
    assert text_of(events) == "From the third."


@pytest.mark.slow
async def test_a_service_that_cannot_be_reached_is_one_that_another_may_stand_in_for() -> None:
    with StrictProvider([]) as gone:
        environ = gone.environ()
    with StrictProvider([Reply("From the second.")]) as second:
        start = make_start(
            fallback=("second",), models=parse_models({"second": table(second)}), learn=False
        )
        model = make_model("openai/gpt-4.1", Settings(), environ)
        runtime = build_runtime(start, User(), model=model)
        OPENED.closers.append(runtime.close)
        events = await run_turn(runtime, "go", learn=False)
    [changed] = changes(events)
    assert "cannot be reached" in changed.reason
    assert text_of(events) == "From the second."


async def test_text_of_an_answer_that_broke_off_is_not_left_beside_the_new_one() -> None:
    with StrictProvider([Reply("From the second.")]) as second:
        start = make_start(
            fallback=("second",), models=parse_models({"second": table(second)}), learn=False
        )
        overloaded = Unavailable("It is overloaded.", tries=1, is_overload=True)
        broken = ScriptedReply("Half of an answer", cut_after=1, failure=overloaded)
        runtime = build_runtime(start, User(), model=ScriptedModel([broken]))
        OPENED.closers.append(runtime.close)
        events = await run_turn(runtime, "go", learn=False)
    kinds = [event.type for event in events]
    assert kinds.index("step_retried") < kinds.index("model_changed")
    assert runtime.session.messages[-1].content == "From the second."


async def test_a_task_goes_on_with_another_model_too() -> None:
    def answers(got: Received) -> Reply | Refusal:
        asks_task = "look around" in json.dumps(got.body["messages"][-1])
        return DAY_IS_USED_UP if asks_task else next(replies)

    replies = iter(
        [
            Reply(calls=(Call("task", {"title": "look", "prompt": "look around"}),)),
            Reply("The task is done."),
        ]
    )
    with StrictProvider(answers) as first, StrictProvider([Reply("Seen.")]) as second:
        runtime = runtime_with(first, {"second": table(second)})
        events = await run_turn(runtime, "hand it out", learn=False)
    assert isinstance(events[-1], TurnFinished)
    [call] = [call for message in runtime.session.messages for call in message.tool_calls]
    assert "Seen." in (call.result or "")


async def test_without_the_setting_nothing_changes(tmp_path: Path) -> None:
    with StrictProvider([DAY_IS_USED_UP]) as first:
        runtime = runtime_with(first, {}, ())
        events = await run_turn(runtime, "go", learn=False)
    assert changes(events) == []
    assert isinstance(events[-1], TurnFailed)


async def test_another_failure_of_a_model_that_was_overloaded_is_retried_as_usual() -> None:
    internal = Refusal(500, "Internal error", headers={"retry-after": "0"})
    with (
        StrictProvider([DAY_IS_USED_UP, internal, internal, Reply("Back.")]) as first,
        StrictProvider([Reply("One.")]) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)})
        await run_turn(runtime, "one", learn=False)
        events = await run_turn(runtime, "two", learn=False)
    assert text_of(events) == "Back."
    assert changes(events) == []


async def test_if_no_model_is_left_the_turn_fails_with_what_the_first_one_said() -> None:
    with (
        StrictProvider([DAY_IS_USED_UP]) as first,
        StrictProvider([Refusal(401, "Invalid key")] * 2) as second,
    ):
        runtime = runtime_with(first, {"second": table(second)})
        events = await run_turn(runtime, "go", learn=False)
    assert [changed.model for changed in changes(events)] == ["second", ""]
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert "rate limit" in failed.error
