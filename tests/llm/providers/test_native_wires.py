"""Test both native protocols against a service that refuses every invalid request."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from swecli.config.model_entry import ModelEntry
from swecli.llm.endpoints import resolve
from swecli.llm.model_json import require_all
from swecli.llm.price_table import find_row
from swecli.llm.registry import create_model
from swecli.models.message import ModelRequest, ToolCall, Usage
from swecli.playbook.learning.answer import answer_schema
from tests.support.model_requests import (
    HELLO,
    READ,
    ask,
    collect,
    model_at,
    model_for_endpoint,
    request,
)
from tests.support.strict_provider import Call, Reply, StrictProvider, Tokens, Wire

OPENAI, ANTHROPIC = "openai/gpt-4.1", "anthropic/claude-haiku-4-5"
both = pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])


@both
async def test_text_is_streamed_in_chunks_and_the_stop_reason_comes_last(name: str) -> None:
    with StrictProvider(
        [Reply("Hello, wörld ✓ of pieces", wire=Wire(split=200, pause=0.04))]
    ) as server:
        chunks = await collect(model_at(server, name).stream(request()))
    assert "".join(c.text for c in chunks) == "Hello, wörld ✓ of pieces"
    assert len([c for c in chunks if c.text]) > 2
    assert [c.stop for c in chunks if c.stop] == ["stop"]
    assert chunks[-1].stop == "stop"
    assert server.refusals == []


async def test_repeated_text_in_an_answer_is_kept() -> None:
    with StrictProvider([Reply("----" * 150, piece=4)]) as server:
        assert (await ask(model_at(server, OPENAI), request())).text == "----" * 150


@both
async def test_reasoning_is_separated_from_text(name: str) -> None:
    with StrictProvider([Reply("yes", reasoning="let me think about it")]) as server:
        reply = await ask(model_at(server, name), request())
    assert (reply.reasoning, reply.text) == ("let me think about it", "yes")


@both
async def test_a_tool_call_in_chunks_is_merged_into_one(name: str) -> None:
    call = Call("read_file", {"path": "src/ä.py", "start_line": 3})
    with StrictProvider([Reply(calls=(call,), piece=3)]) as server:
        reply = await ask(model_at(server, name), request(tools=[READ]))
    assert reply.calls == [ToolCall("call_0_0", "read_file", {"path": "src/ä.py", "start_line": 3})]
    assert (reply.stop, reply.malformed) == ("tool_calls", {})


@both
async def test_a_call_without_arguments_has_no_parameters(name: str) -> None:
    with StrictProvider([Reply(calls=(Call("read_file", ""),))]) as server:
        reply = await ask(model_at(server, name), request(tools=[READ]))
    assert reply.calls == [ToolCall("call_0_0", "read_file", {})]
    assert reply.malformed == {}


@both
async def test_results_of_parallel_tool_calls_are_sent_in_order_in_the_next_request(
    name: str,
) -> None:
    asked = Reply(
        "Both:", calls=(Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))
    )
    with StrictProvider([asked, Reply("A and B.")]) as server:
        model = model_at(server, name)
        first = await ask(model, request(tools=[READ]))
        for call in first.calls:
            call.result = f"text of {call.parameters['path']}"
        assistant = {
            "role": "assistant",
            "content": first.text,
            "tool_calls": [call.to_api() for call in first.calls],
        }
        history = [*HELLO, assistant, *(call.result_message() for call in first.calls)]
        second = await ask(model, request(history, tools=[READ]))
    assert server.refusals == []
    assert [call.parameters["path"] for call in first.calls] == ["a", "b"]
    assert second.text == "A and B."
    sent = server.requests[1].raw.decode()
    assert sent.index("text of a") < sent.index("text of b")


@both
async def test_call_ids_of_another_provider_are_converted_to_valid_ones(name: str) -> None:
    call = ToolCall("call_1__thought__" + "A+/=" * 40, "read_file", {"path": "a"}, result="text")
    assistant = {"role": "assistant", "content": None, "tool_calls": [call.to_api()]}
    with StrictProvider([Reply("ok")]) as server:
        await ask(
            model_at(server, name),
            request([*HELLO, assistant, call.result_message()], tools=[READ]),
        )
    assert server.refusals == []


@both
async def test_usage_is_split_into_disjoint_buckets_and_has_a_cost(name: str) -> None:
    with StrictProvider([Reply("x", usage=Tokens(input=10, cache_read=5, output=9))]) as server:
        reply = await ask(model_at(server, name), request())
    assert reply.usage == Usage(input=10, cache_read=5, output=9)
    assert reply.cost is not None
    assert reply.cost > 0


async def test_reasoning_tokens_are_subtracted_from_the_output() -> None:
    with StrictProvider(
        [Reply("x", reasoning="y", usage=Tokens(input=10, output=9, reasoning=2))]
    ) as server:
        reply = await ask(model_at(server, OPENAI), request())
    assert reply.usage == Usage(input=10, output=9, reasoning=2)


async def test_tokens_written_to_the_cache_are_counted() -> None:
    with StrictProvider(
        [Reply("x", usage=Tokens(input=10, cache_read=5, cache_write=7, output=9))]
    ) as server:
        reply = await ask(model_at(server, ANTHROPIC), request())
    assert reply.usage == Usage(input=10, cache_read=5, cache_write=7, output=9)


@both
async def test_usage_and_cost_are_unknown_if_the_provider_reports_no_usage(name: str) -> None:
    with StrictProvider([Reply("x", usage=None)]) as server:
        reply = await ask(model_at(server, name), request())
    assert (reply.usage, reply.cost) == (None, None)


@both
async def test_the_cost_and_limits_of_a_model_outside_the_table_are_unknown(name: str) -> None:
    provider = name.partition("/")[0]
    with StrictProvider([Reply("x")], models=("house-model",)) as server:
        model = model_at(server, f"{provider}/house-model")
        reply = await ask(model, request())
    assert reply.usage is not None
    assert reply.cost is None
    assert (model.profile.window, model.profile.max_output) == (None, None)


@both
async def test_an_answer_truncated_by_its_length_has_the_stop_reason_length(name: str) -> None:
    with StrictProvider([Reply("half a sen", finish="length")]) as server:
        assert (await ask(model_at(server, name), request())).stop == "length"


@both
async def test_truncated_arguments_are_reported_and_not_repaired(name: str) -> None:
    with StrictProvider(
        [Reply(calls=(Call("read_file", '{"path": "a'),), finish="length")]
    ) as server:
        reply = await ask(model_at(server, name), request(tools=[READ]))
    assert reply.calls[0].parameters == {}
    assert "not valid JSON" in reply.malformed[reply.calls[0].id]


async def test_an_openai_request_has_exactly_the_expected_fields() -> None:
    with StrictProvider([Reply("x")]) as server:
        await ask(model_at(server, OPENAI), request(tools=[READ], max_tokens=77))
    body = server.bodies[0]
    assert body["messages"] == HELLO
    assert body["tools"] == [READ.to_api()]
    assert body["stream_options"] == {"include_usage": True}
    assert body["max_tokens"] == 77
    assert set(body) == {"model", "messages", "tools", "stream", "stream_options", "max_tokens"}


async def test_newer_openai_models_receive_max_completion_tokens_over_chat_completions() -> None:
    with StrictProvider([Reply("x")], models=("gpt-6.1-sol",)) as server:
        at = resolve("openai/gpt-6.1-sol", server.environ())
        row = find_row("openai", "gpt-6.1-sol")
        model = create_model(at, row, None, ModelEntry("work", api="openai"))
        await ask(model, request(max_tokens=77))
    assert server.bodies[0]["max_completion_tokens"] == 77
    assert "max_tokens" not in server.bodies[0]


async def test_max_tokens_defaults_to_the_reserve_for_anthropic() -> None:
    with StrictProvider(
        [Reply("x"), Reply("x")], models=("claude-haiku-4-5", "house-model")
    ) as server:
        await ask(model_at(server, ANTHROPIC), request())
        await ask(model_at(server, "anthropic/house-model"), request())
    assert [body["max_tokens"] for body in server.bodies] == [32_000, 8_192], "the reserve"


async def test_max_tokens_is_limited_to_the_maximum_output_of_the_model() -> None:
    with StrictProvider([Reply("x")]) as server:
        await ask(model_at(server, ANTHROPIC), request(max_tokens=10**7))
    assert server.bodies[0]["max_tokens"] == 64_000


async def test_anthropics_cache_is_marked_after_the_system_text_and_the_last_message() -> None:
    call = ToolCall("c1", "read_file", {"path": "a"}, result="text")
    assistant = {"role": "assistant", "content": None, "tool_calls": [call.to_api()]}
    with StrictProvider([Reply("x"), Reply("x")]) as server:
        model = model_at(server, ANTHROPIC)
        await ask(model, request(tools=[READ]))
        await ask(model, request([*HELLO, assistant, call.result_message()], tools=[READ]))
    for body in server.bodies:
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
        assert json.dumps(body).count("cache_control") == 2


async def test_the_same_request_gives_the_same_bytes() -> None:
    with StrictProvider([Reply("x"), Reply("x")]) as server:
        for _ in range(2):
            await ask(model_at(server, OPENAI), request(tools=[READ]))
    assert server.requests[0].raw == server.requests[1].raw


async def test_sending_a_request_does_not_change_its_messages() -> None:
    what = request([*HELLO], tools=[READ])
    before = json.dumps(what.messages)
    with StrictProvider([Reply("x")]) as server:
        await ask(model_at(server, ANTHROPIC), what)
    assert json.dumps(what.messages) == before


@pytest.mark.parametrize(
    "provider", ["ollama", "ollama_chat", "lm_studio", "vllm", "hosted_vllm", "llamacpp"]
)
async def test_a_local_server_needs_no_key_and_costs_nothing(provider: str) -> None:
    with StrictProvider([Reply("x")], key=None, models=("qwen3:8b",)) as server:
        stem = {"ollama_chat": "ollama", "hosted_vllm": "vllm"}.get(provider, provider).upper()
        environ = {f"{stem}_BASE_URL": server.url}
        reply = await ask(model_for_endpoint(resolve(f"{provider}/qwen3:8b", environ)), request())
    assert reply.text == "x"
    assert reply.cost == 0.0


@both
async def test_cancelling_closes_the_connection_at_once(name: str) -> None:
    at = 700 if name == OPENAI else 900
    with StrictProvider([Reply("Hello there, this stalls", wire=Wire(stall_at=at))]) as server:
        seen = asyncio.Event()

        async def consume() -> None:
            async for chunk in model_at(server, name).stream(request()):
                if chunk.text:
                    seen.set()

        task = asyncio.create_task(consume())
        await asyncio.wait_for(seen.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.requests[0].gone.wait, 5)


@both
async def test_leaving_the_stream_early_closes_the_connection(name: str) -> None:
    at = 700 if name == OPENAI else 900
    with StrictProvider([Reply("Hello there, this stalls", wire=Wire(stall_at=at))]) as server:
        stream: Any = model_at(server, name).stream(request())
        while not (await anext(stream)).text:
            pass
        await stream.aclose()
        assert await asyncio.to_thread(server.requests[0].gone.wait, 5)


@both
async def test_cancelling_before_the_first_byte_closes_the_connection(name: str) -> None:
    with StrictProvider([Reply("x", wire=Wire(stall_at=0))]) as server:
        task = asyncio.create_task(ask(model_at(server, name), request()))
        received = await asyncio.to_thread(server.wait_for_request)
        await asyncio.to_thread(received.started.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(received.gone.wait, 5)


def test_a_model_works_in_one_event_loop_after_another() -> None:
    with StrictProvider(lambda _: Reply("x")) as server:
        for name in (OPENAI, ANTHROPIC, OPENAI, ANTHROPIC):
            assert (
                asyncio.run(ask(model_at(server, name), ModelRequest("m", list(HELLO)))).text == "x"
            )


async def test_the_input_of_a_tool_call_can_be_complete_in_its_start_event() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    with StrictProvider([Reply(wire=Wire(body=body))]) as server:
        reply = await ask(model_at(server, ANTHROPIC), request(tools=[READ]))
    assert reply.calls == [ToolCall("t1", "read_file", {"path": "a"})]


@both
async def test_the_schema_of_an_answer_is_sent_where_the_model_is_known_to_keep_one(
    name: str,
) -> None:
    schema = require_all(answer_schema(1))
    with StrictProvider([Reply("{}")]) as server:
        await ask(model_at(server, name), replace(request(), schema=schema))
        [body] = server.bodies
    assert server.refusals == []
    sent = body.get("response_format", {}).get("json_schema", {})
    assert sent.get("schema") == (schema if name == OPENAI else None)
