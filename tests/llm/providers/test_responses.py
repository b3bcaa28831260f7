"""Test the Responses wire against a service that refuses whatever the vendor's own types do not allow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm.endpoints import resolve
from swecli.llm.price_table import find_row
from swecli.llm.registry import create_model, make_model
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import stream_with_retry
from swecli.models.errors import ContextOverflow, ProviderError, RequestRefused, Unavailable
from swecli.models.message import ChatMessage, ModelChunk, ModelReply, ModelRequest, Role, Usage
from tests.support.model_requests import HELLO, READ, ask, model_at, request
from tests.support.strict_provider import (
    Call,
    Received,
    Refusal,
    Reply,
    StrictProvider,
    Tokens,
    Wire,
)

SOL = "gpt-6.1-sol"
NAME = f"openai/{SOL}"
READS = Call("read_file", {"path": "a"})
NEEDS_RESPONSES = (
    "Function tools with reasoning_effort are not supported for gpt-7 in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'"
)


def history(reply: ModelReply, *more: Any) -> list[Any]:
    """Return the messages of a later request: the reply with its calls answered."""
    for call in reply.calls:
        call.result = f"text of {call.id}"
    stored = ChatMessage(Role.ASSISTANT, reply.text, reply.calls, blocks=reply.blocks)
    return [*HELLO, *stored.to_api(), *more]


def streamed(*events: dict[str, Any]) -> Reply:
    body = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    return Reply(wire=Wire(body=body))


async def with_retries(model: Any, what: ModelRequest) -> ModelReply:
    builder = ReplyBuilder()
    async for item in stream_with_retry(model, what, jitter=lambda: 0.0):
        if isinstance(item, ModelChunk):
            builder.add(item)
        else:
            builder.reset()
    return builder.build()


async def test_a_current_model_of_openai_is_asked_with_its_tools() -> None:
    answer = Reply("Reading.", reasoning="hm", calls=(READS,), usage=Tokens(10, 5, 0, 9, 2))
    with StrictProvider([answer], models=(SOL,)) as server:
        reply = await ask(model_at(server, NAME), request(tools=[READ], max_tokens=77))
    assert [one.path for one in server.requests] == ["/v1/responses"]
    assert (reply.text, reply.reasoning, reply.stop) == ("Reading.", "hm", "tool_calls")
    assert [(call.name, call.parameters) for call in reply.calls] == [("read_file", {"path": "a"})]
    assert reply.usage == Usage(input=10, cache_read=5, output=9, reasoning=2)
    assert reply.cost is not None
    body = server.bodies[0]
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["max_output_tokens"] == 77
    assert body["instructions"] == "Be brief."
    assert body["tools"][0]["strict"] is False


async def test_the_items_of_an_answer_are_sent_back_as_they_came() -> None:
    first = Reply("Both.", reasoning="hm", calls=(READS, Call("read_file", {"path": "b"})))
    with StrictProvider([first, Reply("A and B.")], models=(SOL,)) as server:
        model = model_at(server, NAME)
        reply = await ask(model, request(tools=[READ]))
        await ask(model, request(history(reply), tools=[READ]))
    assert server.refusals == []
    _, reasoning, message, one, other, *results = server.bodies[1]["input"]
    assert (reasoning["encrypted_content"], reasoning["id"]) == ("gAAA0", "rs_0")
    assert (message["id"], message["status"]) == ("msg_0", "completed")
    assert [one["call_id"], other["call_id"]] == [result["call_id"] for result in results]
    before, after = (json.dumps(body["input"]) for body in server.bodies)
    assert after.startswith(before[:-1]), "the second request extends the first one"


async def test_items_are_rebuilt_for_another_model_and_for_changed_text() -> None:
    first = Reply("Reading.", reasoning="hm", calls=(READS,))
    with StrictProvider([first, *[Reply("ok")] * 2], models=(SOL, "gpt-5.4")) as server:
        model = model_at(server, NAME)
        sent = history(await ask(model, request(tools=[READ])))
        await ask(model_at(server, "openai/gpt-5.4"), request(sent, tools=[READ]))
        sent[2] = sent[2] | {"content": "Shorter."}
        await ask(model, request(sent, tools=[READ]))
    assert server.refusals == []
    for body in server.bodies[1:]:
        assert "reasoning" not in [item["type"] for item in body["input"]]


@pytest.mark.parametrize("name", [NAME, f"openai/responses/{SOL}"])
def test_a_model_can_be_named_as_litellm_names_it(name: str) -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    model = make_model(name, Settings(), environ)
    assert (model.name, model.body(request())["model"]) == (name, SOL)  # type: ignore[attr-defined]
    assert model.profile.window == 922_000


async def test_an_entry_with_api_responses_uses_that_wire() -> None:
    with StrictProvider([Reply("ok")], models=("house",)) as server:
        table = {
            "api": "responses",
            "model": "house",
            "base_url": server.openai_base,
            "key_env": "K",
        }
        settings = Settings(models=parse_models({"work": table}))
        model = make_model("work", settings, {"K": "test-key"})
        assert (await ask(model, request(tools=[READ]))).text == "ok"
    assert server.requests[0].path == "/v1/responses"


async def test_azures_models_are_asked_below_its_own_path_with_its_own_header() -> None:
    with StrictProvider([Reply("ok")], models=("gpt-5.4",)) as server:
        environ = {"AZURE_API_KEY": "test-key", "AZURE_API_BASE": server.url}
        model = make_model("azure/gpt-5.4", Settings(), environ)
        assert (await ask(model, request(tools=[READ]))).text == "ok"
    assert server.requests[0].path == "/openai/v1/responses"
    assert server.requests[0].headers["api-key"] == "test-key"


@pytest.mark.parametrize("refusal", [
    Refusal(400, NEEDS_RESPONSES),
    Refusal(404, "This model is only supported in v1/responses and not in v1/chat/completions."),
])  # fmt: skip
async def test_a_refusal_that_names_the_responses_api_is_followed_in_the_same_turn(
    refusal: Refusal,
) -> None:
    def service(received: Received) -> Reply | Refusal:
        if received.protocol == "openai":
            return refusal
        return Reply("Reading.", reasoning="hm", calls=(READS,))

    with StrictProvider(service, models=("gpt-7",)) as server:
        learned: dict[str, Any] = {}
        at = replace(resolve("openai/gpt-7", server.environ()), thinking="high")
        reply = await with_retries(create_model(at, None, learned), request(tools=[READ]))
        assert [one.path for one in server.requests] == ["/v1/chat/completions", "/v1/responses"]
        assert [call.name for call in reply.calls] == ["read_file"], "the tools are kept"
        assert server.bodies[1]["reasoning"]["effort"] == "high", "and so is the effort"
        model = create_model(at, None, learned)
        await with_retries(model, request(history(reply), tools=[READ]))
    assert server.requests[2].path == "/v1/responses", "the session knows it"
    assert server.refusals == []
    assert server.bodies[2]["input"][1]["type"] == "reasoning"


async def test_a_gateway_without_the_responses_api_is_asked_over_chat_completions() -> None:
    def service(received: Received) -> Reply | Refusal:
        return Refusal(404, "Not Found") if received.protocol == "responses" else Reply("ok")

    with StrictProvider(service, models=(SOL,)) as server:
        model = model_at(server, NAME)
        assert (await with_retries(model, request(tools=[READ]))).text == "ok"
        assert (await with_retries(model, request(tools=[READ]))).text == "ok"
    paths = [one.path for one in server.requests]
    assert paths == ["/v1/responses", *["/v1/chat/completions"] * 2]


CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "read_file"}
MESSAGE = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
DONE = {"type": "response.completed", "response": {"status": "completed", "output": []}}


def added(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": 0, "item": item}


@pytest.mark.parametrize(
    "events",
    [
        [added(CALL), {"type": "response.function_call_arguments.done", "output_index": 0,
                       "arguments": '{"path": "a"}'}, DONE],
        [added(CALL | {"arguments": ""}), done(CALL | {"arguments": '{"path": "a"}'}), DONE],
        [done(CALL | {"arguments": '{"path": "a"}'}), DONE],
        [{"type": "response.completed", "response": {
            "status": "completed", "output": [CALL | {"arguments": '{"path": "a"}'}]}}],
    ],
    ids=["arguments done", "item done", "item done alone", "completed alone"],
)  # fmt: skip
async def test_arguments_that_come_only_in_a_later_event_are_read(
    events: Sequence[dict[str, Any]],
) -> None:
    with StrictProvider([streamed(*events)], models=(SOL,)) as server:
        reply = await ask(model_at(server, NAME), request(tools=[READ]))
    assert [(call.id, call.name, call.parameters) for call in reply.calls] == [
        ("c", "read_file", {"path": "a"})
    ]
    assert reply.stop == "tool_calls"


async def test_text_in_parts_is_read_once() -> None:
    parts = [{"type": "output_text", "text": text} for text in ("Hello", ".")]
    ends = [
        {"type": "response.output_text.done", "output_index": 0, "content_index": at, **part}
        | {"type": "response.output_text.done"}
        for at, part in enumerate(parts)
    ]
    item = done(MESSAGE | {"content": parts})
    whole = {"type": "response.completed", "response": {"output": [item["item"]]}}
    for events in ([*ends, item, whole], [item, whole], [whole]):
        with StrictProvider([streamed(*events)], models=(SOL,)) as server:
            assert (await ask(model_at(server, NAME), request())).text == "Hello."


def message_events(*texts: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the events of messages, each with its phase and text."""
    events: list[dict[str, Any]] = []
    for index, (phase, text) in enumerate(texts):
        item = MESSAGE | {"id": f"m{index}", "phase": phase}
        parts = [{"type": "output_text", "text": text}]
        at = {"output_index": index}
        events += [
            {"type": "response.output_item.added", "item": item | {"content": []}, **at},
            {"type": "response.output_text.delta", "content_index": 0, "delta": text, **at},
            {"type": "response.output_item.done", "item": item | {"content": parts}, **at},
        ]
    return [*events, DONE]


