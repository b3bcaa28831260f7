"""Test probing local servers for their models' context windows, each against a real server on the loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.profile import Profile
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.models.message import ModelRequest

OLLAMA = {
    "model_info": {"qwen3.context_length": 40_960},
    "capabilities": ["completion", "tools"],
    "parameters": "",
}
LOADED = [{"config": {"context_length": 8_192}}]


@contextmanager
def serve_json(answers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the address of a server that answers these paths with JSON."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            body = json.dumps(answers.get(self.path)).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("service", "answers", "known"),
    [
        (
            "vllm",
            {"/v1/models": {"data": [{"id": "m", "max_model_len": 16_000}]}},
            {"window": 16_000},
        ),
        (
            "llamacpp",
            {
                "/v1/models": {
                    "data": [{"id": "m", "meta": {"n_ctx": 8_192, "n_ctx_train": 131_072}}]
                }
            },
            {"window": 8_192},
        ),
        (
            "llamacpp",
            {
                "/v1/models": {"data": [{"id": "m"}]},
                "/props": {"default_generation_settings": {"n_ctx": 4_096}},
            },
            {"window": 4_096},
        ),
        (
            "openai",
            {"/props": {"default_generation_settings": {"n_ctx": 4_096}}},
            {"window": 4_096},
        ),
        ("ollama", {"/api/show": OLLAMA}, {"window": 4_096, "tools": True, "images": False}),
        (
            "ollama",
            {
                "/api/show": {},
                "/api/ps": {"models": [{"model": "m:latest", "context_length": 16_384}]},
            },
            {"window": 16_384},
        ),
        (
            "ollama",
            {"/api/show": OLLAMA | {"parameters": "num_ctx 16000\nstop x"}},
            {"window": 16_000, "tools": True, "images": False},
        ),
        (
            "ollama",
            {"/api/show": OLLAMA | {"parameters": "num_ctx 0"}},
            {"window": 4_096, "tools": True, "images": False},
        ),
        (
            "ollama",
            {"/api/show": OLLAMA, "/api/ps": {"models": [{"name": "m", "context_length": 32_768}]}},
            {"window": 32_768, "tools": True, "images": False},
        ),
        (
            "lm_studio",
            {"/api/v1/models": {"models": [{"key": "m", "loaded_instances": LOADED}]}},
            {"window": 8_192},
        ),
        (
            "lm_studio",
            {"/api/v1/models": {"models": [{"key": "m", "max_context_length": 9}]}},
            {"window": 9},
        ),
        (
            "lm_studio",
            {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 7}]}},
            {"window": 7},
        ),
        ("vllm", {"/v1/models": {"data": [{"id": "other", "max_model_len": 16_000}]}}, {}),
        ("vllm", {"/v1/models": ["odd"], "/props": {"default_generation_settings": "odd"}}, {}),
        ("ollama", {"/api/show": "odd"}, {}),
    ],
)
def test_probing_a_server_finds_the_window_and_features_of_its_model(
    service: str, answers: dict[str, Any], known: dict[str, Any]
) -> None:
    with serve_json(answers) as address:
        at = resolve(
            f"{service}/m", {f"{service.upper()}_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "k"}
        )
        assert at.probe() == known


async def test_the_window_is_asked_for_again_after_the_first_answer() -> None:
    answer = {"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    answers: dict[str, Any] = {
        "/api/show": OLLAMA,
        "/v1/chat/completions": {"choices": [answer]},
    }
    with serve_json(answers) as address:
        at = resolve("ollama/m", {"OLLAMA_BASE_URL": f"{address}/v1"})
        model = OpenAIChat(at, Profile.build(at, None, at.probe()))
        windows = [model.profile.window]
        for loaded in (32_768, 65_536):
            answers["/api/ps"] = {"models": [{"name": "m", "context_length": loaded}]}
            request = ModelRequest("ollama/m", [{"role": "user", "content": "hi"}])
            async for _chunk in model.stream(request):
                pass
            windows.append(model.profile.window)
        assert windows == [4_096, 32_768, 32_768], "once"
