"""Test the rows of services: what they say is checked, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm import default_models
from swecli.llm.endpoints import resolve
from swecli.llm.price_table import deprecation_date, row_of
from swecli.llm.services import HOSTED, MODEL_NAMES, SERVICES, read_service, service_at
from swecli.models.errors import AuthFailed, ConfigError
from swecli.tools.environment import child_environment
from tests.support.model_requests import model_for_endpoint, request

CLAUDE = "anthropic/claude-haiku-4-5"


def header_of(name: str, environ: dict[str, str]) -> tuple[str, str | None]:
    endpoint = resolve(name, environ)
    return endpoint.auth, endpoint.key


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"name": "x", "dialect": "telepathy"}, "x has dialect 'telepathy', not effort or switch"),
        ({"name": "x", "auth": "basic"}, "x has auth 'basic'"),
        ({"name": "x", "api": "soap"}, "x has api 'soap'"),
        ({"name": "x", "colour": "red"}, "x has an unknown field 'colour'"),
    ],
)
def test_a_row_with_an_unknown_word_is_refused_with_its_name(
    row: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        read_service(row)


def test_a_row_has_what_follows_from_its_name_and_address() -> None:
    service = read_service({"name": "acme", "address": "https://api.acme.test/v1"})
    assert service.key_variables == ("ACME_API_KEY",)
    assert service.base_variables == ("ACME_BASE_URL", "ACME_API_BASE")
    assert (service.domains, service.auth) == (("acme.test",), "bearer")


def test_no_two_services_share_a_name_a_key_or_a_domain() -> None:
    for field in ("key_variables", "domains", "aliases"):
        values = [value for service in HOSTED for value in getattr(service, field)]
        assert len(values) == len(set(values)), field


def test_no_command_of_the_assistants_sees_a_key_or_a_header_of_a_service() -> None:
    keys = {key for service in SERVICES.values() for key in service.key_variables}
    headers = {service.more_headers for service in SERVICES.values() if service.more_headers}
    assert not (keys | headers) & child_environment(dict.fromkeys(keys | headers, "x")).keys()


def test_named_defaults_are_those_of_the_rows() -> None:
    assert SERVICES["openai"].default_model == default_models.OPENAI
    assert SERVICES["anthropic"].default_model == default_models.ANTHROPIC


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_name_that_people_type_stands_for_a_model_that_is_served(name: str) -> None:
    row = row_of(MODEL_NAMES[name])
    assert row is not None
    assert deprecation_date(row) is None


@pytest.mark.parametrize(
    ("name", "environ", "auth", "key"),
    [
        (CLAUDE, {"ANTHROPIC_API_KEY": "k"}, "x-api-key", "k"),
        (CLAUDE, {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "http://gw"}, "bearer", "t"),
        (CLAUDE, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, "x-api-key", "k"),
        ("openai/gpt-4.1", {"OPENAI_API_KEY": "k"}, "bearer", "k"),
        ("azure/mine", {"AZURE_API_KEY": "k", "AZURE_API_BASE": "https://x.azure.com"}, "api-key", "k"),
        ("azure/mine", {"AZURE_AD_TOKEN": "t", "AZURE_API_BASE": "https://x.azure.com"}, "bearer", "t"),
        ("together/x", {"TOGETHER_API_KEY": "k"}, "bearer", "k"),
        ("kimi/kimi-k3", {"KIMI_API_KEY": "k"}, "bearer", "k"),
        ("zai/glm-5.3", {"ZHIPU_API_KEY": "k"}, "bearer", "k"),
        ("grok/grok-4.7", {"GROK_API_KEY": "k"}, "bearer", "k"),
        ("openai/gpt-4.1", {"OPENAI_API_KEY": '"k"'}, "bearer", "k"),
        ("openai/gpt-4.1", {"OPENAI_API_KEY": "'k'\n"}, "bearer", "k"),
    ],
)  # fmt: skip
def test_a_key_goes_in_the_header_of_its_variable(
    name: str, environ: dict[str, str], auth: str, key: str
) -> None:
    assert header_of(name, environ) == (auth, key)


def test_a_key_with_a_newline_in_quotes_is_refused() -> None:
    with pytest.raises(AuthFailed, match="a character that no key has"):
        resolve("openai/gpt-4.1", {"OPENAI_API_KEY": '"a\nb"'})


def test_variables_of_the_services_own_tools_are_headers() -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "p"}
    sent = {"OpenAI-Organization": "org", "OpenAI-Project": "p"}
    assert resolve("openai/gpt-4.1", environ).headers == sent
    lines = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: a\nX-Cost: b: c\n"}
    assert resolve(CLAUDE, lines).headers == {"X-Team": "a", "X-Cost": "b: c"}
    for bad in ("nonsense", "Authorization: Bearer x", "X: ü"):
        with pytest.raises(ConfigError, match="ANTHROPIC_CUSTOM_HEADERS"):
            resolve(CLAUDE, lines | {"ANTHROPIC_CUSTOM_HEADERS": bad})


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.deepseek.com/anthropic", "deepseek"),
        ("https://api.moonshot.cn/v1", "moonshot"),
        ("https://open.bigmodel.cn/api/paas/v4", "zai"),
        ("https://mine.openai.azure.com/openai/v1", "azure"),
        ("https://deepseek.com.evil.test", None),
        ("http://127.0.0.1:8000", None),
        ("", None),
    ],
)
def test_a_service_is_known_by_its_address(address: str, name: str | None) -> None:
    found = service_at(address)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("google/gemini-3.8-flash", "gemini"),
        ("fireworks/glm", "fireworks_ai"),
        ("copilot/gpt-4.1", "github_copilot"),
        ("nvidia/nemotron", "nvidia_nim"),
        ("qwen/qwen3.8-max", "dashscope"),
        ("ollama_chat/qwen3", "ollama_chat"),
    ],
)
def test_other_names_of_services_are_theirs(name: str, full: str) -> None:
    assert resolve(name, {}, keyless=True).provider == full


def test_azures_newer_path_is_asked_without_litellm() -> None:
    environ = {"AZURE_API_KEY": "k", "AZURE_API_BASE": "https://x.openai.azure.com/openai/v1"}
    endpoint = resolve("azure/my-deployment", environ)
    assert (endpoint.api, endpoint.address) == ("openai", environ["AZURE_API_BASE"])
    assert resolve("azure/mine", environ | {"AZURE_API_BASE": "https://x"}).api == "litellm"


@pytest.mark.parametrize(
    ("name", "wanted", "sent"),
    [
        # a level that the model has, lower and higher ones that it lacks, and none
        ("deepseek/deepseek-v4-pro", "max", {"reasoning_effort": "max"}),
        ("deepseek/deepseek-v4-pro", "low", {"reasoning_effort": "high"}),
        ("deepseek/deepseek-v4-pro", "off", {"thinking": {"type": "disabled"}}),
        ("moonshot/kimi-k3", "max", {"reasoning_effort": "max"}),
        ("moonshot/kimi-k3", "medium", {"reasoning_effort": "low"}),
        ("moonshot/kimi-k3", "xhigh", {"reasoning_effort": "high"}),
        ("zai/glm-5.3", "off", {"thinking": {"type": "disabled"}}),
        ("zai/glm-5.3", "high", {"thinking": {"type": "enabled"}}),
        ("dashscope/qwen3.8-max", "off", {"enable_thinking": False}),
        ("dashscope/qwen3.8-max", "5000", {"enable_thinking": True, "thinking_budget": 5000}),
        ("mistral/mistral-medium-3-5", "off", {"reasoning_effort": "none"}),
        ("mistral/mistral-medium-3-5", "medium", {"reasoning_effort": "high"}),
        ("minimax/MiniMax-M3", "high", {}),
        ("openrouter/x/y", "off", {"reasoning": {"effort": "none"}}),
        ("openrouter/x/y", "3000", {"reasoning": {"max_tokens": 3000}}),
        ("vllm/qwen3", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("ollama/qwen3", "off", {"reasoning_effort": "none"}),
        ("openai/gpt-5.5", "off", {"reasoning": {"effort": "none"}}),
        ("openai/gpt-5.5", "max", {"reasoning": {"effort": "xhigh"}}),
        ("openai/gpt-6.1-sol", "off", {"reasoning": {"effort": "low"}}),
        ("openai/gpt-4.1", "high", {}),
        ("anthropic/claude-opus-5", "off", {"thinking": {"type": "disabled"}}),
        ("anthropic/claude-haiku-4-5", "off", {}),
        ("anthropic/claude-sonnet-5-5", "max", {
            "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}}),
    ],
)  # fmt: skip
def test_a_level_is_sent_in_the_words_of_the_service(
    name: str, wanted: str, sent: dict[str, Any]
) -> None:
    model: Any = model_for_endpoint(resolve(name, {}, keyless=True))
    assert model.thinking_sent(wanted, 8_000) == sent
    body = model.body(request(thinking=wanted))
    assert {field: body[field] for field in sent if field != "reasoning"} == {
        field: value for field, value in sent.items() if field != "reasoning"
    }


async def test_a_request_without_a_key_says_so_beside_a_401() -> None:
    from swecli.llm.errors import error_for_response

    endpoint = resolve(CLAUDE, {"ANTHROPIC_BASE_URL": "http://gw.test"})
    error = error_for_response(401, {}, "no", endpoint)
    assert "refused a request without a key" in error.message
    assert "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or key_env" in error.hint
