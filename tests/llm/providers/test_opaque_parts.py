"""Test that parts only the provider can read are sent back unchanged, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from swecli.llm.answer import Answer
from swecli.llm.endpoints import resolve
from swecli.llm.price_table import find_row
from swecli.llm.registry import create_model
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import ProviderError
from swecli.models.message import ChatMessage, ModelReply, ModelRequest, Role, ToolSpec
from tests.support.model_requests import HELLO, READ, ask
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider, Wire

ALWAYS = "claude-sonnet-5-5"


def stored_messages(reply: ModelReply) -> list[Any]:
    """Return the messages of a reply as a later request contains them, with its calls answered."""
    for call in reply.calls:
        call.result = f"text of {call.id}"
    message = ChatMessage(Role.ASSISTANT, reply.text, reply.calls, blocks=reply.blocks)
    return list(message.to_api())


def thinking_blocks(body: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the thinking blocks of each assistant message."""
    turns = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    return [[b for b in content if b["type"] == "thinking"] for content in turns]


async def test_signed_thinking_is_sent_back_until_an_earlier_message_changes() -> None:
    answers = [
        Reply("", reasoning=f"thought {n}", calls=(Call("read_file", {"path": str(n)}),))
        for n in range(10)
    ]
    with StrictProvider(
        [*answers, Reply("done", reasoning="x"), Reply("again")], models=(ALWAYS,)
    ) as server:
        at = resolve(f"anthropic/{ALWAYS}", server.environ())
        model = create_model(at, find_row("anthropic", ALWAYS))
        messages = list(HELLO)
        for _ in range(10):
            messages += stored_messages(await ask(model, ModelRequest("m", messages, [READ])))
        await ask(model, ModelRequest("m", messages, [READ]))
        assert server.refusals == []
        last = server.bodies[10]
        assert [[block["thinking"] for block in one] for one in thinking_blocks(last)] == [
            [f"thought {n}"] for n in range(10)
        ]
        for before, after in zip(server.bodies, server.bodies[1:11], strict=False):
            bare = [json.dumps(_unmarked(body["messages"])) for body in (before, after)]
            assert bare[1].startswith(bare[0][:-1]), "each request extends the previous one"
        changed = [messages[0], messages[1] | {"content": "something else"}, *messages[2:]]
        await ask(model, ModelRequest("m", changed, [READ]))
        assert not any(thinking_blocks(server.bodies[11])), (
            "blocks after the change are dropped, because they are bound to their prefix"
        )


async def test_signed_thinking_is_sent_back_with_schemas_of_which_a_field_is_left_out() -> None:
    spec = ToolSpec("read_file", "Reads.", READ.parameters | {"additionalProperties": False})
    reply = Reply("", reasoning="hm", calls=(Call("read_file", {"path": "a"}),))
    with StrictProvider([reply, Reply("ok")], models=(ALWAYS,)) as server:
        model = create_model(
            resolve(f"anthropic/{ALWAYS}", server.environ()), find_row("anthropic", ALWAYS)
        )
        model.profile = replace(model.profile, off=frozenset({"additionalProperties"}))
        messages = list(HELLO)
        messages += stored_messages(await ask(model, ModelRequest("m", messages, [spec])))
        await ask(model, ModelRequest("m", messages, [spec]))
    assert thinking_blocks(server.bodies[1])[0]


async def test_thinking_is_sent_back_only_to_its_model_and_with_unchanged_text() -> None:
    reply = Reply("Reading.", reasoning="hm", calls=(Call("read_file", {"path": "a"}),))
    with StrictProvider([reply, *[Reply("ok")] * 3], models=("claude-haiku-4-5", ALWAYS)) as server:
        at = resolve("anthropic/claude-haiku-4-5", server.environ())
        messages = [
            *HELLO,
            *stored_messages(
                await ask(create_model(at, None), ModelRequest("m", list(HELLO), [READ]))
            ),
        ]
        edited = [*messages[:2], messages[2] | {"content": "Shorter."}, *messages[3:]]
        other = replace(at, model=ALWAYS)
        for endpoint, sent in ((at, messages), (other, messages), (at, edited)):
            await ask(create_model(endpoint, None), ModelRequest("m", sent, [READ]))
        assert [bool(sum(thinking_blocks(body), [])) for body in server.bodies[1:]] == [
            True,
            False,
            False,
        ]
        assert server.refusals == []