async def test_two_messages_of_an_answer_are_two_paragraphs_and_go_back_as_they_came() -> None:
    events = message_events(("commentary", "I checked."), ("final_answer", "It is 42."))
    with StrictProvider([streamed(*events), Reply("ok")], models=(SOL,)) as server:
        model = model_at(server, NAME)
        reply = await ask(model, request())
        assert reply.text == "I checked.\n\nIt is 42."
        await ask(model, request(history(reply)))
    assert server.refusals == []
    sent = [
        item.get("phase") for item in server.bodies[1]["input"] if item.get("role") == "assistant"
    ]
    assert sent == ["commentary", "final_answer"]


async def test_of_an_answer_that_follows_a_schema_the_last_message_alone_is_text() -> None:
    events = message_events(("commentary", "I checked."), ("final_answer", '{"a": 1}'))
    with StrictProvider([streamed(*events)], models=(SOL,)) as server:
        reply = await ask(model_at(server, NAME), request(schema={"type": "object"}))
    assert (reply.text, reply.reasoning) == ('{"a": 1}', "I checked.")


async def test_open_thoughts_go_back_to_the_service_that_sent_them() -> None:
    thought = {
        "type": "reasoning",
        "id": "r",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    call = CALL | {"arguments": '{"path": "a"}'}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        DONE,
    ]
    with StrictProvider([streamed(*events), Reply("ok")], models=(SOL,)) as server:
        model = model_at(server, NAME)
        reply = await ask(model, request(tools=[READ]))
        assert reply.reasoning == "hm"
        with suppress(ProviderError):  # the strict service knows encrypted ones alone
            await ask(model, request(history(reply), tools=[READ]))
    assert thought in server.bodies[1]["input"]


