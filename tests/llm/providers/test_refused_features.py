"""Test that a parameter which a service refuses is left out, once, and remembered for the next request."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.registry import create_model
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import ProviderError
from swecli.models.message import ModelReply, ToolSpec
from tests.support.model_requests import READ, ask, request
from tests.support.runtime import event_types, make_runtime, run_turn
from tests.support.strict_provider import Received, Refusal, Reply, StrictProvider, Wire
from tests.support.strict_provider.script import Script

pytestmark = pytest.mark.slow

Answer = Refusal | Reply


class RetryingClient:
    """A model at a strict service, with retries."""

    def __init__(
        self,
        server: StrictProvider,
        name: str = "openai/gpt-4.1",
        learned: dict[str, Any] | None = None,
    ) -> None:
        self.learned: dict[str, Any] = {} if learned is None else learned
        self.model = create_model(resolve(name, server.environ()), None, self.learned)
        self.notices: list[Retry] = []

    async def reply(self, **more: Any) -> ModelReply:
        builder = ReplyBuilder()
        async for item in stream_with_retry(self.model, request(tools=[READ], **more)):
            if isinstance(item, Retry):
                self.notices.append(item)
            else:
                builder.add(item)
        return builder.build()


def refuse_if(words: str, seen: Callable[[dict[str, Any]], bool]) -> Callable[[Received], Answer]:
    """Return a script that refuses requests for which `seen` is true."""
    return lambda received: Refusal(400, words) if seen(received.body) else Reply("Hello.")


@pytest.mark.parametrize(
    ("words", "seen", "notice"),
    [
        (
            "this model does not support tools",
            lambda body: "tools" in body,
            "does not support tools",
        ),
        (
            "System role not supported",
            lambda body: body["messages"][0]["role"] == "system",
            "has no system role",
        ),
        (
            "unknown field stream_options",
            lambda body: "stream_options" in body,
            "does not accept stream_options",
        ),
        ("stream: not supported", lambda body: body.get("stream"), "does not accept stream"),
    ],
    ids=["tools", "system", "stream_options", "stream"],
)
async def test_a_refused_parameter_is_left_out_in_the_retry_and_in_later_requests(
    words: str, seen: Callable[[dict[str, Any]], bool], notice: str
) -> None:
    with StrictProvider(refuse_if(words, seen)) as server:
        asked = RetryingClient(server)
        assert (await asked.reply()).text == "Hello."
        assert len(server.requests) == 2
        assert [notice in one.reason for one in asked.notices] == [True]
        assert (await asked.reply()).text == "Hello."
        # the same session knows the fact, another one asks again
        assert (await RetryingClient(server, learned=asked.learned).reply()).text == "Hello."
        assert len(server.requests) == 4
        assert (await RetryingClient(server).reply()).text == "Hello."
        assert len(server.requests) == 6


async def test_a_refused_field_of_a_schema_leaves_an_argument_of_that_name() -> None:
    argument = {"type": "string", "default": "a"}
    schema = {"type": "object", "properties": {"default": argument}, "required": ["default"]}
    with StrictProvider([Reply("Hello.")]) as server:
        model = create_model(resolve("openai/gpt-4.1", server.environ()), None)
        model.profile = replace(model.profile, off=frozenset({"default"}))
        await ask(model, request(tools=[ToolSpec("choose", "Chooses.", schema)]))
    sent = server.bodies[0]["tools"][0]["function"]["parameters"]
    assert sent == schema | {"properties": {"default": {"type": "string"}}}


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>This model does not support tools</body></html>",
        b'\xef\xbb\xbf <!doctype html><script>{"error": "does not support tools"}</script>',
        json.dumps({"error": "<html>this model does not support tools</html>"}).encode(),
    ],
)
async def test_a_page_teaches_nothing(body: bytes) -> None:
    page = Reply(wire=Wire(status=400, body=body, content_type="text/html"))
    with StrictProvider([page, page]) as server:
        asked = RetryingClient(server)
        with pytest.raises(ProviderError, match="refused the request"):
            await asked.reply()
        assert len(server.requests) == 1
    assert asked.model.profile.tools
    assert asked.notices == []


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "anthropic/claude-haiku-4-5"])
async def test_an_error_inside_a_stream_teaches_nothing(name: str) -> None:
    error = {"type": "error", "error": {"code": "400", "message": "does not support tools"}}
    answer = Reply(wire=Wire(body=f"data: {json.dumps(error)}\n\n".encode()))
    models = (name.partition("/")[2],)
    with StrictProvider([answer] * 3, models=models) as server:
        asked = RetryingClient(server, name)
        with pytest.raises(ProviderError, match="does not support tools"):
            await asked.reply()
        assert len(server.requests) == 1
    assert asked.model.profile.tools
    assert asked.notices == []


async def test_a_stream_error_is_retried_with_streaming() -> None:
    words = "stream error: stream ID 7; INTERNAL_ERROR; received from peer"
    with StrictProvider(
        [Refusal(500, words, headers={"retry-after": "0"}), Reply("Hello.")]
    ) as server:
        assert (await RetryingClient(server).reply()).text == "Hello."
    assert server.bodies[1]["stream"] is True


async def test_a_retry_without_tools_states_so_in_the_system_message() -> None:
    with StrictProvider(
        refuse_if("does not support tools", lambda body: "tools" in body)
    ) as server:
        await RetryingClient(server).reply()
    assert "no tools in this conversation" in server.bodies[1]["messages"][0]["content"]


async def test_without_system_role_the_system_text_precedes_the_text_of_the_user() -> None:
    with StrictProvider(
        refuse_if("System role not supported", lambda b: b["messages"][0]["role"] == "system")
    ) as server:
        await RetryingClient(server).reply()
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "Be brief.\n\nhi"}]


@pytest.mark.parametrize(
    "words",
    ["this model does not support tools", "'max_tokens' unknown; 'max_completion_tokens' unknown"],
)
async def test_a_repeated_refusal_ends_the_retries_and_is_not_learned(words: str) -> None:
    with StrictProvider(lambda _: Refusal(400, words)) as server:
        asked = RetryingClient(server)
        with pytest.raises(ProviderError, match=words):
            await asked.reply()
        assert len(server.requests) <= 3
    assert asked.learned == {}, "an unconfirmed fact is not kept"


async def test_a_refusal_at_the_last_try_is_reported_with_its_message() -> None:
    busy = [Refusal(503, "busy", headers={"retry-after": "0"})] * 4
    answers: Script = [*busy, Refusal(400, "System role not supported")]
    with StrictProvider(answers) as server, pytest.raises(ProviderError) as caught:
        await RetryingClient(server).reply()
    assert "System role not supported" in caught.value.hint


async def test_a_window_named_by_a_refusal_reduces_the_tools_in_the_same_turn() -> None:
    def small(received: Received) -> Reply | Refusal:
        prompt, answer = len(received.raw) // 4, received.body["max_tokens"]
        words = f"This model's maximum context length is 4096 tokens. However, you requested {prompt + answer} tokens."
        return Refusal(400, words) if prompt + answer > 4_096 else Reply("done")

    with StrictProvider(small, models=("unlisted",)) as server:
        runtime = make_runtime(
            create_model(resolve("openai/unlisted", server.environ()), None), learn=False
        )
        turns = [await run_turn(runtime, "hello", learn=False) for _ in range(2)]
        assert [event_types(turn)[-1] for turn in turns] == ["turn_finished"] * 2
        assert [len(body["tools"]) < 6 for body in server.bodies] == [False, True, True], (
            "the second request is not repeated"
        )


@pytest.mark.parametrize("window", [3_200, 4_096])
async def test_two_turns_in_an_unknown_small_window_finish_with_at_most_five_requests(
    window: int,
) -> None:
    def small(received: Received) -> Reply | Refusal:
        asked = len(received.raw) // 4 + received.body["max_tokens"]
        return (
            Refusal(400, "Please reduce the length of the messages.")
            if asked > window
            else Reply("done")
        )

    with StrictProvider(small, models=("unlisted",)) as server:
        runtime = make_runtime(
            create_model(resolve("openai/unlisted", server.environ()), None), learn=False
        )
        turns = [await run_turn(runtime, "hello", learn=False) for _ in range(2)]
        assert [event_types(turn)[-1] for turn in turns] == ["turn_finished"] * 2
        assert len(server.bodies) <= 5


async def test_an_answer_used_up_by_reasoning_is_retried_with_twice_the_max_tokens() -> None:
    used_up = Reply("", reasoning="thinking", finish="length")
    with StrictProvider([used_up, Reply("Done.")]) as server:
        assert (await RetryingClient(server).reply(max_tokens=100)).text == "Done."
    assert [body["max_tokens"] for body in server.bodies] == [100, 200]


@pytest.mark.parametrize(
    "words",
    [
        "该模型不支持",
        "Ungültige Anfrage.",
        "Argument non pris en charge",
        "不正な引数",
        "Неверный запрос",
    ],
)
async def test_a_refusal_that_names_nothing_is_answered_once_without_what_can_be_left_out(
    words: str,
) -> None:
    def service(received: Received) -> Answer:
        return Refusal(400, words) if "stream_options" in received.body else Reply("Hello.")

    with StrictProvider(service) as server:
        asked = RetryingClient(server)
        assert (await asked.reply()).text == "Hello."
        assert (await asked.reply()).text == "Hello."
        assert len(server.requests) == 3, "the session knows it"
    assert [notice.reason for notice in asked.notices] == [
        f"gpt-4.1 refused the request: asked once more without stream_options ({words})"
    ]


async def test_what_did_not_help_is_sent_again_in_the_next_request() -> None:
    answers: Script = [Refusal(400, "no"), Refusal(400, "no"), Reply("Hello.")]
    with StrictProvider(answers) as server:
        asked = RetryingClient(server)
        with pytest.raises(ProviderError, match="refused the request"):
            await asked.reply()
        assert (await asked.reply()).text == "Hello."
    assert ["stream_options" in body for body in server.bodies] == [True, False, True]


async def test_a_level_that_the_model_refused_is_not_said_to_be_sent() -> None:
    words = "Unknown parameter: 'reasoning_effort'."
    with StrictProvider(refuse_if(words, lambda body: "reasoning_effort" in body)) as server:
        asked = RetryingClient(server)
        model: Any = asked.model
        assert model.thinking_sent("high", 100) == {"reasoning_effort": "high"}
        await asked.reply(thinking="high")
        assert model.thinking_sent("high", 100) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
        {"error": {"message": "Extra inputs are not permitted", "param": "stream_options"}},
        {"errors": [{"message": "not allowed", "field": "stream_options"}]},
        {"error": {"error": {"message": "unknown field 'stream_options'"}}},
        {"message": "x", "path": ["stream_options", "include_usage"]},
    ],
    ids=["fastapi", "param", "list", "nested", "path"],
)
async def test_a_path_is_found_in_each_form_of_an_error(body: dict[str, Any]) -> None:
    raw = json.dumps(body).encode()

    def service(received: Received) -> Answer:
        is_refused = "stream_options" in received.body
        return Refusal(400, body=raw) if is_refused else Reply("Hello.")

    with StrictProvider(service) as server:
        asked = RetryingClient(server)
        assert (await asked.reply()).text == "Hello."
    assert "does not accept stream_options" in asked.notices[0].reason
