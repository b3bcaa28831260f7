"""Test that the strict provider implements both protocols, records requests, and sends replies with the requested
faults."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any

import pytest

from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Tokens, Wire

USER = {"role": "user", "content": "hi"}


def post(
    server: StrictProvider, body: Any, *, path: str = "/v1/chat/completions", **headers: str
) -> tuple[int, str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        given = {
            "authorization": "Bearer test-key",
            "x-api-key": "test-key",
            "anthropic-version": "2023-06-01",
        }
        connection.request(
            "POST", path, raw, given | {k.replace("_", "-"): v for k, v in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def openai(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": [USER]} | more


def anthropic(**more: Any) -> dict[str, Any]:
    return {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": [USER]} | more


def data(text: str) -> list[Any]:
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def test_openai_text_is_streamed_in_chunks_and_ends_with_a_finish_reason_and_done() -> None:
    with StrictProvider([Reply("Hello, you there")]) as server:
        status, text = post(server, openai(stream=True))
    chunks = data(text)
    assert status == 200
    assert (
        "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks[:-1])
        == "Hello, you there"
    )
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1] == "[DONE]"
    assert len(chunks) > 4


def test_openai_usage_is_sent_only_if_requested() -> None:
    with StrictProvider([Reply("x"), Reply("x", usage=Tokens(10, 5, 0, 9, 2))]) as server:
        _, without = post(server, openai(stream=True))
        _, with_usage = post(server, openai(stream=True, stream_options={"include_usage": True}))
    assert all("usage" not in c for c in data(without)[:-1])
    usage = data(with_usage)[-2]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (15, 11)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 5
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 2


def test_openai_tool_calls_are_streamed_in_chunks_with_their_index() -> None:
    calls = (Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}, id="mine"))
    with StrictProvider([Reply(calls=calls)]) as server:
        _, text = post(server, openai(stream=True))
    deltas = [c["choices"][0]["delta"]["tool_calls"][0] for c in data(text)[1:-2]]
    for index, path in ((0, "a"), (1, "b")):
        pieces = [d["function"]["arguments"] for d in deltas if d["index"] == index]
        assert len(pieces) > 2
        assert json.loads("".join(pieces)) == {"path": path}
    assert [d["id"] for d in deltas if "id" in d] == ["call_0_0", "mine"]


def test_anthropic_blocks_are_streamed_in_order_with_usage_and_stop_reason() -> None:
    reply = Reply(
        "Hello",
        reasoning="hm",
        calls=(Call("read_file", {"path": "a"}),),
        usage=Tokens(10, 5, 3, 9, 2),
    )
    with StrictProvider([reply]) as server:
        _, text = post(server, anthropic(stream=True), path="/v1/messages")
    events = data(text)
    kinds = [e["content_block"]["type"] for e in events if e["type"] == "content_block_start"]
    assert kinds == ["thinking", "text", "tool_use"]
    assert events[0]["message"]["usage"]["cache_creation_input_tokens"] == 3
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["output_tokens"] == 11
    assert events[-1]["type"] == "message_stop"


@pytest.mark.parametrize(
    ("body", "path"), [(openai(), "/v1/chat/completions"), (anthropic(), "/v1/messages")]
)
def test_a_request_without_stream_gets_one_json_object(body: dict[str, Any], path: str) -> None:
    with StrictProvider([Reply("Hello", calls=(Call("f"),))]) as server:
        status, text = post(server, body, path=path)
    assert status == 200
    assert "Hello" in text
    assert json.loads(text)["model"] == body["model"]


def test_every_request_is_recorded_with_its_raw_body_and_headers() -> None:
    raw = json.dumps(openai()).encode()
    with StrictProvider([Reply("x")]) as server:
        post(server, raw, x_mine="yes")
    assert server.requests[0].raw == raw
    assert server.requests[0].headers["x-mine"] == "yes"
    assert server.requests[0].protocol == "openai"


def test_a_script_can_be_a_function_of_the_request() -> None:
    with StrictProvider(
        lambda received: Reply(f"{len(received.body['messages'])} messages")
    ) as server:
        _, text = post(server, openai())
    assert "1 messages" in text


def test_a_request_after_the_end_of_the_script_gets_a_500_and_is_recorded_as_refused() -> None:
    with StrictProvider([]) as server:
        status, text = post(server, openai())
    assert status == 500
    assert "script is over" in text
    assert server.refusals == ["the script is over"]


def test_a_refusal_has_the_protocols_shape_status_and_headers() -> None:
    with StrictProvider(
        [Refusal(429, "slow", headers={"retry-after": "7"}), Refusal(529, "busy")]
    ) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request(
            "POST",
            "/v1/chat/completions",
            json.dumps(openai()),
            {"authorization": "Bearer test-key"},
        )
        answer = connection.getresponse()
        assert answer.headers["retry-after"] == "7"
        assert json.loads(answer.read())["error"]["message"] == "slow"
        connection.close()
        status, text = post(server, anthropic(), path="/v1/messages")
    assert status == 529
    assert json.loads(text)["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize(
    ("path", "header"), [("/v1/chat/completions", "authorization"), ("/v1/messages", "x-api-key")]
)
@pytest.mark.parametrize("value", ["", "Bearer wrong", "wrong"])
def test_a_wrong_key_is_401(path: str, header: str, value: str) -> None:
    with StrictProvider([]) as server:
        status, _ = post(server, openai(), path=path, **{header.replace("-", "_"): value})
    assert status == 401


def test_an_unknown_model_is_404() -> None:
    with StrictProvider([]) as server:
        assert post(server, openai(model="nonesuch"))[0] == 404
        assert post(server, anthropic(model="nonesuch"), path="/v1/messages")[0] == 404
        assert post(server, openai(), path="/v1/nonesuch")[0] == 404


def test_models_are_listed_under_v1_models_and_api_tags() -> None:
    with StrictProvider(models=("m-1",)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("GET", "/v1/models")
        assert json.loads(connection.getresponse().read())["data"][0]["id"] == "m-1"
        connection.request("GET", "/api/tags")
        assert json.loads(connection.getresponse().read())["models"][0]["name"] == "m-1"
        connection.close()


# faults


def raw_stream(server: StrictProvider) -> bytes:
    """Return all bytes of the response until the connection ends or is idle for a moment."""
    body = json.dumps(openai(stream=True)).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer test-key\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(head.encode() + body)
        connection.settimeout(0.3)
        try:
            while piece := connection.recv(65536):
                received += piece
        except TimeoutError:
            received += b"<quiet>"
        except ConnectionResetError:
            received += b"<reset>"
    return received


def test_a_cut_response_is_complete_http_without_done() -> None:
    with StrictProvider([Reply("Hello there", wire=Wire(cut_at=250))]) as server:
        received = raw_stream(server)
    assert received.endswith(b"0\r\n\r\n")
    assert b"[DONE]" not in received


def test_a_broken_response_ends_without_the_last_http_chunk() -> None:
    with StrictProvider([Reply("Hello there", wire=Wire(broken_at=250))]) as server:
        received = raw_stream(server)
    assert not received.endswith(b"0\r\n\r\n")
    assert b"Hello" not in received


def test_a_reset_response_ends_with_a_connection_reset() -> None:
    with StrictProvider([Reply("Hello there", wire=Wire(reset_at=250))]) as server:
        assert raw_stream(server).endswith(b"<reset>")


@pytest.mark.slow
def test_a_stalled_response_stays_open_and_records_that_the_client_disconnected() -> None:
    with StrictProvider([Reply("Hello there", wire=Wire(stall_at=250))]) as server:
        assert raw_stream(server).endswith(b"<quiet>")
        assert server.requests[0].gone.wait(5)


def test_pings_are_sent_as_comments_until_the_client_disconnects() -> None:
    with StrictProvider([Reply("Hello there", wire=Wire(pings_at=0))]) as server:
        body = json.dumps(openai(stream=True)).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer test-key\r\ncontent-length: {len(body)}"
        with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
            received = b""
            while received.count(b": keep-alive") < 3:
                received += connection.recv(65536)
        assert server.requests[0].gone.wait(5)


def test_malformed_events_foreign_bodies_and_split_packets_are_sent() -> None:
    wires = [Wire(malformed=1), Wire(body=b"<html>", content_type="text/html"), Wire(split=1)]
    with StrictProvider([Reply("Hé", wire=wire) for wire in wires]) as server:
        _, malformed = post(server, openai(stream=True))
        _, foreign = post(server, openai(stream=True))
        _, split = post(server, openai(stream=True))
    assert '{"broken": \n' in malformed
    assert foreign == "<html>"
    assert data(split)[1]["choices"][0]["delta"]["content"] == "Hé"