async def test_thinking_with_a_refused_signature_is_omitted_after_one_refusal() -> None:
    def service(received: Received) -> Reply | Refusal:
        if any(thinking_blocks(received.body)):
            return Refusal(400, "messages.1.content.0: Invalid `signature` in `thinking` block")
        return Reply("Reading.", reasoning="hm", calls=(Call("read_file", {"path": "a"}),))

    with StrictProvider(service) as server:
        model = create_model(resolve("anthropic/claude-haiku-4-5", server.environ()), None)
        messages = [
            *HELLO,
            *stored_messages(await ask(model, ModelRequest("m", list(HELLO), [READ]))),
        ]
        notices: list[str] = []
        for _ in range(2):
            request = ModelRequest("m", messages, [READ])
            async for item in stream_with_retry(model, request):
                notices += [item.reason] if isinstance(item, Retry) else []
        assert len(server.requests) == 4, "one refusal, and none the second time"
        assert len(notices) == 1


@pytest.mark.slow
async def test_reasoning_with_tool_calls_is_sent_back_in_the_field_it_was_received_in() -> None:
    asked = Reply("", reasoning="let me see", calls=(Call("read_file", {"path": "a"}),))
    with StrictProvider([asked, Reply("ok", reasoning="fine")]) as server:
        model = create_model(resolve("openai/gpt-4.1", server.environ()), None)
        messages = [
            *HELLO,
            *stored_messages(await ask(model, ModelRequest("m", list(HELLO), [READ]))),
        ]
        body = model.body(ModelRequest("m", messages, [READ]))  # type: ignore[attr-defined]
        assert body["messages"][2]["reasoning_content"] == "let me see"
        plain = stored_messages(await ask(model, ModelRequest("m", list(HELLO), [READ])))
        assert "blocks" not in plain[0], "reasoning without calls is not sent back"


@pytest.mark.parametrize(
    "name", ["moonshot/kimi-k3", "zai/glm-5.3", "minimax/MiniMax-M3", "dashscope/qwen3-max"]
)
async def test_services_that_speak_chat_completions_get_their_reasoning_back(name: str) -> None:
    provider, _, model = name.partition("/")
    asked = Reply("", reasoning="let me see", calls=(Call("read_file", {"path": "a"}),))
    with StrictProvider([asked], models=(model,)) as server:
        names = {"API_KEY": "test-key", "BASE_URL": server.openai_base}
        environ = {f"{provider.upper()}_{key}": value for key, value in names.items()}
        asked_model = create_model(resolve(name, environ), find_row(provider, model))
        first = await ask(asked_model, ModelRequest("m", list(HELLO), [READ]))
        messages = [*HELLO, *stored_messages(first)]
        body = asked_model.body(ModelRequest("m", messages, [READ]))  # type: ignore[attr-defined]
    assert body["messages"][2]["reasoning_content"] == "let me see"


async def test_signatures_of_tool_calls_and_merged_reasoning_details_are_sent_back() -> None:
    signed = {"google": {"thought_signature": "SIG"}}
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    kind = {"type": "reasoning.text", "index": 0}
    pieces = [
        kind | {"text": "let "},
        kind | {"text": "me"},
        kind | {"text": None, "signature": "S"},
    ]
    pieces.append({"type": "reasoning.encrypted", "index": 0, "data": "E"})
    deltas = [{"reasoning_details": [one]} for one in pieces] + [
        {"tool_calls": [call | {"extra_content": signed}]}
    ]
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas] + [
        {"choices": [{"finish_reason": "tool_calls"}]}
    ]
    body = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    with StrictProvider([Reply(wire=Wire(body=body))]) as server:
        model = create_model(resolve("openai/gpt-4.1", server.environ()), None)
        messages = [
            *HELLO,
            *stored_messages(await ask(model, ModelRequest("m", list(HELLO), [READ]))),
        ]
        back = model.body(ModelRequest("m", messages, [READ]))["messages"][2]  # type: ignore[attr-defined]
    assert back["tool_calls"][0]["extra_content"] == signed
    assert "extra_content" not in back
    assert back["reasoning_details"] == [kind | {"text": "let me", "signature": "S"}, pieces[-1]]


