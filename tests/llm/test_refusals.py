"""Test what the refusal of a request reveals about a model, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm.profile import Profile
from swecli.llm.refusals import lesson_from_refusal
from tests.support.model_requests import HELLO, READ

MARKED = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}
SIGNED = {"role": "assistant", "content": [{"type": "thinking", "signature": "s"}]}
THOUGHT = {"role": "assistant", "content": "", "reasoning_content": "hm"}
STRICT = READ.to_api() | {"strict": False}
WITH_DEFAULT = [{"parameters": {"properties": {"a": {"default": 1, "minimum": 0}}}}]
BODY: dict[str, Any] = {
    "messages": HELLO, "tools": [READ.to_api()], "stream": True, "stream_options": {}, "max_tokens": 32_000,
    "reasoning_effort": "low", "top_k": 3, "a(b}{": 1,
}  # fmt: skip
CLAUDE: dict[str, Any] = {
    "messages": [MARKED], "tools": [STRICT], "max_tokens": 9_000, "output_config": {"effort": "low"},
    "thinking": {"type": "adaptive", "display": "summarized"},
}  # fmt: skip
RESPONSES = {
    "input": [],
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "store": False,
}


def learned(body: dict[str, Any], words: str, param: str = "") -> dict[str, Any] | None:
    """Return what changes in the profile, None if nothing is named."""
    lesson = lesson_from_refusal(Profile(), "m", body, param, words)
    return None if lesson is None or lesson.is_guess else dict(lesson.changes)


def off(name: str) -> dict[str, Any]:
    return {"off": frozenset((name,))}


@pytest.mark.parametrize(
    ("body", "param", "words", "field"),
    [
        (CLAUDE, "", "messages.0.content.0.text.cache_control: Extra inputs are not permitted", "cache_control"),
        (CLAUDE, "messages.0.content.0.cache_control", "Extra inputs are not permitted", "cache_control"),
        (CLAUDE, "", "thinking: Input tag 'adaptive' found using 'type' does not match 'disabled'", "thinking"),
        (CLAUDE, "", "thinking.type: Input should be 'enabled' or 'disabled'", "thinking"),
        (CLAUDE, "", "thinking.display: Extra inputs are not permitted", "thinking.display"),
        (CLAUDE, "", "output_config.effort: Input should be 'high'", "output_config"),
        (CLAUDE, "", "tools.0.custom.strict: Extra inputs are not permitted", "strict"),
        (CLAUDE, "tools[0].strict", "Unknown parameter", "strict"),
        (BODY, "reasoning_effort", "Input should be 'low', 'medium' or 'high'", "reasoning_effort"),
        (BODY, "", "Input should be 'low' or 'high' (field: 'reasoning_effort')", "reasoning_effort"),
        (BODY, "", "Model m does not support parameter reasoningEffort.", "reasoning_effort"),
        (BODY, "", "Unrecognized request argument supplied: stream_options", "stream_options"),
        (BODY, "", "top_k: extra fields not permitted", "top_k"),
        (BODY, "", "unknown field 'a(b}{'", "a(b}{"),
        (RESPONSES, "reasoning.summary", "Your organization must be verified", "reasoning.summary"),
        (RESPONSES, "", "Unsupported value: reasoning.effort does not support low", "reasoning"),
        (RESPONSES, "include[0]", "Encrypted content is not available", "include"),
        ({"tools": WITH_DEFAULT}, "", "Unknown name \"default\" at 'tools[0]'", "default"),
        ({"tools": WITH_DEFAULT}, "", "Invalid schema: 'minimum' is not permitted", "minimum"),
        # in any language
        (BODY, "", "不支持参数 reasoning_effort", "reasoning_effort"),
        (BODY, "", "Der Wert von reasoning_effort wird von diesem Modell nicht unterstützt.", "reasoning_effort"),
        (BODY, "", "Le modèle ne prend pas en charge 'stream_options'.", "stream_options"),
        (BODY, "", "stream_optionsはサポートされていません", "stream_options"),
        (BODY, "", "Параметр top_k не поддерживается", "top_k"),
    ],
)  # fmt: skip
def test_the_nearest_optional_field_of_the_path_that_a_refusal_names_is_left_out(
    body: dict[str, Any], param: str, words: str, field: str
) -> None:
    assert learned(body, words, param) == off(field)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("m does not support tools", "tools", False),
        ('"auto" tool choice requires --enable-auto-tool-choice', "tools", False),
        ("tools param requires --jinja flag", "tools", False),
        ("This model doesn't support tool use.", "tools", False),
        ("Function calling is not enabled for this model", "tools", False),
        ("System role not supported", "system_role", False),
        ("Conversation roles must alternate user/assistant", "system_role", False),
        ("user messages should alternate with assistant message(s)", "system_role", False),
        ("Unsupported parameter: 'max_tokens'.", "limit_name", "max_completion_tokens"),
        ("max_tokens is too large: 32000. This model supports at most 4096", "max_output", 4096),
        ("`max_tokens` must be less than or equal to `8192`, not", "max_output", 8192),
        ("the valid range of max_tokens is [1, 8192]", "max_output", 8192),
        ("The maximum tokens you requested exceeds the model limit of 4096.", "max_output", 4096),
        ("This model doesn't support tool use in streaming mode", "off", frozenset({"stream"})),
    ],
)
def test_words_say_what_no_field_does(words: str, field: str, value: Any) -> None:
    assert learned(BODY, words) == {field: value}


@pytest.mark.parametrize(
    "words",
    [
        "No endpoints found that support image input",
        "image_url is only supported by certain models",
        "unknown variant `image_url`, expected `text`",
        "m is not a multimodal model",
        "image input is not supported - hint: you may need to provide the mmproj",
    ],
)
def test_a_refusal_of_images_teaches_that_images_are_unsupported(words: str) -> None:
    shown: dict[str, Any] = {"messages": [IMAGE]}
    assert learned(shown, words) == {"images": False}
    assert learned(shown, "image exceeds 5 MB maximum") is None
    assert learned(BODY, words) is None


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("additional property 'reasoning_content' was unexpected", {"think_back": "never"}),
        ("not permitted: messages.2.reasoning_content", {"think_back": "never"}),
        ("the field reasoning_content is missing in assistant messages", {"filler": " "}),
        ("The reasoning_content must be passed back to the API.", {"filler": " "}),
    ],
)
def test_a_refusal_teaches_to_omit_reasoning_or_to_send_it(
    words: str, changes: dict[str, Any]
) -> None:
    assert learned(BODY | {"messages": [*HELLO, THOUGHT]}, words) == changes


def test_a_refused_signature_leaves_the_thoughts_of_this_request_out() -> None:
    lesson = lesson_from_refusal(
        Profile(), "m", {"messages": [SIGNED]}, "", "Invalid `signature` in `thinking` block"
    )
    assert lesson is not None
    assert (lesson.drops_thoughts, lesson.changes) == (True, {})


@pytest.mark.parametrize(
    "words",
    [
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length 130.",
        "more than 128 tools are not supported",
        "Parallel tool calls are not supported",
        "tools are not supported in /chat/completions",
        "the model does not support tools together with a schema",
        "不支持工具",
        "messages: roles out of order",
        "Invalid 'tools[0]'",
        "does not support the effort parameter",
        "tools[2].function.parameters: keyword 'pattern' not supported",
        "",
    ],
)
def test_a_refusal_that_names_nothing_leaves_out_all_that_can_be_once(words: str) -> None:
    lesson = lesson_from_refusal(Profile(), "m", BODY, "", words)
    assert lesson is not None
    assert lesson.is_guess
    assert lesson.changes == {
        "off": frozenset({"stream_options", "reasoning_effort", "top_k", "a(b}{"})
    }
    core = {name: BODY[name] for name in ("messages", "tools", "max_tokens", "stream")}
    assert lesson_from_refusal(Profile(), "m", core, "", words) is None


def test_a_refusal_of_the_window_or_of_a_length_that_is_no_limit_teaches_nothing() -> None:
    for words in (
        "max_tokens=9 cannot be greater than max_model_len=4096",
        "max_tokens must be an integer",
        "max_tokens is not allowed together with max_completion_tokens",
    ):
        assert learned({"max_tokens": 9_000, "messages": HELLO}, words) is None


def test_a_lesson_is_shown_with_the_model_and_the_words_of_the_service() -> None:
    words = "unknown field top_k"
    lesson = lesson_from_refusal(Profile(), "gpt-7", BODY, "", words)
    assert lesson is not None
    assert lesson.notice == f"gpt-7 does not accept top_k: left out ({words})"