async def test_a_refusal_is_shown_as_such() -> None:
    refused = MESSAGE | {"content": [{"type": "refusal", "refusal": "I will not."}]}
    delta = {
        "type": "response.refusal.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": "I will not.",
    }
    for events in ([delta, done(refused), DONE], [done(refused), DONE]):
        with StrictProvider([streamed(*events)], models=(SOL,)) as server:
            reply = await ask(model_at(server, NAME), request())
        assert (reply.text, reply.refusal) == ("", "I will not.")


@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_an_incomplete_answer_has_its_reason(finish: str) -> None:
    with StrictProvider([Reply("half", finish=finish)], models=(SOL,)) as server:
        reply = await ask(model_at(server, NAME), request())
    assert (reply.text, reply.stop, reply.note) == ("half", finish, "")


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        ({"type": "error", "code": "server_error", "message": "boom", "param": None}, Unavailable, "boom"),
        ({"type": "response.failed", "response": {"status": "failed", "error": {
            "code": "rate_limit_exceeded", "message": "slow down"}}}, Unavailable, "slow down"),
        ({"type": "response.failed", "response": {"status": "failed", "error": {
            "code": "invalid_prompt", "message": "flagged"}}}, RequestRefused, "flagged"),
        ({"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}},
         ContextOverflow, "too long"),
    ],
)  # fmt: skip
async def test_a_failed_answer_is_an_error_with_the_words_of_the_service(
    event: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with (
        StrictProvider([streamed(event)], models=(SOL,)) as server,
        pytest.raises(kind, match=words) as raised,
    ):
        await ask(model_at(server, NAME), request())
    assert type(raised.value) is kind


async def test_a_stream_that_breaks_off_is_not_an_answer() -> None:
    with (
        StrictProvider([Reply("Hel", finish=None)], models=(SOL,)) as server,
        pytest.raises(Unavailable, match="cut its answer off"),
    ):
        await ask(model_at(server, NAME), request())


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ("Encrypted content is not supported with this model.", lambda body: "include" in body),
        ("Your organization must be verified to generate reasoning summaries.",
         lambda body: "summary" in body.get("reasoning", {})),
        ("The encrypted content gAAA could not be verified.",
         lambda body: any(item["type"] == "reasoning" for item in body["input"])),
        ("max_output_tokens is too large: this model supports at most 4096",
         lambda body: body["max_output_tokens"] > 4096),
    ],
)  # fmt: skip
async def test_a_refused_part_is_left_out(
    words: str, sent: Callable[[dict[str, Any]], bool]
) -> None:
    first = Reply("Reading.", reasoning="hm", calls=(READS,))

    def service(received: Received) -> Reply | Refusal:
        return (
            first
            if received.number == 0
            else Refusal(400, words)
            if sent(received.body)
            else Reply("ok")
        )

    with StrictProvider(service, models=(SOL,)) as server:
        model = model_at(server, NAME)
        sent_back = history(await ask(model, request(tools=[READ])))
        reply = await with_retries(model, request(sent_back, tools=[READ], max_tokens=9_000))
    assert (reply.text, server.refusals) == ("ok", [])
    assert len(server.requests) <= 4


