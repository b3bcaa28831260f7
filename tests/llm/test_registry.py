"""Test how a model name is resolved, the one-line error for an unknown one, and the choice of the default model."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm.choosing import choose_model, live_models
from swecli.llm.registry import make_model, price_of
from swecli.llm.services import HOSTED, SERVICES
from swecli.models.errors import AuthFailed, ModelNotFound, NoModel
from swecli.models.model_choice import ModelChoice
from tests.support.local_servers import NO_LOCAL_SERVERS
from tests.support.scripted import ScriptedModel
from tests.support.strict_provider import StrictProvider

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def test_a_script_file_can_be_used_as_a_model(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(["hi"]), encoding="utf-8")
    model = make_model(f"scripted/{path}", Settings(), {})
    assert isinstance(model, ScriptedModel)
    assert model.name == f"scripted/{path}"


@pytest.mark.parametrize(
    ("name", "full", "window", "output", "encoding"),
    [
        ("openai/gpt-4.1", "openai/gpt-4.1", 1_047_576, 32_768, "o200k_base"),
        ("gpt-4.1", "openai/gpt-4.1", 1_047_576, 32_768, "o200k_base"),
        ("openai/gpt-4", "openai/gpt-4", 8_192, 4_096, "cl100k_base"),
        ("claude-haiku-4-5", "anthropic/claude-haiku-4-5", 200_000, 64_000, "o200k_base"),
        ("gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro", 1_048_576, 65_536, "o200k_base"),
        ("openai/house-model", "openai/house-model", None, None, "o200k_base"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b", None, None, "o200k_base"),
    ],
)
def test_limits_and_encoding_come_from_the_local_table(
    name: str, full: str, window: int | None, output: int | None, encoding: str
) -> None:
    model = make_model(name, Settings(), KEYS)
    known = model.profile
    assert (model.name, known.window, known.max_output, known.encoding) == (
        full,
        window,
        output,
        encoding,
    )
    assert not known.offline


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("opnai/gpt-4.1", "Did you mean openai"),
        ("antropic/claude", "Did you mean anthropic"),
        ("gpt-4.l", "Did you mean openai/gpt-4"),
        ("sonne", "swecli models sonne"),
        (" ", "provider/name"),
        ("openrouter", "openrouter/NAME"),
        ("mistral", "mistral/mistral-large"),
        ("qqqqqq/x", "provider/name"),
        ("", "provider/name"),
        ("openai/", "provider/name"),
    ],
)
def test_an_unknown_provider_or_name_is_refused_with_a_suggestion(name: str, says: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        make_model(name, Settings(), KEYS)
    assert says in str(caught.value)
    assert caught.value.exit_code == 42


def test_a_missing_key_is_an_error_when_the_model_is_made() -> None:
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY"):
        make_model("openai/gpt-4.1", Settings(), {})


def test_making_a_model_imports_no_heavy_modules() -> None:
    program = (
        "import sys\n"
        "from swecli.config.settings import Settings\n"
        "from swecli.llm.registry import make_model\n"
        "make_model('openai/gpt-4.1', Settings(), {'OPENAI_API_KEY': 'k'})\n"
        "heavy = ('litellm', 'openai', 'httpx', 'pydantic', 'tiktoken', 'swecli.tour')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


def test_a_model_setting_is_chosen_with_its_layer_and_no_server_is_probed() -> None:
    settings = Settings(model="openai/gpt-4.1", origins={"model": "flags"})
    with StrictProvider(models=("a",)) as server:
        found = choose_model(settings, {"ANTHROPIC_API_KEY": "k", "OLLAMA_HOST": server.url})
        assert found == ModelChoice("openai/gpt-4.1", "set by -m")
        assert not server.looks


def test_a_file_of_settings_in_the_home_folder_is_named_from_there() -> None:
    file = Path.home() / ".config" / "swecli" / "config.toml"
    settings = Settings(model="openai/gpt-4.1", origins={"model": str(file)})
    assert choose_model(settings, {}).reason == "set in ~/.config/swecli/config.toml"


@pytest.mark.parametrize(
    ("environ", "provider", "variable"),
    [
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "openai", "OPENAI_API_KEY"),
        ({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}, "anthropic", "ANTHROPIC_API_KEY"),
        ({"GEMINI_API_KEY": "k"}, "gemini", "GEMINI_API_KEY"),
        ({"OPENAI_API_KEY": " ", "GOOGLE_API_KEY": "k"}, "gemini", "GOOGLE_API_KEY"),
    ],
)
def test_a_key_chooses_the_default_model_of_its_provider_and_no_server_is_probed(
    environ: dict[str, str], provider: str, variable: str
) -> None:
    with StrictProvider(models=("a",)) as server:
        choice = choose_model(Settings(), environ | {"OLLAMA_HOST": server.url})
        assert choice == ModelChoice(SERVICES[provider].default_model, f"{variable} is set")
        assert not server.looks


def test_every_keyed_provider_has_a_default_model_or_a_reason_that_names_the_flag() -> None:
    chosen = {
        one.name: choose_model(
            Settings(), NO_LOCAL_SERVERS | {one.key_variables[-1]: "k"}, or_demo=True
        )
        for one in HOSTED
    }
    assert {name for name, choice in chosen.items() if choice.name == "demo"} == {
        "azure",
        "openrouter",
        "perplexity",
    }
    assert "OPENROUTER_API_KEY is set" in chosen["openrouter"].reason
    assert "-m openrouter/NAME" in chosen["openrouter"].reason


@pytest.mark.slow
def test_a_local_server_is_chosen_before_the_demo() -> None:
    with StrictProvider(models=("qwen3:8b",)) as server:
        choice = choose_model(Settings(), NO_LOCAL_SERVERS | {"OLLAMA_HOST": server.url})
    assert choice == ModelChoice("ollama/qwen3:8b", f"a local server answers on port {server.port}")


def test_the_demo_is_chosen_for_a_person_without_setting_key_or_server() -> None:
    assert choose_model(Settings(), NO_LOCAL_SERVERS, or_demo=True).name == "demo"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "no key and no local server was found"),
        ({"OPENAI_API_KEY": " "}, "no key and no local server was found"),
        ({"OPENROUTER_API_KEY": "k"}, "OPENROUTER_API_KEY is set.* -m openrouter/NAME"),
        ({"AZURE_API_KEY": "k"}, "AZURE_API_KEY is set.* -m azure/NAME"),
        ({"OWN_API_KEY": "k"}, "no key and no local server was found"),
    ],
)
def test_a_script_gets_no_demo_that_it_did_not_name(keys: dict[str, str], words: str) -> None:
    with pytest.raises(NoModel, match=words) as refused:
        choose_model(Settings(), NO_LOCAL_SERVERS | keys)
    assert refused.value.exit_code == 42
    assert choose_model(Settings(model="demo"), NO_LOCAL_SERVERS | keys).name == "demo"


@pytest.mark.slow
def test_servers_are_probed_in_order_until_one_answers() -> None:
    with StrictProvider(models=("a",)) as one, StrictProvider(models=("b",)) as other:
        bases = {"OLLAMA_HOST": f"http://127.0.0.1:{closed_port()}", "VLLM_BASE_URL": other.url}
        environ = NO_LOCAL_SERVERS | bases | {"LLAMACPP_BASE_URL": one.url}
        assert choose_model(Settings(), environ).name == "llamacpp/a"
        assert not other.looks
        assert [name.rpartition("/")[2] for name, _ in live_models(environ)] == ["a", "b"]


def test_a_server_at_0_0_0_0_is_probed_as_local() -> None:
    with StrictProvider(models=("a",)) as server:
        environ = NO_LOCAL_SERVERS | {"OLLAMA_HOST": f"0.0.0.0:{server.port}"}
        assert choose_model(Settings(), environ).name == "ollama/a"


@pytest.mark.parametrize("base", ["http://box:notaport", "http://[::1", ":::"])
def test_a_server_with_an_invalid_address_is_skipped(base: str) -> None:
    assert (
        choose_model(Settings(), NO_LOCAL_SERVERS | {"OLLAMA_HOST": base}, or_demo=True).name
        == "demo"
    )


@pytest.mark.parametrize(
    ("variable", "provider"),
    [*zip(NO_LOCAL_SERVERS, ("ollama", "lm_studio", "llamacpp", "vllm"), strict=True)],
)
@pytest.mark.slow
def test_each_local_server_gets_one_request_and_only_its_chat_models_are_found(
    variable: str, provider: str
) -> None:
    with StrictProvider(models=("nomic-embed-text", "qwen3:8b", "other")) as server:
        found = [*live_models(NO_LOCAL_SERVERS | {variable: server.url})]
        assert found == [(f"{provider}/{name}", server.port) for name in ("qwen3:8b", "other")]
    assert [look.method for look in server.looks] == ["GET"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


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
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * (2 << 20),
    ],
)
def test_responses_of_other_servers_yield_no_models(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            with suppress(OSError):  # The client may disconnect at any moment.
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(5)
                    if connection.recv(65536):
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert not [*live_models(vllm_environ(server))]
        thread.join(5)


def vllm_environ(server: socket.socket) -> dict[str, str]:
    return NO_LOCAL_SERVERS | {"VLLM_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}"}


@pytest.mark.slow
def test_a_server_that_does_not_answer_yields_no_models() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not [*live_models(vllm_environ(server))]


def test_choosing_a_model_imports_no_heavy_modules_and_resolves_no_host_names() -> None:
    program = (
        "import os, sys\n"
        "def guard(event, args):\n"
        "    if event == 'socket.getaddrinfo' and args[0] != '127.0.0.1': os._exit(9)\n"
        "sys.addaudithook(guard)\n"
        "from swecli.config.settings import Settings\n"
        "from swecli.llm.choosing import choose_model\n"
        f"choose_model(Settings(), {NO_LOCAL_SERVERS}, or_demo=True)\n"
        "heavy = ('litellm', 'openai', 'httpx', 'pydantic', 'http.client', 'asyncio', 'ssl')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_price_is_found_by_name_without_a_key_or_a_server() -> None:
    table = {
        "own": {
            "api": "openai",
            "model": "gpt-4.1",
            "key_env": "NO_SUCH_KEY",
            "price": {"input": 2, "output": 8},
        },
        "new": {"api": "openai", "base_url": "https://127.0.0.1:9/v1", "key_env": "NO_SUCH_KEY"},
    }
    settings = Settings(models=parse_models(table))
    own = price_of("own", settings, {})
    assert own == {"input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06}
    assert price_of("new", settings, {}) == {}
    listed = price_of("openai/gpt-4.1", settings, {})
    assert listed is not None
    assert listed["input_cost_per_token"] > 0
    assert price_of("nobody/nothing", settings, {}) is None
