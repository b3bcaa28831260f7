"""Test what a turn of the chat says about the model's server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from swecli.llm.endpoints import Server
from swecli.models.events import Notice
from tests.support.model_requests import model_at
from tests.support.runtime import make_runtime, run_turn
from tests.support.strict_provider import Call, Received, Reply, StrictProvider, Tokens

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
