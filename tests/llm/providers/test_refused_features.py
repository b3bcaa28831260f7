"""Test that a parameter which a service refuses is left out, once, and remembered for the next request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.llm.endpoints import resolve
from swecli.llm.profile import LearnedFacts, Profile
from swecli.llm.registry import model_at
from swecli.llm.reply import ReplyBuilder, Retry, stream_with_retry
from swecli.models.errors import ProviderError
from swecli.models.message import ModelReply, ModelRequest
from tests.support.model_requests import HELLO, READ
from tests.support.runtime import event_types, make_runtime, run_turn
from tests.support.strict_provider import Received, Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow

Answer = Refusal | Reply
LESSONS = [
    ("tools", "m does not support tools", "tools", False),
    ("tools", '"auto" tool choice requires --enable-auto-tool-choice', "tools", False),
    ("tools", "tools param requires --jinja flag", "tools", False),
    ("messages", "System role not supported", "system_role", False),
    ("messages", "Conversation roles must alternate user/assistant", "system_role", False),
    (
        "stream_options",
        "Unrecognized request argument supplied: stream_options",
        "off.stream_options",
        True,
    ),
    (
        "max_tokens",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "limit_name",
        None,
    ),
    (
        "max_tokens",
        "max_tokens is too large: 32000. This model supports at most 4096 tokens",
        "max_output",
        4096,
    ),
    (
        "max_tokens",
        "`max_tokens` must be less than or equal to `8192`, less than the `context_window`",
        "max_output",
        8192,
    ),
    ("max_tokens", "the valid range of max_tokens is [1, 8192]", "max_output", 8192),
    (
        "max_tokens",
        "The maximum tokens you requested exceeds the model limit of 4096.",
        "max_output",
        4096,
    ),
    ("max_tokens", "max_tokens参数非法", "limit_name", None),
    ("tools", "This model doesn't support tool use.", "tools", False),
    ("tools", "Function calling is not enabled for this model", "tools", False),
    ("messages", "user messages should alternate with assistant message(s)", "system_role", False),
    (
        "reasoning_effort",
        "Model grok-4 does not support parameter reasoningEffort.",
        "off.reasoning_effort",
        True,
    ),
    ("reasoning_effort", '"llama3.1" does not support thinking', "off.reasoning_effort", True),
    ("reasoning_effort", "Unknown parameter: 'reasoning_effort'.", "off.reasoning_effort", True),
    ("top_k", "top_k: extra fields not permitted", "off.top_k", True),
    ("a(b}{", "unknown field 'a(b}{'", "off.a(b}{", True),
]
BODY: dict[str, Any] = {
    "messages": HELLO, "tools": [READ.to_api()], "stream": True, "stream_options": {}, "max_tokens": 32_000,
    "reasoning_effort": "low", "top_k": 3, "a(b}{": 1,
}  # fmt: skip


@pytest.mark.parametrize(("field", "words", "learned", "value"), LESSONS)
def test_a_fact_is_learned_from_the_message_of_a_refusal(
    field: str, words: str, learned: str, value: Any
) -> None:
    lesson = Profile().fact_from_refusal("m", BODY, "", words, ("top_k", "a(b}{"))
    assert lesson is not None
    assert lesson[0] == learned
    assert value is None or lesson[1] == value
    without = {name: part for name, part in BODY.items() if name != field}
    assert Profile().fact_from_refusal("m", without, "", words, ()) is None, (
        "a field that was not sent cannot be the refused one"
    )


@pytest.mark.parametrize(
    "words",
    [
        "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function "
        "tools, use /v1/responses or set reasoning_effort to 'none'",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length 130.",
        "more than 128 tools are not supported",
        "Parallel tool calls are not supported",
        "tools are not supported in /chat/completions",
    ],
)
def test_a_refusal_that_only_mentions_tools_does_not_take_them_away(words: str) -> None:
    fields = {name: BODY[name] for name in ("messages", "tools", "max_tokens")}
    assert Profile().fact_from_refusal("gpt-6-sol", fields, "tools", words) is None


@pytest.mark.parametrize(
    ("sent", "words", "learned"),
    [
        ({"tools": [{"default": 1}]}, "Unknown name \"default\" at 'tools[0]'", "off.default"),
        ({"tools": [{"minimum": 1}]}, "Invalid schema: 'minimum' is not permitted", "off.minimum"),
        ({"tools": [{"maximum": 1}]}, "the maximum context length is 4096 tokens", None),
        (
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            "thinking.display: Extra inputs are not permitted",
            "off.display",
        ),
    ],
)
def test_a_part_of_a_field_that_is_refused_is_left_out_alone(
    sent: dict[str, Any], words: str, learned: str | None
) -> None:
    lesson = Profile().fact_from_refusal("m", sent, "", words)
    assert (lesson and lesson[0]) == learned


def test_tools_that_cannot_be_streamed_are_requested_without_a_stream() -> None:
    words = "This model doesn't support tool use in streaming mode"
    assert Profile().fact_from_refusal("m", BODY, "", words) == (
        "off.stream",
        True,
        "m does not accept stream: left out from now on",
    )


def test_that_a_model_has_no_tools_is_said_in_the_words_of_the_service_and_not_kept(
    tmp_path: Path,
) -> None:
    fact = Profile().fact_from_refusal("llama3.1", BODY, "", "llama3.1 does not support tools")
    assert fact is not None
    assert fact[2].endswith("it can answer, not act (llama3.1 does not support tools)")
    facts = LearnedFacts(tmp_path / "models.json")
    facts.learn("origin", "tools", False, "does not support tools")
    assert facts.of("origin") == {}


def test_a_refusal_teaches_to_omit_reasoning_or_to_send_it_with_tool_calls() -> None:
    thinking = BODY | {
        "messages": [*HELLO, {"role": "assistant", "content": "", "reasoning_content": "hm"}]
    }
    refused = Profile().fact_from_refusal(
        "m", thinking, "", "additional property 'reasoning_content' was unexpected"
    )
    assert refused == Profile().fact_from_refusal(
        "m", thinking, "", "not permitted: messages.2.reasoning_content"
    )
    quoted = (
        "Extra inputs are not permitted: messages.2.reasoning_content, input: the file is missing"
    )
    assert refused == Profile().fact_from_refusal("m", thinking, "", quoted)
    missed = Profile().fact_from_refusal(
        "m", BODY, "", "the field reasoning_content is missing in assistant messages"
    )
    asked = Profile().fact_from_refusal(
        "m", thinking, "", "The reasoning_content must be passed back to the API."
    )
    assert refused is not None
    assert missed is not None
    assert asked == missed, "also if blocks of other messages were sent"
    assert (refused[:2], missed[:2]) == (
        ("think_back", "never"),
        ("think_back", "with calls"),
    )


@pytest.mark.parametrize(
    "words",
    [
        "No endpoints found that support image input",
        "image_url is only supported by certain models",
        "unknown variant `image_url`, expected `text`",
        "x is not a multimodal model",
        "image input is not supported - hint: you may need to provide the mmproj",
    ],
)
def test_a_refusal_of_images_teaches_that_images_are_unsupported(words: str) -> None:
    shown: dict[str, Any] = {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]
    }
    lesson = Profile().fact_from_refusal("m", shown, "", words)
    assert lesson is not None
    assert lesson[:2] == ("images", False)
    assert Profile().fact_from_refusal("m", shown, "", "image exceeds 5 MB maximum") is None
    assert Profile().fact_from_refusal("m", BODY, "", words) is None


def test_other_refusals_teach_nothing() -> None:
    for words in (
        "max_tokens=9 cannot be greater than max_model_len=4096",
        "messages: roles out of order",
        "Invalid 'tools[0]'",
        "This model's maximum context length is 8192",
        "tools[2].function.parameters: keyword 'pattern' not supported",
        "Unknown name 'pattern' at 'tools[0].function_declarations[0]'",
    ):
        assert Profile().fact_from_refusal("m", BODY, "", words) is None


class RetryingClient:
    """A model at a strict service, with retries."""

    def __init__(
        self, server: StrictProvider, tmp_path: Path, name: str = "openai/gpt-4.1"
    ) -> None:
        self.facts = LearnedFacts(tmp_path / "models.json")
        self.model = model_at(resolve(name, server.environ()), None, self.facts)
        self.notices: list[Retry] = []

    async def reply(self, **more: Any) -> ModelReply:
        builder = ReplyBuilder()
        request = ModelRequest("m", [dict(message) for message in HELLO], [READ], **more)
        async for item in stream_with_retry(self.model, request):
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
        ("System role not supported", lambda body: body["messages"][0]["role"] == "system", ""),
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
    tmp_path: Path, words: str, seen: Callable[[dict[str, Any]], bool], notice: str
) -> None:
    with StrictProvider(refuse_if(words, seen)) as server:
        asked = RetryingClient(server, tmp_path)
        assert (await asked.reply()).text == "Hello."
        assert len(server.requests) == 2
        assert [notice in one.reason for one in asked.notices] == [True]
        assert (await asked.reply()).text == "Hello."
        # the next process knows the fact, unless it takes the tools away: it asks again
        assert (await RetryingClient(server, tmp_path).reply()).text == "Hello."
        assert len(server.requests) == (5 if "tools" in words else 4)


async def test_a_stream_error_is_retried_with_streaming(tmp_path: Path) -> None:
    words = "stream error: stream ID 7; INTERNAL_ERROR; received from peer"
    with StrictProvider(
        [Refusal(500, words, headers={"retry-after": "0"}), Reply("Hello.")]
    ) as server:
        assert (await RetryingClient(server, tmp_path).reply()).text == "Hello."
    assert server.bodies[1]["stream"] is True


async def test_a_retry_without_tools_states_so_in_the_system_message(tmp_path: Path) -> None:
    with StrictProvider(
        refuse_if("does not support tools", lambda body: "tools" in body)
    ) as server:
        await RetryingClient(server, tmp_path).reply()
    assert "no tools in this conversation" in server.bodies[1]["messages"][0]["content"]


async def test_without_system_role_the_system_text_precedes_the_text_of_the_user(
    tmp_path: Path,
) -> None:
    with StrictProvider(
        refuse_if("System role not supported", lambda b: b["messages"][0]["role"] == "system")
    ) as server:
        await RetryingClient(server, tmp_path).reply()
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "Be brief.\n\nhi"}]


@pytest.mark.parametrize(
    "words",
    ["this model does not support tools", "'max_tokens' unknown; 'max_completion_tokens' unknown"],
)
async def test_a_repeated_refusal_ends_the_retries_and_is_not_learned(
    tmp_path: Path, words: str
) -> None:
    with StrictProvider(lambda _: Refusal(400, words)) as server:
        asked = RetryingClient(server, tmp_path)
        with pytest.raises(ProviderError, match=words):
            await asked.reply()
        assert len(server.requests) == 2
    assert asked.facts.of(asked.model.endpoint.origin) == {}, "an unconfirmed fact is not stored"  # type: ignore[attr-defined]


async def test_a_refusal_at_the_last_try_is_reported_with_its_message(tmp_path: Path) -> None:
    busy = [Refusal(503, "busy", headers={"retry-after": "0"})] * 4
    answers = [*busy, Refusal(400, "System role not supported")]
    with StrictProvider(answers) as server, pytest.raises(ProviderError) as caught:
        await RetryingClient(server, tmp_path).reply()
    assert "System role not supported" in caught.value.hint


async def test_a_window_named_by_a_refusal_reduces_the_tools_in_the_same_turn() -> None:
    def small(received: Received) -> Reply | Refusal:
        prompt, answer = len(received.raw) // 4, received.body["max_tokens"]
        words = f"This model's maximum context length is 4096 tokens. However, you requested {prompt + answer} tokens."
        return Refusal(400, words) if prompt + answer > 4_096 else Reply("done")

    with StrictProvider(small, models=("unlisted",)) as server:
        runtime = make_runtime(
            model_at(resolve("openai/unlisted", server.environ()), None), learn=False
        )
        turns = [await run_turn(runtime, "hello", learn=False) for _ in range(2)]
        assert [event_types(turn)[-1] for turn in turns] == ["turn_finished"] * 2
        assert [len(body["tools"]) < 6 for body in server.bodies] == [False, True, True], (
            "the second request is not repeated"
        )


@pytest.mark.parametrize("window", [3_000, 4_096])
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
            model_at(resolve("openai/unlisted", server.environ()), None), learn=False
        )
        turns = [await run_turn(runtime, "hello", learn=False) for _ in range(2)]
        assert [event_types(turn)[-1] for turn in turns] == ["turn_finished"] * 2
        assert len(server.bodies) <= 5


async def test_an_answer_used_up_by_reasoning_is_retried_with_twice_the_max_tokens(
    tmp_path: Path,
) -> None:
    used_up = Reply("", reasoning="thinking", finish="length")
    with StrictProvider([used_up, Reply("Done.")]) as server:
        assert (await RetryingClient(server, tmp_path).reply(max_tokens=100)).text == "Done."
    assert [body["max_tokens"] for body in server.bodies] == [100, 200]
