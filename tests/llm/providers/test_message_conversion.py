"""Test converting messages for one protocol without changing the originals."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.context.system_message import cache_marks
from swecli.llm.endpoints import resolve
from swecli.llm.native import NativeModel, safe_call_id
from swecli.llm.providers.openai_wires import OpenAIModel
from swecli.models.message import HEAD_OPENS, ModelRequest, ToolCall
from tests.support.model_requests import ask, model_for_endpoint, request
from tests.support.strict_provider import Reply, StrictProvider

KEYS = dict.fromkeys(
    (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY",
    ),
    "k",
)


def request_body(messages: list[Any], name: str) -> dict[str, Any]:
    """Return the body of a request with these messages."""
    model = model_for_endpoint(resolve(name, KEYS))
    assert isinstance(model, NativeModel | OpenAIModel)
    return model.body(ModelRequest(name, messages, marks=cache_marks(messages)))


def history(call_id: str) -> list[Any]:
    call = ToolCall(call_id, "read_file", {"path": "a"}, result="text")
    asked = {"role": "assistant", "content": None, "tool_calls": [call.to_api()]}
    return [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q"},
        asked,
        call.result_message(),
    ]


@given(st.text(min_size=1))
def test_safe_call_id_is_valid_for_every_provider_and_stable(call_id: str) -> None:
    plain = safe_call_id(call_id)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", plain)
    assert plain == safe_call_id(call_id) == safe_call_id(plain)


def test_a_tool_call_and_its_result_get_the_same_safe_id() -> None:
    ready = request_body(history("not plain!"), "openai/gpt-4.1")["messages"]
    assert ready[2]["tool_calls"][0]["id"] == ready[3]["tool_call_id"] == safe_call_id("not plain!")
    ready = request_body(history("not plain!"), "anthropic/claude-haiku-4-5")["messages"]
    assert (
        ready[1]["content"][0]["id"]
        == ready[2]["content"][0]["tool_use_id"]
        == safe_call_id("not plain!")
    )


def test_mistral_receives_ids_of_nine_characters_and_an_answer_between_tool_result_and_user() -> (
    None
):
    again = [*history("call_0123456789ab"), {"role": "user", "content": "and?"}]
    for name in ("mistral/mistral-large-4", "openai/devstral-small"):
        roles = [message["role"] for message in request_body(again, name)["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
        asked, result = request_body(again, name)["messages"][2:4]
        assert re.fullmatch("[a-z0-9]{9}", result["tool_call_id"])
        assert asked["tool_calls"][0]["id"] == result["tool_call_id"]
    assert (
        request_body(history("D681PevKs"), "mistral/mistral-large-4")["messages"][3]["tool_call_id"]
        == "D681PevKs"
    )


def test_every_answer_sent_to_deepseek_has_a_reasoning_content() -> None:
    plain = {"role": "assistant", "content": "It is a."}
    messages = request_body([*history("c"), plain], "deepseek/deepseek-v4-pro")["messages"]
    assert [message.get("reasoning_content") for message in messages] == [
        None,
        None,
        " ",
        None,
        " ",
    ]


def test_a_call_of_another_model_has_a_thought_on_the_other_wire_of_such_a_service_too() -> None:
    at = replace(
        resolve(
            "anthropic/deepseek-v4-pro",
            {"ANTHROPIC_BASE_URL": "https://api.deepseek.com/anthropic"},
        )
    )
    model: Any = model_for_endpoint(at)
    answer = model.body(request(history("c")))["messages"][1]
    assert answer["content"][0] == {"type": "thinking", "thinking": " ", "signature": ""}


def test_converting_messages_does_not_change_the_originals() -> None:
    messages = history("not plain!")
    before = copy.deepcopy(messages)
    for name in ("openai/gpt-4.1", "anthropic/claude-haiku-4-5"):
        request_body(messages, name)
    assert messages == before


def test_only_anthropic_receives_cache_marks() -> None:
    assert "cache_control" not in str(request_body(history("c"), "openai/gpt-4.1"))
    marked = request_body(history("c"), "anthropic/claude-haiku-4-5")
    assert marked["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert marked["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in str(marked["messages"][:-1])


@pytest.mark.parametrize("own", [{}, {"cache_control": {"type": "ephemeral"}}])
async def test_anthropic_gets_at_most_four_cache_marks(own: dict[str, Any]) -> None:
    parts = [{"role": "system", "content": "abcdefghij"}, {"role": "user", "content": "hi"}]
    with StrictProvider([Reply("ok")]) as server:
        endpoint = resolve("anthropic/claude-haiku-4-5", server.environ())
        model = model_for_endpoint(replace(endpoint, extra_body=own))
        reply = await ask(model, request(parts, marks=(1, 2, 3, 4, 5)))
    assert (reply.text, server.refusals) == ("ok", [])
    body = server.bodies[0]
    assert [block["text"] for block in body["system"]] == ["a", "b", "c", "d", "e", "fghij"]
    assert str(body).count("'cache_control'") == 4
    assert body["messages"][-1]["content"][-1]["cache_control"]


def test_anthropic_models_behind_openrouter_receive_cache_control() -> None:
    assert request_body(history("c"), "openrouter/anthropic/claude-sonnet-4.5")[
        "cache_control"
    ] == {"type": "ephemeral"}
    assert "cache_control" not in request_body(history("c"), "openrouter/deepseek/deepseek-v4-pro")


def test_the_static_text_the_epochs_head_and_the_last_message_are_marked_for_anthropic() -> None:
    system = f"You help.{HEAD_OPENS}\n\n## Playbook\nUse tabs."
    asked = [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]
    body = request_body(asked, "anthropic/claude-haiku-4-5")
    assert [block["text"] for block in body["system"]] == [
        "You help.",
        system.removeprefix("You help."),
    ]
    assert all(
        block["cache_control"] for block in (*body["system"], *body["messages"][-1]["content"])
    )
    assert request_body(asked, "openai/gpt-4.1")["messages"] == asked


@pytest.mark.parametrize(
    "name", ["openai/gpt-4.1", "vertex_ai/gemini-2.5-pro", "anthropic/claude-haiku-4-5"]
)
def test_an_image_is_sent_in_the_block_format_of_the_protocol(name: str) -> None:
    image = {"name": "a.png", "label": "[image 1x1]", "media_type": "image/png", "data": "QUJD"}
    asked = [{"role": "user", "content": "what is it?", "images": [image]}]
    picture, text = request_body(asked, name)["messages"][0]["content"]
    assert text["text"] == "what is it?"
    if name.startswith("anthropic"):
        assert picture["source"] == {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    else:
        assert picture == {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
