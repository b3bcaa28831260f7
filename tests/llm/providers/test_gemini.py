"""Test Gemini through litellm: finish reasons in the middle of a stream, and signatures that must be sent back
unchanged."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from swecli.llm.base import ChatModel
from swecli.llm.endpoints import resolve
from swecli.models.errors import ProviderError, Unavailable, UnsupportedFeature
from swecli.models.message import Usage
from tests.support.model_requests import HELLO, READ, ask, model_for_endpoint, request

pytestmark = pytest.mark.slow  # Slow because litellm itself runs over HTTP, at many offsets.

COUNTS = {
    "promptTokenCount": 20,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 3,
    "cachedContentTokenCount": 5,
}
SIGNATURE = "c2lnbmF0dXJl+/=="


def part(**fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [fields], "role": "model"}, "index": 0}]}


def call(path: str, **more: Any) -> dict[str, Any]:
    return part(functionCall={"name": "read_file", "args": {"path": path}}, **more)


def end(reason: str = "STOP") -> dict[str, Any]:
    piece = part(text="")
    piece["candidates"][0]["finishReason"] = reason
    return piece | {"usageMetadata": COUNTS}


def quota_error() -> dict[str, Any]:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    return {
        "error": {
            "code": 429,
            "message": "Quota exceeded.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [delay],
        }
    }


@contextmanager
def serve_gemini(
    *pieces: dict[str, Any], status: int = 200
) -> Iterator[tuple[ChatModel, list[dict[str, Any]]]]:
    """Yield a model at a server that answers every request with these parts, and the requests it received."""
    received: list[dict[str, Any]] = []
    stream = "".join(f"data: {json.dumps(piece)}\r\n\r\n" for piece in pieces).encode()
    body = stream if status == 200 else json.dumps(pieces[0]).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(status)
            self.send_header(
                "content-type", "text/event-stream" if status == 200 else "application/json"
            )
            self.send_header("content-length", str(len(body)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}/v1beta"
        environ = {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": base}
        yield model_for_endpoint(resolve("gemini/gemini-3.8-flash", environ)), received
        server.shutdown()
        thread.join(5)


async def test_text_calls_and_usage_are_read() -> None:
    with serve_gemini(part(text="Hel"), part(text="lo"), call("a"), call("b"), end()) as (model, _):
        reply = await ask(model, request(tools=[READ]))
    assert reply.text == "Hello"
    assert [c.parameters for c in reply.calls] == [{"path": "a"}, {"path": "b"}]
    assert reply.stop == "tool_calls"
    assert reply.usage == Usage(input=15, cache_read=5, output=7, reasoning=3)
    assert reply.cost is not None


async def test_a_stream_without_its_last_chunk_is_reported_as_cut_off() -> None:
    with (
        serve_gemini(part(text="Hel"), part(text="lo")) as (model, _),
        pytest.raises(Unavailable, match="cut its answer off"),
    ):
        await ask(model, request())


async def test_an_answer_truncated_by_its_length_has_the_stop_reason_length() -> None:
    with serve_gemini(part(text="Hel"), end("MAX_TOKENS")) as (model, _):
        assert (await ask(model, request())).stop == "length"


async def test_a_prompt_that_is_blocked_is_reported_as_withheld() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": COUNTS}
    with (
        serve_gemini(blocked) as (model, _),
        pytest.raises(ProviderError, match="withheld the answer"),
    ):
        await ask(model, request())


async def test_the_litellm_fallback_omits_refused_tools_from_the_next_request() -> None:
    words = "Function calling is not enabled for models/gemma-3"
    refusal = {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}
    with serve_gemini(refusal, status=400) as (model, received):
        with pytest.raises(UnsupportedFeature, match="does not support tools"):
            await ask(model, request(tools=[READ]))
        with pytest.raises(ProviderError, match="not enabled"):
            await ask(model, request(tools=[READ]))
    assert ["tools" in body for body in received] == [True, False]


async def test_a_thought_signature_is_sent_back_unchanged() -> None:
    with serve_gemini(call("a", thoughtSignature=SIGNATURE), call("b"), end()) as (model, received):
        first = await ask(model, request(tools=[READ]))
        for made in first.calls:
            made.result = "text"
        assistant = {
            "role": "assistant",
            "content": None,
            "tool_calls": [made.to_api() for made in first.calls],
        }
        results = [made.result_message() for made in first.calls]
        await ask(model, request([*HELLO, assistant, *results], tools=[READ]))
    parts = received[1]["contents"][1]["parts"]
    assert parts[0]["thoughtSignature"] == SIGNATURE
    assert [p["functionResponse" if "functionResponse" in p else "function_response"]["response"] for p in
            received[1]["contents"][2]["parts"]] == [{"content": "text"}] * 2  # fmt: skip


async def test_a_429_response_sets_retry_after() -> None:
    with (
        serve_gemini(quota_error(), status=429) as (model, _),
        pytest.raises(Unavailable) as caught,
    ):
        await ask(model, request())
    assert caught.value.retry_after == 17.0