async def test_signed_and_redacted_thoughts_of_a_litellm_proxy_are_joined_and_sent_back() -> None:
    kind = {"type": "thinking"}
    pieces = [kind | {"thinking": "let "}, kind | {"thinking": "me"}]
    pieces += [kind | {"thinking": "", "signature": "S"}]
    pieces += [{"type": "redacted_thinking", "data": "R"}, kind | {"thinking": "not signed"}]
    chunks: list[dict[str, Any]] = [{"delta": {"thinking_blocks": [piece]}} for piece in pieces]
    chunks += [{"delta": {"content": "ok"}}, {"finish_reason": "stop"}]
    body = b"".join(b"data: %b\n\n" % json.dumps({"choices": [one]}).encode() for one in chunks)
    with StrictProvider([Reply(wire=Wire(body=body))]) as server:
        model = create_model(resolve("openai/gpt-4.1", server.environ()), None)
        reply = await ask(model, ModelRequest("m", list(HELLO), [READ]))
        messages = [*HELLO, *stored_messages(reply)]
        back = model.body(ModelRequest("m", messages, [READ]))["messages"][2]  # type: ignore[attr-defined]
    assert back["thinking_blocks"] == [
        kind | {"thinking": "let me", "signature": "S"},
        {"type": "redacted_thinking", "data": "R"},
    ]


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "openai/gpt-6.1-sol", f"anthropic/{ALWAYS}"])
async def test_the_kept_parts_of_an_answer_are_the_same_each_time_they_are_read(name: str) -> None:
    call = Call("read_file", {"path": "a.py"})
    reply = Reply("Let me look.", reasoning="hm, let me see", calls=(call,))
    with StrictProvider([reply], models=(name.partition("/")[2],)) as server:
        endpoint = resolve(name, server.environ())
        model: Any = create_model(endpoint, find_row(endpoint.provider, endpoint.model))
        native = getattr(model, "_current", model)
        answer: Answer = native.answer_type()
        native.answer_type = lambda: answer
        await ask(model, ModelRequest("m", HELLO, [READ]))
    first = json.dumps(answer.blocks())
    assert "let me see" in first
    assert json.dumps(answer.blocks()) == first


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "odd", [{"foo": 1}, {"type": "tool_use", "input": {}}, {"type": "text", "text": None}]
)
async def test_a_stored_block_of_unknown_shape_does_not_fail_the_request(
    odd: dict[str, Any],
) -> None:
    with StrictProvider([Reply("ok")], models=(ALWAYS,)) as server:
        at = resolve(f"anthropic/{ALWAYS}", server.environ())
        kept = {
            "origin": at.origin,
            "content": [odd, {"type": "thinking", "thinking": "hm", "signature": "s"}],
        }
        messages = [
            *HELLO,
            {"role": "assistant", "content": "Read.", "blocks": kept},
            {"role": "user", "content": "and?"},
        ]
        reply = await ask(
            create_model(at, find_row("anthropic", ALWAYS)), ModelRequest("m", messages, [])
        )
        assert reply.text == "ok"


async def test_thoughts_are_sent_again_if_leaving_them_out_did_not_help() -> None:
    answers: list[Any] = [
        Reply("", reasoning="hm", calls=(Call("read_file", {"path": "a"}),)),
        Refusal(400, "no"),
        Refusal(400, "no"),
        Reply("ok"),
    ]
    with StrictProvider(answers, models=(ALWAYS,)) as server:
        at = resolve(f"anthropic/{ALWAYS}", server.environ())
        model = create_model(at, find_row("anthropic", ALWAYS))
        messages = [*HELLO, *stored_messages(await ask(model, ModelRequest("m", HELLO, [READ])))]
        for _ in range(2):
            with pytest.raises(ProviderError):
                await ask(model, ModelRequest("m", messages, [READ]))
        await ask(model, ModelRequest("m", messages, [READ]))
    counts = [len(thinking_blocks(body)[0]) for body in server.bodies[1:]]
    assert counts == [1, 0, 1]
