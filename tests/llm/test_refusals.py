"""Test what the refusal of a request reveals about a model, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm.profile import Profile
from swecli.llm.refusals import Lesson, lesson_from_refusal
from tests.support.model_requests import HELLO, READ

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
    lesson = lesson_from_refusal(Profile(), "m", BODY, "", words, ("top_k", "a(b}{"))
    assert lesson is not None
    assert lesson.field == learned
    assert value is None or lesson.value == value
    without = {name: part for name, part in BODY.items() if name != field}
    assert lesson_from_refusal(Profile(), "m", without, "", words, ()) is None, (
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
    assert lesson_from_refusal(Profile(), "gpt-6-sol", fields, "tools", words) is None


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
    lesson = lesson_from_refusal(Profile(), "m", sent, "", words)
    assert (lesson and lesson.field) == learned


def test_tools_that_cannot_be_streamed_are_requested_without_a_stream() -> None:
    words = "This model doesn't support tool use in streaming mode"
    lesson = lesson_from_refusal(Profile(), "m", BODY, "", words)
    assert lesson == Lesson("off.stream", True, f"m does not accept stream: left out ({words})")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("additional property 'reasoning_content' was unexpected", "never"),
        ("not permitted: messages.2.reasoning_content", "never"),
        (
            "Extra inputs are not permitted: messages.2.reasoning_content, input: the file is missing",
            "never",
        ),
        ("the field reasoning_content is missing in assistant messages", "with calls"),
        ("The reasoning_content must be passed back to the API.", "with calls"),
    ],
)
def test_a_refusal_teaches_to_omit_reasoning_or_to_send_it_with_tool_calls(
    words: str, value: str
) -> None:
    thought = {"role": "assistant", "content": "", "reasoning_content": "hm"}
    thinking = BODY | {"messages": [*HELLO, thought]}
    lesson = lesson_from_refusal(Profile(), "m", thinking, "", words)
    assert lesson is not None
    assert (lesson.field, lesson.value) == ("think_back", value)


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
    lesson = lesson_from_refusal(Profile(), "m", shown, "", words)
    assert lesson is not None
    assert (lesson.field, lesson.value) == ("images", False)
    assert lesson_from_refusal(Profile(), "m", shown, "", "image exceeds 5 MB maximum") is None
    assert lesson_from_refusal(Profile(), "m", BODY, "", words) is None


def test_other_refusals_teach_nothing() -> None:
    for words in (
        "max_tokens=9 cannot be greater than max_model_len=4096",
        "messages: roles out of order",
        "Invalid 'tools[0]'",
        "This model's maximum context length is 8192",
        "tools[2].function.parameters: keyword 'pattern' not supported",
        "Unknown name 'pattern' at 'tools[0].function_declarations[0]'",
    ):
        assert lesson_from_refusal(Profile(), "m", BODY, "", words) is None


IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}
SIGNED = {"role": "assistant", "content": [{"type": "thinking", "signature": "s"}]}
# every fact that can be learned: the request, and a refusal in English that teaches it
FACTS: list[tuple[str, dict[str, Any], str]] = [
    ("max_output", {"max_tokens": 9_000}, "max_tokens: the maximum is 4096"),
    ("limit_name", {"max_tokens": 9_000}, "max_tokens is not supported"),
    (
        "think_back",
        {"messages": [{"role": "assistant", "reasoning_content": "hm"}]},
        "reasoning_content is not permitted",
    ),
    ("think_back", {"messages": HELLO}, "reasoning_content must be passed back"),
    ("blocks", {"messages": [SIGNED]}, "Invalid `signature` in `thinking` block"),
    ("off.include", {"include": []}, "encrypted content is not supported"),
    ("off.display", {"thinking": {"display": "summarized"}}, "thinking.display: not permitted"),
    (
        "off.reasoning.summary",
        {"reasoning": {"summary": "auto"}},
        "not verified to generate reasoning summaries",
    ),
    ("images", {"messages": [IMAGE]}, "this model does not support image input"),
    ("tools", {"tools": [READ.to_api()]}, "this model does not support tools"),
    ("system_role", {"messages": HELLO}, "System role not supported"),
    ("off.null content", {"messages": [{"content": None}]}, "content must be a string, not null"),
    ("off.text with calls", {"messages": HELLO}, "content or tool_calls, but not both"),
    ("off.stream", {"stream": True}, "stream is not supported"),
    *(
        (f"off.{field}", {field: 1}, f"{field}: Extra inputs are not permitted")
        for field in (
            "stream_options",
            "response_format",
            "cache_control",
            "reasoning_effort",
            "thinking",
            "output_config",
            "include",
            "reasoning",
            "store",
            "additionalProperties",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        )
    ),
    *(
        (f"off.{field}", {"tools": [{field: 1}]}, f"the keyword '{field}' is not supported")
        for field in ("default", "minimum", "maximum")
    ),
]
each_fact = pytest.mark.parametrize(
    ("field", "body", "words"), FACTS, ids=[f"{fact[0]}-{fact[2]}" for fact in FACTS]
)


@each_fact
def test_each_fact_is_shown_with_the_model_and_the_words_of_the_service(
    field: str, body: dict[str, Any], words: str
) -> None:
    lesson = lesson_from_refusal(Profile(), "gpt-7", body, "", words)
    assert lesson is not None
    assert lesson.field == field
    assert lesson.notice.startswith("gpt-7 ")
    assert lesson.notice.endswith(f" ({words})")


@each_fact
def test_a_refusal_in_another_language_teaches_no_fact(
    field: str, body: dict[str, Any], words: str
) -> None:
    name = "content" if " " in field else field.removeprefix("off.")
    for foreign in (
        f"不支持参数 {name}",
        f"参数 '{name}' 非法，模型不支持该功能",
        f"Der Wert von {name} wird von diesem Modell nicht unterstützt.",
        f"Le modèle ne prend pas en charge '{name}'.",
        f"{name}はサポートされていません",
    ):
        assert lesson_from_refusal(Profile(), "gpt-7", body, name, foreign) is None


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"thinking": {"budget_tokens": 9}}, "thinking.budget_tokens: must be at least 1024"),
        ({"max_tokens": 9_000}, "max_tokens must be an integer"),
        ({"max_tokens": 9_000}, "max_tokens is not allowed together with max_completion_tokens"),
        ({"stream_options": {}}, "stream_options: Input should be a valid dictionary"),
        ({"store": False}, "We store nothing for 30 days: the request is invalid"),
        ({"response_format": {}}, "response_format is not supported when tools are given"),
        ({"messages": [IMAGE]}, "image format webp is not supported"),
        ({"messages": [IMAGE]}, "image exceeds 5 MB maximum"),
        ({"tools": [READ.to_api()]}, "the model does not support tools together with a schema"),
        ({"tools": [READ.to_api()]}, "does not support tools while thinking"),
        ({"include": []}, "We do not support refunds; include your order number"),
    ],
)
def test_a_refusal_of_a_value_or_of_things_together_teaches_nothing(
    sent: dict[str, Any], words: str
) -> None:
    assert lesson_from_refusal(Profile(), "m", sent, "", words) is None
