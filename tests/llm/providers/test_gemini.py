"""Test the wire of Gemini at a strict service: what is sent, what comes, and signatures that go back unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import AuthFailed, ModelNotFound, ProviderError, Unavailable
from swecli.models.message import ChatMessage, ModelReply, Role, ToolSpec, Usage
from tests.support.model_requests import HELLO, READ, ask, model_at, model_for_endpoint, request
from tests.support.strict_provider import (
    Call,
    Received,
    Refusal,
    Reply,
    StrictProvider,
    Tokens,
    Wire,
)

FLASH = "gemini-3.8-flash"
NAME = f"gemini/{FLASH}"
COUNTS = {"promptTokenCount": 20, "candidatesTokenCount": 7}


def reads(path: str) -> Call:
    return Call("read_file", {"path": path})


def stored(reply: ModelReply) -> list[Any]:
    """Return the messages of a reply as they are read from the database, with its calls answered."""
    for call in reply.calls:
        call.result = "text"
    blocks = json.loads(json.dumps(reply.blocks))
    return list(ChatMessage(Role.ASSISTANT, reply.text, reply.calls, blocks=blocks).to_api())


def pieces(*parts: dict[str, Any], **end: Any) -> Reply:
    """Return a reply of these raw parts, and its end."""
    candidates: list[dict[str, Any]] = [{"content": {"parts": [part]}} for part in parts]
    events = [{"candidates": [one]} for one in [*candidates, end]]
    events[-1]["usageMetadata"] = COUNTS  # type: ignore[assignment]
    body = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events)
    return Reply(wire=Wire(body=body.encode()))


def serving(*answers: Any, **more: Any) -> StrictProvider:
    return StrictProvider(list(answers), models=(FLASH, "gemini-2.5-pro"), **more)


async def with_retries(model: Any, what: Any) -> tuple[ModelReply, list[str]]:
    builder = ReplyBuilder()
    notices: list[str] = []
    async for item in stream_with_retry(model, what, jitter=lambda: 0.0, pause=_no_pause):
        if isinstance(item, Retry):
            notices.append(item.reason)
            builder.reset()
        else:
            builder.add(item)
    return builder.build(), notices


async def _no_pause(seconds: float) -> None:
    return None


async def test_text_calls_thoughts_and_usage_are_read() -> None:
    tokens = Tokens(15, cache_read=5, output=7, reasoning=3)
    answer = Reply("Hello", reasoning="let me see", calls=(reads("a"), reads("b")), usage=tokens)
    with serving(answer) as server:
        reply = await ask(model_at(server, NAME), request(tools=[READ]))
    assert (reply.text, reply.reasoning, reply.stop) == ("Hello", "let me see", "tool_calls")
    assert [call.parameters for call in reply.calls] == [{"path": "a"}, {"path": "b"}]
    assert reply.usage == Usage(input=15, cache_read=5, output=7, reasoning=3)
    assert reply.cost is not None
    assert server.refusals == []


async def test_signatures_go_back_in_each_step_and_the_next_turn() -> None:
    steps = [Reply("Step.", reasoning="hm", calls=(reads("a"), reads("b"))) for _ in range(3)]
    with serving(*steps, Reply("Done.", reasoning="hm"), Reply("Bye.")) as server:
        messages: list[Any] = [dict(message) for message in HELLO]
        for _ in range(4):
            messages += stored(await ask(model_at(server, NAME), request(messages, tools=[READ])))
        messages.append({"role": "user", "content": "and now?"})
        await ask(model_at(server, NAME), request(messages, tools=[READ]))
    assert server.refusals == []
    sent = [part for content in server.bodies[-1]["contents"] for part in content["parts"]]
    assert len([part for part in sent if "thoughtSignature" in part]) == 4
    assert not any(part.get("thought") for part in sent)


async def test_calls_of_another_model_have_the_signature_that_stands_for_one() -> None:
    call = {
        "id": "call_x",
        "type": "function",
        "function": {"name": "read_file", "arguments": "{}"},
    }
    foreign = {"role": "assistant", "content": "", "tool_calls": [call, call | {"id": "call_y"}]}
    results = [
        {"role": "tool", "tool_call_id": call_id, "content": "text"}
        for call_id in ("call_x", "call_y")
    ]
    with serving(Reply("ok")) as server:
        await ask(model_at(server, NAME), request([*HELLO, foreign, *results], tools=[READ]))
    assert server.refusals == []
    signatures = [part.get("thoughtSignature") for part in server.bodies[0]["contents"][1]["parts"]]
    assert signatures == ["skip_thought_signature_validator", None]


async def test_a_message_that_was_changed_since_goes_back_without_its_parts() -> None:
    with serving(Reply("Look.", reasoning="hm", calls=(reads("a"),)), Reply("ok")) as server:
        first = stored(await ask(model_at(server, NAME), request(tools=[READ])))
        first[0]["content"] = "(shortened)"
        await ask(model_at(server, NAME), request([*HELLO, *first], tools=[READ]))
    assert server.refusals == []
    assert server.bodies[1]["contents"][1]["parts"][0] == {"text": "(shortened)"}


async def test_a_schema_is_sent_with_the_keywords_that_google_knows() -> None:
    argument = {"type": "string", "default": "a", "minLength": 1, "pattern": "a+"}
    kind = {"const": "file"}
    schema = {
        "type": "object",
        "properties": {"default": argument, "kind": kind},
        "required": ["default"],
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    with serving(Reply("ok")) as server:
        tools = [ToolSpec("choose", "Chooses.", schema)]
        await ask(model_at(server, NAME), request(tools=tools))
    assert server.refusals == []
    [tool] = server.bodies[0]["tools"]
    [declared] = tool["functionDeclarations"]
    assert declared["parametersJsonSchema"] == {
        "type": "object",
        "properties": {"default": {"type": "string"}, "kind": {"enum": ["file"]}},
        "required": ["default"],
    }


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        (FLASH, "", {}),
        (FLASH, "off", {"thinkingLevel": "low"}),
        (FLASH, "medium", {"thinkingLevel": "medium"}),
        (FLASH, "max", {"thinkingLevel": "high"}),
        ("gemini-2.5-pro", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "low", {"thinkingBudget": 1_024}),
        ("gemini-2.5-pro", "3000", {"thinkingBudget": 3_000}),
        ("gemini-2.5-pro", "max", {"thinkingBudget": 24_576}),
    ],
)
async def test_a_thinking_level_is_a_word_or_a_number_as_the_model_wants_it(
    model: str, level: str, sent: dict[str, Any]
) -> None:
    with serving(Reply("ok")) as server:
        await ask(model_at(server, f"gemini/{model}"), request(thinking=level))
    assert server.refusals == []
    config = server.bodies[0]["generationConfig"]["thinkingConfig"]
    assert config == {"includeThoughts": True, **sent}


@pytest.mark.parametrize("base", ["", "/v1beta", "/v1beta/"])
async def test_the_version_of_the_path_may_be_missing_in_the_address(base: str) -> None:
    with serving(Reply("ok")) as server:
        environ = {"GEMINI_API_KEY": "test-key", "GEMINI_BASE_URL": server.url + base}
        reply = await ask(model_for_endpoint(resolve(NAME, environ)), request())
    assert reply.text == "ok"


@pytest.mark.parametrize(
    "reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"]
)
async def test_a_blocked_answer_is_withheld(reason: str) -> None:
    with serving(pieces({"text": "So far"}, finishReason=reason)) as server:
        assert (await ask(model_at(server, NAME), request())).stop == "content_filter"
    with (
        serving(pieces(finishReason=reason)) as server,
        pytest.raises(ProviderError, match="withheld the answer"),
    ):
        await ask(model_at(server, NAME), request())


async def test_a_prompt_that_is_blocked_is_reported_as_withheld() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": COUNTS}
    body = f"data: {json.dumps(blocked)}\n\n".encode()
    with (
        serving(Reply(wire=Wire(body=body))) as server,
        pytest.raises(ProviderError, match="withheld the answer"),
    ):
        await ask(model_at(server, NAME), request())


@pytest.mark.parametrize(
    "reason",
    ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "OTHER"],
)
async def test_a_failure_of_google_is_tried_again_with_its_cause_said(reason: str) -> None:
    failed = pieces({"text": "I look."}, finishReason=reason, finishMessage="print(read_file(")
    with serving(failed, Reply("ok")) as server:
        reply, notices = await with_retries(model_at(server, NAME), request())
    assert reply.text == "ok"
    assert f"{reason}: print(read_file(" in notices[0]


async def test_a_call_without_arguments_has_none() -> None:
    answer = pieces({"functionCall": {"name": "read_file"}}, finishReason="STOP")
    with serving(answer) as server:
        reply = await ask(model_at(server, NAME), request(tools=[READ]))
    assert [(call.name, call.parameters) for call in reply.calls] == [("read_file", {})]


async def test_a_reason_in_the_middle_does_not_end_an_answer() -> None:
    first = {"candidates": [{"content": {"parts": [{"text": "Hel"}]}, "finishReason": "STOP"}]}
    last = {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}]}
    body = "".join(
        f"data: {json.dumps(one | {'usageMetadata': COUNTS})}\n\n" for one in (first, last)
    )
    with serving(Reply(wire=Wire(body=body.encode()))) as server:
        assert (await ask(model_at(server, NAME), request())).text == "Hello"


async def test_a_stream_without_its_end_is_reported_as_cut_off() -> None:
    with (
        serving(Reply("Hello", finish=None)) as server,
        pytest.raises(Unavailable, match="cut its answer off"),
    ):
        await ask(model_at(server, NAME), request())


async def test_an_answer_cut_by_its_length_says_so() -> None:
    with serving(Reply("Hel", finish="length")) as server:
        assert (await ask(model_at(server, NAME), request())).stop == "length"


async def test_a_model_without_tools_or_system_text_is_asked_without_them() -> None:
    def gemma(received: Received) -> Reply | Refusal:
        if "tools" in received.body:
            return Refusal(400, "Function calling is not enabled for models/gemini-3.8-flash")
        if "systemInstruction" in received.body:
            return Refusal(400, "Developer instruction is not enabled for models/gemini-3.8-flash")
        return Reply("ok")

    with StrictProvider(gemma, models=(FLASH,)) as server:
        reply, _ = await with_retries(model_at(server, NAME), request(tools=[READ]))
    assert reply.text == "ok"
    assert server.refusals == []
    assert len(server.requests) == 3


async def test_a_refused_thinking_level_is_left_out() -> None:
    def service(received: Received) -> Reply | Refusal:
        words = "Unknown name \"thinkingLevel\" at 'generation_config.thinking_config': Cannot find field."
        asks = "thinkingConfig" in received.body["generationConfig"]
        return Refusal(400, words) if asks else Reply("ok")

    with StrictProvider(service, models=(FLASH,)) as server:
        reply, notices = await with_retries(model_at(server, NAME), request(thinking="high"))
    assert reply.text == "ok"
    assert "does not accept generationConfig.thinkingConfig" in notices[0]


async def test_errors_of_google_are_understood() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    body = {"error": {"code": 429, "message": "Quota exceeded.", "details": [delay]}}
    quota = Refusal(429, body=json.dumps([body]).encode())
    with serving(quota) as server, pytest.raises(Unavailable) as caught:
        await ask(model_at(server, NAME), request())
    assert caught.value.retry_after == 17.0
    with serving(key="other") as server:
        environ = server.environ() | {"GEMINI_API_KEY": "wrong"}
        with pytest.raises(AuthFailed, match="API key not valid"):
            await ask(model_for_endpoint(resolve(NAME, environ)), request())
    with serving() as server, pytest.raises(ModelNotFound, match="gemini-9"):
        await ask(model_at(server, "gemini/gemini-9"), request())


async def test_pictures_and_a_schema_of_the_answer_are_sent() -> None:
    image = {"name": "a.png", "label": "[image 1x1]", "media_type": "image/png", "data": "QUJD"}
    shown = {"role": "user", "content": "What is this?", "images": [image]}
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    with serving(Reply('{"a": "cat"}')) as server:
        await ask(model_at(server, NAME), request([HELLO[0], shown], schema=schema))
    assert server.refusals == []
    parts = server.bodies[0]["contents"][0]["parts"]
    assert parts[0] == {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    settings = server.bodies[0]["generationConfig"]
    assert settings["responseMimeType"] == "application/json"
    assert settings["responseJsonSchema"]["properties"] == {"a": {"type": "string"}}
