"""Test every way in which a service can fail on a native protocol: one line that describes it, and the right error
class."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest

from swecli.llm.answer import Answer
from swecli.llm.endpoints import resolve
from swecli.llm.native import NativeModel
from swecli.llm.profile import Profile
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    RequestRefused,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.message import ModelRequest
from tests.support.databases import ROOT
from tests.support.model_requests import READ, ask, collect, model_at, model_for_endpoint, request
from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Wire
from tests.support.virtual_time import run_virtually

OPENAI, ANTHROPIC = "openai/gpt-4.1", "anthropic/claude-haiku-4-5"
both = pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
LONG = "This answer is long enough to be harmed in the middle of its text."
MIDDLE = {OPENAI: 900, ANTHROPIC: 900}
OVERFLOW = {
    OPENAI: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    ANTHROPIC: "prompt is too long: 210000 tokens > 200000 maximum",
}


async def failure(server: StrictProvider, name: str, **more: Any) -> ProviderError:
    clocks = {
        clock: more.pop(clock) for clock in ("first_byte", "first_token", "quiet") if clock in more
    }
    with pytest.raises(ProviderError) as caught:
        await ask(model_at(server, name, **clocks), request(**more))
    error = caught.value
    assert "\n" not in str(error)
    assert "litellm" not in str(error).lower()
    assert error.hint
    return error


def error_type(error: ProviderError) -> type[ProviderError]:
    return type(error)


# HTTP errors


@both
async def test_a_refused_key_is_an_error_that_names_the_variable_and_hides_the_key(
    name: str,
) -> None:
    with StrictProvider(key="another") as server:
        endpoint = resolve(
            name, server.environ() | {"OPENAI_API_KEY": "sk-bad", "ANTHROPIC_API_KEY": "sk-bad"}
        )
        with pytest.raises(AuthFailed) as caught:
            await ask(model_for_endpoint(endpoint), request())
    assert endpoint.key_name in caught.value.message
    assert caught.value.status == 401
    assert "sk-bad" not in str(caught.value)


@both
async def test_a_403_response_is_an_auth_error(name: str) -> None:
    with StrictProvider([Refusal(403, "your account may not use this model")]) as server:
        error = await failure(server, name)
    assert (error_type(error), error.status) == (AuthFailed, 403)
    assert "your account may not use this model" in error.message


@both
async def test_an_unknown_model_is_an_error_that_names_it_and_the_server(name: str) -> None:
    with StrictProvider() as server:
        error = await failure(server, f"{name.partition('/')[0]}/nonesuch")
        assert server.url in error.message
    assert (error_type(error), error.exit_code) == (ModelNotFound, 42)
    assert "nonesuch" in error.message


@both
async def test_a_429_response_sets_retry_after(name: str) -> None:
    with StrictProvider(
        [Refusal(429, "slow down", headers={"retry-after": "7"}), Refusal(429, "slow")]
    ) as server:
        with_delay, without_delay = await failure(server, name), await failure(server, name)
    assert isinstance(with_delay, Unavailable)
    assert isinstance(without_delay, Unavailable)
    assert (with_delay.retry_after, without_delay.retry_after) == (7.0, None)
    assert "slow down" in with_delay.message
    assert with_delay.exit_code == 75


async def test_an_account_without_credit_is_not_retried() -> None:
    with StrictProvider(
        [Refusal(429, "You exceeded your current quota.", code="insufficient_quota")]
    ) as server:
        error = await failure(server, OPENAI)
    assert not error.retryable
    assert "credit" in error.message


@both
@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 529])
async def test_a_transient_status_is_a_retryable_error_with_that_status(
    name: str, status: int
) -> None:
    with StrictProvider([Refusal(status, "not now")]) as server:
        error = await failure(server, name)
    assert (error_type(error), error.status, error.retryable) == (Unavailable, status, True)
    assert "not now" in error.message


@both
async def test_a_503_response_sets_retry_after(name: str) -> None:
    with StrictProvider([Refusal(503, "busy", headers={"retry-after": "12"})]) as server:
        error = await failure(server, name)
    assert isinstance(error, Unavailable)
    assert (error.retry_after, error.status) == (12.0, 503)


@pytest.mark.slow
async def test_the_litellm_fallback_sends_one_request_per_try() -> None:
    with StrictProvider([Refusal(500, "not now")] * 3, models=("m",)) as server:
        environ = {"NVIDIA_NIM_API_KEY": "test-key", "NVIDIA_NIM_BASE_URL": server.openai_base}
        model = model_for_endpoint(resolve("nvidia_nim/m", environ))
        with pytest.raises(Unavailable):
            await ask(model, request())
        assert len(server.requests) == 1
    assert isinstance(model, NativeModel)
    closed = model.to_provider_error(
        httpx.RemoteProtocolError("closed without an answer"), answering=False
    )
    assert isinstance(closed, Unavailable)
    assert closed.tries == 1, "litellm itself retries once"


@pytest.mark.slow
async def test_the_litellm_fallback_does_not_send_the_key_of_another_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    with StrictProvider([Reply("Hello.")], key=None, models=("m",)) as server:
        await ask(
            model_for_endpoint(
                resolve("nvidia_nim/m", {"NVIDIA_NIM_BASE_URL": server.openai_base})
            ),
            request(),
        )
        assert "sk-of-openai" not in str(server.requests[0].headers)


@both
async def test_a_context_overflow_error_has_the_limit(name: str) -> None:
    with StrictProvider([Refusal(400, OVERFLOW[name], code="context_length_exceeded")]) as server:
        error = await failure(server, name)
    assert isinstance(error, ContextOverflow)
    assert error.limit == {OPENAI: 128_000, ANTHROPIC: 200_000}[name]


@both
async def test_a_413_response_is_a_context_overflow(name: str) -> None:
    with StrictProvider([Refusal(413, "Request exceeds the maximum size")]) as server:
        assert error_type(await failure(server, name)) is ContextOverflow


@both
async def test_a_400_response_is_reported_with_its_message_after_one_more_try(name: str) -> None:
    with StrictProvider([Refusal(400, "messages: roles out of order")] * 2) as server:
        model = model_at(server, name)
        with pytest.raises(UnsupportedFeature, match="asked once more without"):
            await ask(model, request())
        with pytest.raises(RequestRefused) as caught:
            await ask(model, request())
    error = caught.value
    assert (error.retryable, error.status) == (False, 400)
    assert "roles out of order" in error.message


@both
async def test_a_failed_request_is_sent_once(name: str) -> None:
    with StrictProvider([Refusal(500), Refusal(500), Refusal(500)]) as server:
        await failure(server, name)
    assert len(server.requests) == 1


@both
async def test_an_html_error_page_is_reduced_to_one_short_line(name: str) -> None:
    page = b"<html>\n<h1>Bad\x1b[31m gateway</h1>\n" + b"x" * 5000
    with StrictProvider([Refusal(502, body=page)]) as server:
        error = await failure(server, name)
    assert error_type(error) is Unavailable
    assert len(error.message) < 450
    assert "\x1b" not in str(error)


# connections


async def test_an_endless_error_response_is_read_up_to_a_limit() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\r\nno such field ")
        with suppress(ConnectionError):
            while True:
                writer.write(b"x" * 10_000)
                await writer.drain()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        endpoint = resolve(OPENAI, {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": address})
        with pytest.raises(ProviderError, match="no such field"):
            await asyncio.wait_for(ask(model_for_endpoint(endpoint), request()), 20)


@both
async def test_an_unreachable_server_is_an_error_that_names_its_address(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environ = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
    }
    with pytest.raises(Unavailable) as caught:
        await ask(model_for_endpoint(resolve(name, environ)), request())
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "connection refused" in caught.value.message


@both
async def test_a_connection_closed_before_the_first_event_is_reported_as_unavailable(
    name: str,
) -> None:
    with StrictProvider([Reply("x", wire=Wire(broken_at=0))]) as server:
        assert error_type(await failure(server, name)) is Unavailable


@both
@pytest.mark.parametrize("harm", ["cut_at", "broken_at", "reset_at"])
@pytest.mark.parametrize("at", ["start", "middle", "before the end"])
async def test_a_stream_without_its_end_is_a_retryable_error(name: str, harm: str, at: str) -> None:
    offset = {"start": 30, "middle": MIDDLE[name], "before the end": MIDDLE[name] + 300}[at]
    harmed: dict[str, Any] = {harm: offset}
    with StrictProvider([Reply(LONG, wire=Wire(**harmed))]) as server:
        error = await failure(server, name)
    assert (error_type(error), error.retryable) == (Unavailable, True)


@both
async def test_a_stream_without_a_finish_reason_is_reported_as_cut_off(name: str) -> None:
    with StrictProvider([Reply(LONG, finish=None)]) as server:
        error = await failure(server, name)
    assert error_type(error) is Unavailable
    assert "cut its answer off" in error.message


@both
async def test_a_tool_call_without_a_finish_reason_is_an_error(name: str) -> None:
    call = Call("read_file", {"path": "a/very/long/path/that/comes/in/many/pieces.py"})
    with StrictProvider([Reply(calls=(call,), finish=None)]) as server:
        assert error_type(await failure(server, name, tools=[READ])) is Unavailable


@both
async def test_a_stream_cut_at_any_offset_is_either_complete_or_an_error(name: str) -> None:
    whole = Reply("Reading.", calls=(Call("read_file", {"path": "a.py"}),), piece=6)
    outcomes: list[tuple[str, dict[str, Any], dict[str, str]] | None] = []
    with StrictProvider([]) as server:
        server.script = [replace(whole, wire=Wire(cut_at=at)) for at in range(0, 2400, 97)]
        for _ in range(len(server.script)):
            try:
                reply = await ask(model_at(server, name), request(tools=[READ]))
                outcomes.append((reply.text, reply.calls[0].parameters, reply.malformed))
            except Unavailable:
                outcomes.append(None)
    complete = outcomes.index(("Reading.", {"path": "a.py"}, {}))
    assert outcomes[:complete] == [None] * complete
    assert set(map(str, outcomes[complete:])) == {str(outcomes[complete])}


@both
async def test_a_malformed_event_is_reported_as_unavailable(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(malformed=4))]) as server:
        assert error_type(await failure(server, name)) is Unavailable


@both
@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", b'{"error": {"message": "nope"}}', b"", b"data: \n\n"]
)
async def test_a_200_response_that_is_not_an_event_stream_is_an_error(
    name: str, body: bytes
) -> None:
    with StrictProvider([Reply("x", wire=Wire(body=body, content_type="text/html"))]) as server:
        error = await failure(server, name)
    assert error_type(error) is Unavailable


@both
async def test_an_empty_answer_is_an_error(name: str) -> None:
    with StrictProvider([Reply(""), Reply("", reasoning="only thoughts")]) as server:
        for _ in range(2):
            error = await failure(server, name)
            assert error_type(error) is Unavailable
            assert "empty answer" in error.message


@both
async def test_an_answer_used_up_by_reasoning_or_withheld_is_reported_and_not_retryable(
    name: str,
) -> None:
    replies = [Reply("", reasoning="thoughts", finish="length"), Reply("", finish="content_filter")]
    with StrictProvider(list(replies)) as server:
        used_up, withheld = await failure(server, name), await failure(server, name)
    assert "before it began to answer" in used_up.message
    assert "withheld" in withheld.message
    assert not used_up.retryable
    assert not withheld.retryable


async def test_an_error_in_the_middle_of_openais_stream_is_reported() -> None:
    start = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    body = (
        start
        + b'{"content":"Hel"},"finish_reason":null}]}\n\ndata: {"error":{"message":"The server had an error"}}\n\n'
    )
    with StrictProvider([Reply("x", wire=Wire(body=body))]) as server:
        error = await failure(server, OPENAI)
    assert error_type(error) is Unavailable
    assert "The server had an error" in error.message


async def test_an_error_in_the_middle_of_anthropics_stream_is_reported() -> None:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"id": "1", "role": "assistant", "content": [], "model": "m"},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ]
    events[0]["message"]["usage"] = {"input_tokens": 1, "output_tokens": 1}
    body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
    with StrictProvider([Reply("x", wire=Wire(body=body))]) as server:
        error = await failure(server, ANTHROPIC)
    assert error_type(error) is Unavailable
    assert "Overloaded" in error.message


# timeouts


@both
async def test_a_response_without_a_first_byte_times_out_and_is_not_retried(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(stall_at=0))]) as server:
        error = await failure(server, name, first_byte=0.15)
        assert await asyncio.to_thread(server.requests[0].gone.wait, 5)
    assert error_type(error) is Unavailable
    assert "sent no data for 0.15 s" in error.message
    assert isinstance(error, Unavailable)
    assert error.tries == 1, "the attempt may have been billed"
    assert "billed" in error.hint


@both
async def test_an_answer_that_stops_midway_times_out(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(stall_at=MIDDLE[name]))]) as server:
        error = await failure(server, name, quiet=0.15)
        assert await asyncio.to_thread(server.requests[0].gone.wait, 5)
    assert "stopped in its answer" in error.message


@both
async def test_silence_before_a_call_that_may_follow_has_the_longer_clock(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(stall_at=MIDDLE[name]))]) as server:
        model = model_at(server, name, quiet=0.01, before_call=0.3)
        with pytest.raises(Unavailable, match=r"sent no data for 0\.3 s"):
            await ask(model, request(tools=[READ]))


@both
async def test_comment_pings_do_not_count_as_an_answer(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(pings_at=0))]) as server:
        error = await failure(server, name, first_token=0.15)
    assert "sent no text of an answer for 0.15 s" in error.message


async def test_pauses_within_the_limit_do_not_time_out() -> None:
    with StrictProvider([Reply("a b c d", piece=1, wire=Wire(pause=0.02))]) as server:
        reply = await ask(model_at(server, OPENAI), request())
    assert reply.text == "a b c d"


async def test_the_time_of_the_consumer_does_not_count_towards_timeouts() -> None:
    with StrictProvider([Reply("a b", piece=1)]) as server:
        model, came = model_at(server, OPENAI, first_byte=0.2, first_token=0.2, quiet=0.05), ""
        async for chunk in model.stream(request()):
            came += chunk.text
            await asyncio.sleep(0.25)
    assert came == "a b"


STOPPED = """
import asyncio, os
from dataclasses import replace
from swecli.llm.endpoints import resolve
from tests.support.model_requests import model_for_endpoint, request

