"""Test models from the user's `[models.NAME]` tables: two gateways of one protocol, keys from a variable and from a
command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import AuthFailed, ConfigError, ModelNotFound, ProviderError
from swecli.models.message import ModelReply, ModelRequest
from tests.support.model_requests import ask, request
from tests.support.strict_provider import Refusal, Reply, StrictProvider

PRINT = [sys.executable, "-S", "-c"]


def make_user_model(
    name: str, model_table: dict[str, Any], environ: dict[str, str] | None = None, **more: Any
) -> ChatModel:
    return make_model(
        name, Settings(models=parse_models({"work": model_table}), **more), environ or {}
    )


def model_table(server: StrictProvider, **more: Any) -> dict[str, Any]:
    return {"api": "openai", "model": "gpt-4.1", "base_url": server.openai_base, **more}


async def ask_with_retry(model: ChatModel, what: ModelRequest) -> ModelReply:
    builder = ReplyBuilder()
    async for chunk in stream_with_retry(model, what):
        if not isinstance(chunk, Retry):
            builder.add(chunk)
    return builder.build()


async def test_two_gateways_of_one_protocol_can_be_configured() -> None:
    with (
        StrictProvider([Reply("one")], key="k1") as first,
        StrictProvider([Reply("two")], key="k2") as second,
    ):
        tables = {
            "a": model_table(first, key_env="KEY_A"),
            "b": model_table(second, key_env="KEY_B"),
        }
        settings = Settings(models=parse_models(tables))
        environ = {"KEY_A": "k1", "KEY_B": "k2"}
        replies = [await ask(make_model(name, settings, environ), request()) for name in ("a", "b")]
        assert [reply.text for reply in replies] == ["one", "two"]
        assert (len(first.requests), len(second.requests)) == (1, 1)


async def test_a_gateway_with_the_anthropic_protocol_receives_key_headers_and_extra_fields() -> (
    None
):
    with StrictProvider([Reply("hi")], key="k1") as server:
        own = {
            "api": "anthropic",
            "model": "claude-haiku-4-5",
            "base_url": f"{server.url}/v1/",
            "key_env": "KEY",
            "headers": {"X-Team": "t-${TEAM}"},
            "extra_body": {"top_k": 3},
        }
        model = make_user_model("work", own, {"KEY": "k1", "TEAM": "blue"})
        assert (await ask(model, request())).text == "hi"
        sent = server.requests[0]
        assert (sent.headers["x-team"], sent.body["top_k"], sent.path) == (
            "t-blue",
            3,
            "/v1/messages",
        )
        assert model.name == "work"


async def test_key_command_runs_once_at_the_first_request() -> None:
    with StrictProvider([Reply("hi"), Reply("again")], key="k1") as server:
        command = [*PRINT, "open('ran', 'a').write('.'); print('k1')"]
        model = make_user_model("work", model_table(server, key_command=command))
        assert not Path("ran").exists()
        assert (await ask(model, request())).text == "hi"
        assert (await ask(model, request())).text == "again"
        assert Path("ran").read_text() == "."


@pytest.mark.parametrize(
    "wire",
    [{}, pytest.param({"api": "litellm", "model": "openai/gpt-4.1"}, marks=pytest.mark.slow)],
)
async def test_key_command_runs_again_after_a_refused_key_and_the_request_is_retried(
    wire: dict[str, str],
) -> None:
    with StrictProvider([Reply("hi")], key="new") as server:
        count = "import os; n = os.path.exists('ran'); open('ran', 'a').close(); print('new' if n else 'old')"
        model = make_user_model("work", model_table(server, key_command=[*PRINT, count], **wire))
        assert (await ask_with_retry(model, request())).text == "hi"
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_expires_between_two_requests_is_printed_again(status: int) -> None:
    expired = Refusal(status, "The access token has expired.")
    with StrictProvider([Reply("one"), expired, Reply("two")], key="k") as server:
        model = make_user_model("work", model_table(server, key_command=[*PRINT, "print('k')"]))
        assert (await ask_with_retry(model, request())).text == "one"
        assert (await ask_with_retry(model, request())).text == "two"
        assert len(server.requests) == 3


async def test_a_table_may_send_its_key_as_a_bearer_token() -> None:
    with StrictProvider(key="k", models=("claude-haiku-4-5",)) as server:
        table = {
            "api": "anthropic",
            "model": "claude-haiku-4-5",
            "base_url": server.url,
            "key_env": "KEY",
            "auth": "bearer",
        }
        with pytest.raises(AuthFailed):  # the strict service wants its own header
            await ask(make_user_model("work", table, {"KEY": "k"}), request())
        headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer k"
    assert "x-api-key" not in headers


async def test_a_key_that_is_refused_twice_is_an_error_after_two_requests() -> None:
    with StrictProvider(key="good") as server:
        model = make_user_model(
            "work", model_table(server, key_command=[*PRINT, "print('bad-secret')"])
        )
        with pytest.raises(AuthFailed, match="refused the key in key_command") as caught:
            await ask_with_retry(model, request())
        assert len(server.requests) == 2
        assert "bad-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("print('k1-secret'); print('k2')", "printed more than one line"),
        ("pass", "printed nothing"),
        ("print('k1-secret'); raise SystemExit(3)", "failed with exit code 3"),
    ],
)
async def test_a_key_command_that_prints_no_valid_key_is_an_error_and_no_request_is_sent(
    program: str, says: str
) -> None:
    with StrictProvider() as server:
        model = make_user_model("work", model_table(server, key_command=[*PRINT, program]))
        with pytest.raises(AuthFailed, match=says) as caught:
            await ask(model, request())
        assert "secret" not in str(caught.value)
        assert not server.requests


async def test_a_missing_key_command_is_an_error_that_names_it() -> None:
    model = make_user_model(
        "work",
        {"api": "openai", "base_url": "http://127.0.0.1:9/v1", "key_command": ["no-such-program"]},
    )
    with pytest.raises(AuthFailed, match="key_command no-such-program cannot be started"):
        await ask(model, request())


async def test_a_custom_base_url_does_not_receive_the_key_of_the_provider() -> None:
    with StrictProvider([Reply("hi")], key=None) as server:
        model = make_user_model("work", model_table(server), {"OPENAI_API_KEY": "sk-openai"})
        assert (await ask(model, request())).text == "hi"
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("own", "environ", "error", "says"),
    [
        (
            {"api": "openai", "key_env": "KEY"},
            {},
            AuthFailed,
            "KEY is not set, so work cannot be used",
        ),
        (
            {"api": "openai", "key_env": "KEY"},
            {"KEY": "a\nb"},
            AuthFailed,
            "KEY has a character that no key has",
        ),
        ({"api": "openai"}, {}, AuthFailed, "OPENAI_API_KEY is not set"),
        ({"model": "opnai/gpt"}, {}, ModelNotFound, "Did you mean openai"),
        (
            {"base_url": "http://h/v1"},
            {},
            ModelNotFound,
            r'Set api = "openai" or "anthropic" in \[models.work\]',
        ),
        (
            {"api": "openai", "base_url": "http://h/v1", "headers": {"X": "${TEAM}"}},
            {},
            ConfigError,
            r"TEAM, which a header of \[models.work\] names, is not set",
        ),
        (
            {"api": "openai", "base_url": "http://h/v1", "headers": {"X": "${TEAM}"}},
            {"TEAM": "a\nb"},
            ConfigError,
            r"TEAM, which a header",
        ),
    ],
)
def test_a_model_table_that_cannot_be_used_is_an_error_when_the_model_is_made(
    own: dict[str, Any], environ: dict[str, str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make_user_model("work", own, environ)


def test_a_model_table_overrides_the_other_layers_of_the_profile() -> None:
    own = {
        "model": "openai/gpt-4.1",
        "context_window": 50_000,
        "max_output": 2_000,
        "tools": False,
        "price": {"input": 2, "output": 8, "cache_read": 0.5},
        "first_byte": 7,
    }
    model: Any = make_user_model("work", own, {"OPENAI_API_KEY": "k"})
    known = model.profile
    assert (known.window, known.max_output, known.tools, known.system_role) == (
        50_000,
        2_000,
        False,
        True,
    )
    assert (known.origins["window"], known.origins["price"]) == ("config", "config")
    assert known.price["cache_read_input_token_cost"] == pytest.approx(0.5e-6)
    assert (model.endpoint.first_byte, model.endpoint.quiet) == (7.0, 120.0)
    assert model.endpoint.before_call == 7.0
    assert model.endpoint.address == "https://api.openai.com/v1"


def test_a_table_named_like_a_known_model_overrides_only_what_it_sets() -> None:
    settings = Settings(models=parse_models({"openai/gpt-4.1": {"context_window": 9_000}}))
    model = make_model("openai/gpt-4.1", settings, {"OPENAI_API_KEY": "k"})
    assert (model.profile.window, model.profile.max_output) == (9_000, 32_768)


async def test_thinking_of_the_table_is_used_unless_the_request_sets_it() -> None:
    with StrictProvider([Reply("a"), Reply("b")], models=("gpt-5",)) as server:
        model = make_user_model(
            "work",
            model_table(server, model="gpt-5", key_env="KEY", thinking="high"),
            {"KEY": "test-key"},
        )
        await ask(model, request())
        await ask(model, request(thinking="low"))
        assert [body["reasoning_effort"] for body in server.bodies] == ["high", "low"]


async def test_an_unknown_model_is_an_error_that_suggests_similar_names() -> None:
    with StrictProvider(models=("qwen3:8b", "gpt-4.1")) as server:
        model = make_user_model(
            "work", model_table(server, model="qwen3:8", key_env="KEY"), {"KEY": "test-key"}
        )
        with pytest.raises(ModelNotFound, match=r"Did you mean openai/qwen3:8b"):
            await ask(model, request())
        far = make_model("anthropic/claude-sonet-4-5", Settings(), server.environ())
        with pytest.raises(ModelNotFound, match=r"Did you mean anthropic/claude-sonnet-4-5"):
            await ask(far, request())


async def test_a_redirect_to_another_host_is_an_error_and_is_not_followed() -> None:
    with StrictProvider(key=None) as other:
        there = Refusal(
            307, headers={"location": f"http://localhost:{other.port}/v1/chat/completions"}
        )
        with StrictProvider([there]) as server:
            model = make_user_model("work", model_table(server, key_env="KEY"), {"KEY": "test-key"})
            with pytest.raises(
                ProviderError, match=rf"redirects to http://localhost:{other.port}/"
            ):
                await ask(model, request())
        assert not other.requests
