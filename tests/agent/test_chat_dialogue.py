"""Test the dialogue of a chat turn, and that a cost limit is kept, or that it is said before the first request that it
cannot be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm.endpoints import Server
from swecli.llm.registry import make_model
from swecli.models.events import Notice, TurnFailed, TurnFinished
from tests.support.model_requests import model_at
from tests.support.runtime import make_runtime, run_turn
from tests.support.strict_provider import Call, Received, Reply, StrictProvider, Tokens, Wire

LOOK = Call("list_files", {})
HIDDEN = "does not seem to pass on the tools: it can answer, not act"


def count_without_tools(got: Received, reply: Reply) -> Reply:
    """Return the reply of a server that counts a request without its tools."""
    return replace(reply, usage=Tokens(input=len(json.dumps(got.body["messages"])) // 4))


async def notices_about_tools(*replies: Reply, whose: Server = "local") -> list[str]:
    """Run a turn with these replies; return what it says about tools that the server hides."""
    script = iter(replies)
    with StrictProvider(lambda got: count_without_tools(got, next(script))) as server:
        model = model_at(server, "openai/gpt-4.1")
        model.profile = replace(model.profile, server=whose)
        runtime = make_runtime(model, learn=False)
        events = await run_turn(runtime, "hello", learn=False)
        runtime.close()
    return [event.text for event in events if isinstance(event, Notice) and HIDDEN in event.text]


async def test_a_local_server_that_hides_the_tools_is_reported() -> None:
    assert len(await notices_about_tools(Reply("I cannot."))) == 1


async def test_a_local_server_whose_model_called_in_this_turn_passes_the_tools_on() -> None:
    assert await notices_about_tools(Reply(calls=(LOOK,)), Reply("One file.")) == []
    written = Reply('{"name": "list_files", "arguments": {}}')
    assert await notices_about_tools(written, Reply("One file.")) == []


@pytest.mark.parametrize("whose", ["service", "other"])
async def test_only_a_local_server_is_said_to_hide_the_tools(whose: Server) -> None:
    assert await notices_about_tools(Reply("I cannot."), whose=whose) == []


HOUSE = "house-model"


def listing(received: Received) -> Reply:
    """Answer with another call each time, without usage."""
    return Reply(calls=(Call("list_files", {"depth": received.number + 1}),), usage=None)


async def last_event(server: StrictProvider, name: str, **settings: Any) -> Any:
    runtime = make_runtime(model_at(server, name), **settings)
    events = await run_turn(runtime, "go", learn=False)
    runtime.close()
    return events[-1]


def test_a_limit_for_a_model_without_a_price_is_reported_at_the_start() -> None:
    with StrictProvider(models=(HOUSE,)) as server:
        runtime = make_runtime(model_at(server, f"openai/{HOUSE}"), max_budget_usd=0.01)
        [line] = [line for line in runtime.notices if "max_budget_usd" in line]
        runtime.close()
    assert line.startswith(f"The price of openai/{HOUSE} is unknown: the limit of $0.01")


def test_a_limit_that_is_kept_with_a_guessed_price_is_reported_at_the_start() -> None:
    environ = {"OPENAI_API_KEY": "test-key"}
    model = make_model("openai/gpt-5.4-2031-01-01", Settings(), environ)
    runtime = make_runtime(model, max_budget_usd=0.01)
    [line] = [line for line in runtime.notices if "max_budget_usd" in line]
    runtime.close()
    assert line.startswith("The price of openai/gpt-5.4-2031-01-01 is guessed, like gpt-5.4: ")


def test_a_price_that_the_user_set_is_not_called_guessed() -> None:
    name = "openai/gpt-5.4-2031-01-01"
    models = parse_models({name: {"price": {"input": 1, "output": 2}}})
    model = make_model(name, Settings(models=models), {"OPENAI_API_KEY": "test-key"})
    runtime = make_runtime(model, max_budget_usd=0.01)
    assert not [line for line in runtime.notices if "max_budget_usd" in line]
    runtime.close()


def test_a_limit_for_a_model_with_a_price_is_not_reported() -> None:
    with StrictProvider() as server:
        runtime = make_runtime(model_at(server, "openai/gpt-4.1"), max_budget_usd=0.01)
        assert not [line for line in runtime.notices if "max_budget_usd" in line]
        runtime.close()


async def test_a_limit_is_kept_by_an_estimate_if_the_service_reports_no_usage() -> None:
    with StrictProvider(listing) as server:
        ended = await last_event(server, "openai/gpt-4.1", max_budget_usd=0.0001, max_turns=5)
    assert isinstance(ended, TurnFinished)
    assert ended.reason == "max_budget"
    assert len(server.requests) == 1


async def test_the_cost_that_a_service_reports_counts() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.7}
    chunks = [
        {"choices": [{"delta": {"tool_calls": [call]}}]},
        {"choices": [{"finish_reason": "tool_calls"}]},
        {"choices": [], "usage": usage},
    ]
    body = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    with StrictProvider([Reply(wire=Wire(body=body))], models=(HOUSE,)) as server:
        ended = await last_event(server, f"openai/{HOUSE}", max_budget_usd=0.5)
    assert isinstance(ended, TurnFinished)
    assert (ended.reason, ended.cost, len(server.requests)) == ("max_budget", 0.7, 1)


async def test_a_turn_stops_if_a_cost_is_unknown_although_a_limit_was_promised() -> None:
    with StrictProvider(listing, models=(HOUSE,)) as server:
        model = model_at(server, f"openai/{HOUSE}")
        model.profile = model.profile.layered({"reports_cost": True}, "table")
        runtime = make_runtime(model, max_budget_usd=0.5)
        [*_, ended] = await run_turn(runtime, "go", learn=False)
        runtime.close()
    assert isinstance(ended, TurnFailed)
    assert "cannot be kept" in ended.error
    assert (ended.exit_code, len(server.requests)) == (53, 1)
