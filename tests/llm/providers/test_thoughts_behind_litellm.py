"""Test that signed thoughts go back to services behind litellm, which refuse a request without them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from swecli.config.model_entry import ModelEntry
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import resolve
from swecli.llm.price_table import find_row
from swecli.llm.registry import create_model
from swecli.models.message import ApiMessage, ChatMessage, ModelReply, Role
from tests.support.model_requests import HELLO, READ, ask, request
from tests.support.signing_services import (
    SigningBedrock,
    SigningClaude,
    SigningGemini,
    SigningService,
    serve,
)
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow  # Slow because litellm itself runs over HTTP.

STEPS = 4
BEDROCK = "bedrock/us.anthropic.claude-sonnet-5-5"
KINDS: dict[str, Callable[[int], SigningService]] = {
    "anthropic/claude-sonnet-5-5": SigningClaude,
    BEDROCK: SigningBedrock,
    "gemini/gemini-3.8-flash": SigningGemini,
}
BOUND = ["anthropic/claude-sonnet-5-5", BEDROCK]


@pytest.fixture(autouse=True)
def login_of_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")


def model_behind_litellm(name: str, address: str) -> ChatModel:
    """Return a model that a user gets who names litellm as its way."""
    base = f"{address}/v1beta" if name.startswith("gemini") else address
    entry = ModelEntry("own", api="litellm", model=name, base_url=base)
    endpoint = resolve(name, {}, entry)
    return create_model(endpoint, find_row(endpoint.provider, endpoint.model), entry=entry)


@contextmanager
def serving(name: str, calls: int = STEPS) -> Iterator[tuple[SigningService, str]]:
    service = KINDS[name](calls)
    with serve(service) as address:
        yield service, address


def stored(reply: ModelReply) -> list[ApiMessage]:
    """Return the messages of a reply as they are read from the database, with its calls answered."""
    for call in reply.calls:
        call.result = f"text of {call.parameters['path']}"
    blocks = json.loads(json.dumps(reply.blocks))
    return ChatMessage(Role.ASSISTANT, reply.text, reply.calls, blocks=blocks).to_api()


async def play(model: ChatModel, messages: list[Any], requests: int) -> None:
    """Extend a conversation by the answers to this many requests."""
    for _ in range(requests):
        messages += stored(await ask(model, request(messages, tools=[READ])))


@pytest.mark.parametrize("name", KINDS)
async def test_signed_thoughts_go_back_in_each_step_and_after_a_resumption(name: str) -> None:
    with serving(name) as (service, address):
        messages: list[Any] = [dict(message) for message in HELLO]
        await play(model_behind_litellm(name, address), messages, 2)
        await play(model_behind_litellm(name, address), messages, STEPS - 1)
        messages.append({"role": "user", "content": "and now?"})
        await play(model_behind_litellm(name, address), messages, 1)
    assert service.refusals == []
    assert len(service.bodies) == STEPS + 2


@pytest.mark.parametrize("name", BOUND)
async def test_thoughts_of_another_model_stay_behind(name: str) -> None:
    other = "gemini/gemini-3.8-flash"
    with serving(name) as (service, address), serving(other, calls=9) as (_, second):
        messages: list[Any] = [dict(message) for message in HELLO]
        await play(model_behind_litellm(name, address), messages, 1)
        await play(model_behind_litellm(other, second), messages, 1)
        await play(model_behind_litellm(name, address), messages, 1)
    assert service.refusals == []
    turns = [turn for turn in service.turns(service.bodies[-1]) if service.text_of(turn)]
    assert [len(service.thoughts_of(turn)) for turn in turns] == [1, 0]


@pytest.mark.parametrize("name", BOUND)
async def test_thoughts_are_left_out_behind_a_changed_message(name: str) -> None:
    with serving(name) as (service, address):
        model = model_behind_litellm(name, address)
        messages: list[Any] = [dict(message) for message in HELLO]
        await play(model, messages, 2)
        messages[3] = messages[3] | {"content": "(shortened)"}
        await play(model, messages, 2)
    assert service.refusals == []
    turns = [turn for turn in service.turns(service.bodies[-1]) if service.text_of(turn)]
    assert [len(service.thoughts_of(turn)) for turn in turns] == [1, 0, 1]


async def test_encrypted_thoughts_go_back_to_openais_models_of_another_service() -> None:
    def service(received: Received) -> Reply | Refusal:
        kept = [item for item in received.body["input"] if item["type"] == "reasoning"]
        if len(kept) != received.number:
            return Refusal(400, "Item 'function_call' was provided without its 'reasoning' item")
        assert [item["encrypted_content"] for item in kept] == [
            f"gAAA{n}" for n in range(len(kept))
        ]
        path = {"path": f"{received.number}.txt"}
        return Reply("", reasoning="let me see", calls=(Call("read_file", path),))

    with StrictProvider(service, models=("gpt-6-luna",)) as server:
        environ = {"OPENCODE_GO_API_KEY": "test-key", "OPENCODE_GO_BASE_URL": server.url}
        endpoint = resolve("opencode_go/gpt-6-luna", environ)
        model = create_model(endpoint, find_row(endpoint.provider, endpoint.model))
        messages: list[Any] = [dict(message) for message in HELLO]
        await play(model, messages, STEPS)
    assert server.refusals == []
    assert len(server.requests) == STEPS
    assert server.bodies[0]["store"] is False