async def test_one_json_body_and_images_are_read_and_sent() -> None:
    image = {"name": "a.png", "label": "[image 1x1]", "media_type": "image/png", "data": "QUJD"}
    whole = {"object": "response", "status": "completed", "error": None,
             "output": [MESSAGE | {"content": [{"type": "output_text", "text": "A cat."}]}],
             "usage": {"input_tokens": 9, "output_tokens": 3}}  # fmt: skip
    answer = Reply(wire=Wire(body=json.dumps(whole).encode(), content_type="application/json"))
    with StrictProvider([answer], models=(SOL,)) as server:
        asked = [*HELLO[:1], {"role": "user", "content": "what?", "images": [image]}]
        reply = await ask(model_at(server, NAME), request(asked))
    assert (reply.text, reply.usage) == ("A cat.", Usage(input=9, output=3))
    picture = server.bodies[0]["input"][0]["content"][0]
    assert picture["image_url"] == "data:image/png;base64,QUJD"


def test_the_row_decides_the_wire() -> None:
    environ = {"OPENAI_API_KEY": "k", "XAI_API_KEY": "k"}
    wires = {
        name: create_model(resolve(name, environ), find_row(*name.split("/", 1))).profile.wire
        for name in ("openai/gpt-5", "openai/gpt-5.3-codex", "openai/gpt-4.1", "xai/grok-4.7")
    }
    assert wires == {
        "openai/gpt-5": "responses",
        "openai/gpt-5.3-codex": "responses",
        "openai/gpt-4.1": "chat",
        "xai/grok-4.7": "chat",
    }
