"""The first model: what was set, what keys say, what answers on this machine, or the demo."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from swecli.config.settings import Settings
from swecli.llm.default_model import Found, choose_model, find_local
from swecli.llm.endpoints import KEYED, SERVICES
from swecli.models.message import Choice
from tests.support.strict_provider import StrictProvider


def nothing(places: Sequence[tuple[str, int]]) -> Found | None:
    return None


def never(places: Sequence[tuple[str, int]]) -> Found | None:
    raise AssertionError("no server may be asked")


def test_a_setting_wins_and_says_which_layer_it_came_from() -> None:
    settings = Settings(model="openai/gpt-4.1", origins={"model": "flags"})
    assert choose_model(settings, {"ANTHROPIC_API_KEY": "k"}, never) == Choice("openai/gpt-4.1", "set by -m")


@pytest.mark.parametrize(
    ("environ", "provider", "variable"),
    [
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "openai", "OPENAI_API_KEY"),
        ({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}, "anthropic", "ANTHROPIC_API_KEY"),
        ({"GEMINI_API_KEY": "k"}, "gemini", "GEMINI_API_KEY"),
        ({"OPENAI_API_KEY": " ", "GOOGLE_API_KEY": "k"}, "gemini", "GOOGLE_API_KEY"),
    ],
)
def test_a_key_chooses_its_providers_model(environ: dict[str, str], provider: str, variable: str) -> None:
    choice = choose_model(Settings(), environ, never)
    assert choice == Choice(SERVICES[provider].default_model, f"{variable} is set")


def test_each_keyed_provider_of_the_table_has_a_default_and_the_others_say_what_to_do() -> None:
    chosen = {one.name: choose_model(Settings(), {one.keys[-1]: "k"}, nothing) for one in KEYED}
    assert {name for name, choice in chosen.items() if choice.name == "demo"} == {"openrouter", "perplexity"}
    assert "OPENROUTER_API_KEY is set" in chosen["openrouter"].why
    assert "-m openrouter/NAME" in chosen["openrouter"].why


def test_a_local_server_comes_before_the_demo() -> None:
    choice = choose_model(Settings(), {}, lambda places: Found("ollama", 11434, "qwen3:8b"))
    assert choice.name == "ollama/qwen3:8b"
    assert "11434" in choice.why


def test_without_anything_it_is_the_demo() -> None:
    assert choose_model(Settings(), {}, nothing).name == "demo"


def test_the_usual_ports_are_asked_in_order() -> None:
    asked: list[tuple[str, int]] = []
    choose_model(Settings(), {}, lambda places: asked.extend(places))  # type: ignore[func-returns-value]
    assert asked == [("ollama", 11434), ("lm_studio", 1234), ("llamacpp", 8080), ("vllm", 8000)]


def test_a_variable_moves_a_port_and_another_machine_is_never_asked() -> None:
    asked: list[tuple[str, int]] = []
    environ = {"OLLAMA_HOST": "0.0.0.0:9999", "LM_STUDIO_API_BASE": "http://example.org:1234/v1"}
    choose_model(Settings(), environ, lambda places: asked.extend(places))  # type: ignore[func-returns-value]
    assert asked == [("ollama", 9999), ("llamacpp", 8080), ("vllm", 8000)]


@pytest.mark.parametrize("base", ["http://box:notaport", "http://[::1", ":::"])
def test_an_address_nobody_can_read_is_not_asked(base: str) -> None:
    assert choose_model(Settings(), {"OLLAMA_HOST": base}, nothing).name == "demo"


@pytest.mark.parametrize("provider", ["ollama", "lm_studio", "vllm", "llamacpp"])
def test_a_server_that_answers_is_asked_for_its_first_chat_model(provider: str) -> None:
    with StrictProvider(models=("nomic-embed-text", "qwen3:8b", "other")) as server:
        assert find_local([(provider, server.port)]) == Found(provider, server.port, "qwen3:8b")
    assert [look.method for look in server.looks] == ["GET"]


def test_the_first_place_that_answers_wins() -> None:
    with StrictProvider(models=("a",)) as one, StrictProvider(models=("b",)) as other:
        found = find_local([("ollama", closed_port()), ("vllm", one.port), ("llamacpp", other.port)])
    assert found == Found("vllm", one.port, "a")


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nothing_listening_is_nothing_found() -> None:
    assert find_local([("ollama", closed_port()), ("vllm", closed_port())]) is None
    assert find_local([]) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"220 mail ready\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n<html>a web app</html>",
        b"HTTP/1.1 200 OK\r\n\r\n[]",
        b'HTTP/1.1 200 OK\r\n\r\n{"data": "x"}',
        b'HTTP/1.1 200 OK\r\n\r\n{"data": [{"id": 5}, 7, {"id": "evil\\u001b[31m"}]}',
        b'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{"data": [{"id": "a"}]}',
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * (2 << 20),
    ],
)
def test_other_servers_on_those_ports_are_not_taken_for_models(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            with suppress(OSError):  # the client may have had enough at any moment
                for _ in range(2):  # the first connection only asks whether anybody is there
                    connection, _ = server.accept()
                    with connection:
                        connection.settimeout(5)
                        if connection.recv(65536):
                            connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert find_local([("vllm", server.getsockname()[1])]) is None
        thread.join(5)


def test_a_server_that_never_answers_does_not_hold_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert find_local([("vllm", server.getsockname()[1])]) is None


def test_choosing_imports_nothing_heavy_and_looks_up_no_name() -> None:
    program = (
        "import os, sys\n"
        "def guard(event, args):\n"
        "    if event == 'socket.getaddrinfo' and args[0] != '127.0.0.1': os._exit(9)\n"
        "sys.addaudithook(guard)\n"
        "from swecli.config.settings import Settings\n"
        "from swecli.llm.default_model import choose_model\n"
        "choose_model(Settings(), {})\n"
        "heavy = ('litellm', 'openai', 'httpx', 'pydantic', 'http.client', 'asyncio', 'ssl')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
