"""Test base URLs that lead to nothing, to another protocol, or to it only with a version."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import ModelNotFound, ProviderError
from tests.support.model_requests import READ, model_for_endpoint, request
from tests.support.strict_provider import Received, Refusal, Reply, StrictProvider

SOL = "gpt-6.1-sol"
MODELS = ("gpt-4.1", SOL, "gpt-7")


async def answer_of(server: StrictProvider, name: str, base: str) -> tuple[str, list[str]]:
    """Return the answer of a model at this base URL, and the notices."""
    environ = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": base}
    model: Any = model_for_endpoint(resolve(f"openai/{name}", environ))
    builder = ReplyBuilder()
    notices: list[str] = []
    async for item in stream_with_retry(model, request(tools=[READ])):
        if isinstance(item, Retry):
            notices.append(item.reason)
        else:
            builder.add(item)
    return builder.build().text, notices


def paths(server: StrictProvider) -> list[str]:
    return [received.path for received in server.requests]


def only_with_version(received: Received) -> Reply | Refusal:
    is_versioned = received.path.startswith("/v1/")
    return Reply("ok") if is_versioned else Refusal(404, "Not Found")


@pytest.mark.parametrize(
    ("name", "path"), [("gpt-4.1", "/chat/completions"), (SOL, "/openai/v1/responses")]
)
async def test_an_address_without_a_version_is_asked_once_more_with_one(
    name: str, path: str
) -> None:
    with StrictProvider(only_with_version, models=MODELS) as server:
        base = server.url
        text, notices = await answer_of(server, name, base)
        again, _ = await answer_of(server, name, f"{base}/v1")
    assert (text, again) == ("ok", "ok")
    assert f"{base}/v1 is asked: without /v1 there was nothing" in notices[0]


async def test_a_gateway_that_has_nothing_at_all_is_blamed_after_few_requests() -> None:
    with StrictProvider(lambda _: Refusal(404, "Not Found"), models=MODELS) as server:
        for name, most in (("gpt-4.1", 2), (SOL, 3)):
            before = len(server.requests)
            with pytest.raises(ProviderError, match="has nothing at the path") as caught:
                await answer_of(server, name, server.url)
            assert "base URL" in caught.value.hint
            assert len(server.requests) - before <= most


async def test_an_unknown_model_at_a_gateway_is_asked_for_once() -> None:
    with (
        StrictProvider([], models=("gpt-4.1",)) as server,
        pytest.raises(ModelNotFound, match="does not exist"),
    ):
        await answer_of(server, SOL, server.openai_base)
    assert paths(server) == ["/v1/responses"]


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(400, 'model "gpt-7" is not accessible via the /chat/completions endpoint'),
        Refusal(400, "no", "unsupported_api_for_model"),
    ],
)
async def test_a_model_that_has_only_the_other_protocol_is_asked_over_it(refusal: Refusal) -> None:
    def service(received: Received) -> Reply | Refusal:
        return refusal if received.protocol == "openai" else Reply("ok")

    with StrictProvider(service, models=MODELS) as server:
        text, _ = await answer_of(server, "gpt-7", server.openai_base)
    assert text == "ok"
    assert paths(server) == ["/v1/chat/completions", "/v1/responses"]
