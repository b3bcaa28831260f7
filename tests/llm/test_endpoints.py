"""Test that keys and base URLs are read from the variables that providers document, and that local servers are asked
for their models' windows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.price_table import find_row
from swecli.llm.profile import Profile
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound
from swecli.models.message import ModelRequest


@pytest.mark.parametrize(
    ("name", "environ", "base", "key"),
    [
        ("openai/gpt-4.1", {"OPENAI_API_KEY": "k"}, None, "k"),
        (
            "openai/gpt-4.1",
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x/v1"},
            "http://x/v1",
            "k",
        ),
        (
            "openai/gpt-4.1",
            {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://y/v1"},
            "http://y/v1",
            "k",
        ),
        ("openai/gpt-4.1", {"OPENAI_BASE_URL": "http://x/v1"}, "http://x/v1", None),
        (
            "anthropic/c",
            {"ANTHROPIC_API_KEY": " k ", "ANTHROPIC_BASE_URL": "http://x"},
            "http://x",
            "k",
        ),
        ("gemini/g", {"GOOGLE_API_KEY": "k"}, None, "k"),
        (
            "gemini/g",
            {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "k", "GEMINI_API_BASE": "http://x"},
            "http://x",
            "k",
        ),
        ("groq/openai/gpt-oss-120b", {"GROQ_API_KEY": "k"}, None, "k"),
        ("azure/mine", {"AZURE_API_KEY": "k", "AZURE_API_BASE": "http://x"}, "http://x", "k"),
        ("bedrock/mine", {}, None, None),
    ],
)
def test_base_url_and_key_are_read_from_the_environment_variables_of_the_provider(
    name: str, environ: dict[str, str], base: str | None, key: str | None
) -> None:
    endpoint = resolve(name, environ)
    assert (endpoint.base_url, endpoint.key, endpoint.name) == (base, key, name)
    assert not endpoint.local


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:9000", "http://box:9000/v1"),
        ("http://box:9000/", "http://box:9000/v1"),
        ("http://box:9000/v1", "http://box:9000/v1"),
        ("https://box/ollama", "https://box:443/ollama/v1"),
        ("[::1]:9000", "http://[::1]:9000/v1"),
    ],
)
def test_ollama_host_is_accepted_in_every_form(given: str, base: str) -> None:
    endpoint = resolve("ollama/qwen3:8b", {"OLLAMA_HOST": given})
    assert endpoint.base_url == base
    assert (endpoint.api, endpoint.model) == ("openai", "qwen3:8b")
    assert endpoint.local
    assert endpoint.key is None


def test_a_missing_key_is_an_error_that_names_the_variable_and_the_demo() -> None:
    with pytest.raises(AuthFailed) as caught:
        resolve("anthropic/claude-haiku-4-5", {"ANTHROPIC_API_KEY": " "})
    assert "ANTHROPIC_API_KEY is not set" in caught.value.message
    assert "-m demo" in caught.value.hint


@pytest.mark.parametrize("name", ["", "openai", "openai/", "/gpt", " / "])
def test_a_name_without_provider_or_model_is_refused(name: str) -> None:
    with pytest.raises(ModelNotFound, match="is not a model name"):
        resolve(name, {})


def test_an_endpoint_does_not_show_its_key() -> None:
    endpoint = resolve("openai/gpt-4.1", {"OPENAI_API_KEY": "sk-secret"})
    assert "sk-secret" not in f"{endpoint.address}{endpoint.name}{endpoint.key_name}"
    assert "sk-secret" not in repr(endpoint)


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-1\r", "schlüssel", "a\0b"])
def test_a_key_that_is_invalid_in_a_header_is_refused_without_showing_it(key: str) -> None:
    given = f"x{key}x"
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY has") as caught:
        resolve("openai/gpt-4.1", {"OPENAI_API_KEY": given})
    assert key not in str(caught.value)


@pytest.mark.parametrize("base", ["gateway", "ftp://x/v1", "http://", "https:///v1"])
def test_an_invalid_base_url_is_refused(base: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL is not an address"):
        resolve("openai/gpt-4.1", {"OPENAI_BASE_URL": base})


def test_credentials_in_an_address_are_refused_without_showing_them() -> None:
    with pytest.raises(ConfigError, match="contains credentials") as caught:
        resolve("openai/gpt-4.1", {"OPENAI_BASE_URL": "https://me:secret@gateway/v1"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "environ", "server", "reads"),
    [
        ("openai/gpt-4.1", {}, "service", False),
        ("openai/gpt-4.1", {"OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}, "service", False),
        ("openai/gpt-4.1", {"OPENAI_BASE_URL": "https://gateway.test/v1"}, "other", True),
        ("openai/qwen", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "local", True),
        ("openai/gpt-6.1-sol", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "local", False),
        ("anthropic/claude-haiku-4-5", {}, "service", False),
        ("anthropic/claude-haiku-4-5", {"ANTHROPIC_BASE_URL": "http://[::1]:9"}, "local", False),
        ("gemini/gemini-3.8-flash", {"GEMINI_BASE_URL": "http://127.0.0.1:9"}, "local", False),
        ("openrouter/z-ai/glm", {}, "service", False),
        ("dashscope/q", {"DASHSCOPE_BASE_URL": "https://x-intl.aliyuncs.com/v1"}, "service", False),
        ("bedrock/anthropic.claude", {}, "service", False),
        ("ollama/qwen3", {}, "local", True),
        ("ollama_chat/qwen3", {"OLLAMA_HOST": "http://box.test:11434"}, "local", True),
        ("llamacpp/any", {}, "local", True),
    ],
)
def test_only_a_chat_server_that_is_no_service_may_leave_calls_in_the_text(
    name: str, environ: dict[str, str], server: str, reads: bool
) -> None:
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    more = {"OPENROUTER_API_KEY": "k", "DASHSCOPE_API_KEY": "k"}
    endpoint = resolve(name, keys | more | environ)
    profile = Profile.build(endpoint, find_row(endpoint.provider, endpoint.model), {})
    assert (endpoint.server, profile.server) == (server, server)
    assert profile.reads_written_calls == reads


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