async def answer():
    endpoint = replace(resolve("openai/gpt-4.1", os.environ), quiet=1.5)
    text = ""
    async for chunk in model_for_endpoint(endpoint).stream(request()):
        if chunk.text and not text:
            print("began", flush=True)
        text += chunk.text
    print(text)

asyncio.run(answer())
"""


@pytest.mark.slow
def test_an_answer_that_came_while_the_process_was_stopped_is_read() -> None:
    # the last pieces come while it stands still, for longer than an answer may be silent
    reply = Reply("a b c d e f", piece=4, wire=Wire(split=300, pause=0.6))
    with StrictProvider([reply]) as server:
        program = subprocess.Popen(
            [sys.executable, "-c", STOPPED],
            env=os.environ | server.environ() | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert program.stdout
        assert program.stdout.readline() == "began\n"
        time.sleep(0.2)  # until it waits for the next piece
        program.send_signal(signal.SIGSTOP)
        time.sleep(4)
        program.send_signal(signal.SIGCONT)
        output, _ = program.communicate(timeout=20)
    assert output.splitlines()[-1] == "a b c d e f"


@both
async def test_cancelling_a_stalled_request_closes_the_connection(name: str) -> None:
    with StrictProvider([Reply(LONG, wire=Wire(stall_at=MIDDLE[name]))]) as server:
        task = asyncio.create_task(ask(model_at(server, name), request()))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.requests[0].gone.wait, 5)


class SlowChat(OpenAIChat):
    """A wire that sends these events (None for a keep-alive) three seconds apart."""

    events: Sequence[dict[str, Any] | None] = ()

    async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        answer.request_sent.set()
        for event in self.events:
            if event is not None:
                answer.read(event)
            answer.data_arrived.set()
            await asyncio.sleep(3)


def read_slowly(*events: dict[str, Any] | None) -> str:
    """Return the text of an answer that consists of these events."""
    model = SlowChat(resolve("openai/x", {"OPENAI_BASE_URL": "http://box"}), Profile())
    model.events = events
    return "".join(chunk.text for chunk in run_virtually(collect(model.stream(request()))))


def test_an_answer_with_a_finish_reason_in_every_chunk_is_read_to_its_end() -> None:
    assert (
        read_slowly(
            *(
                {"choices": [{"delta": {"content": one}, "finish_reason": "stop"}]}
                for one in "abcdef"
            )
        )
        == "abcdef"
    )


def test_an_answer_that_continues_with_keep_alives_only_times_out() -> None:
    with pytest.raises(Unavailable, match="sent no text of an answer for 900 s"):
        read_slowly({"choices": [{"delta": {"content": "a"}}]}, *[None] * 1_000)
