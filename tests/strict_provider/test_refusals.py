"""Test that the strict provider refuses with 400 the requests that the real services refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.strict_provider import anthropic_rules, openai_rules
from tests.support.strict_provider.common_rules import Refused, read_body

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "be brief"}


def call(call_id: str = "c1", name: str = "read_file", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(call_id: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


def tool(name: str = "read_file", parameters: Any = None) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "parameters": parameters or {"type": "object"}},
    }


def openai(*messages: dict[str, Any], **more: Any) -> None:
    openai_rules.check({"model": "m", "messages": list(messages)} | more, {"m"})


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER, calls(call()), result(), {"role": "assistant", "content": "ok"}, USER],
        [USER, calls(call("a"), call("b"), content="both"), result("b"), result("a"), USER],
        [USER, {"role": "assistant", "content": "half"}, USER],
    ],
)
def test_openai_rules_accept_valid_messages(messages: list[dict[str, Any]]) -> None:
    openai(*messages, tools=[tool()])


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "too short"),
        ([USER, result()], "must be a response"),
        ([USER, calls(call()), result(), result()], "must be a response"),
        ([USER, calls(call()), USER], "did not have response messages: c1"),
        ([USER, calls(call())], "did not have response messages: c1"),
        (
            [USER, calls(call("a"), call("b")), result("a"), USER],
            "did not have response messages: b",
        ),
        ([USER, calls(call("a"), call("a")), result("a")], "Duplicate"),
        ([USER, calls(call()), result(), calls(call()), result()], "Duplicate"),
        ([USER, {"role": "assistant", "content": ""}], "needs 'content'"),
        ([USER, {"role": "assistant", "content": None}], "needs 'content'"),
        ([USER, calls()], "too short - 'tool_calls'"),
        ([USER, calls(call(arguments="{")), result()], "JSON object"),
        ([USER, calls(call(arguments="[1]")), result()], "JSON object"),
        ([USER, calls(call(arguments={})), result()], "JSON object"),
        ([USER, calls(call(name="no spaces")), result()], "tool name"),
        ([USER, calls(call(name="")), result()], "tool name"),
        ([USER, calls(call(name="x" * 65)), result()], "tool name"),
        ([USER, calls(call("x" * 41)), result("x" * 41)], "at most 40"),
        ([USER, calls(call("")), result("")], "needs an id"),
        ([{"role": "robot", "content": "x"}], "'robot'"),
        ([{"role": "user", "content": None}], "content must be"),
        ([{"role": "user", "content": "x", "reasoning": "y"}], "'reasoning' was unexpected"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]}],
            "'cache_control'",
        ),
    ],
)
def test_openai_rules_refuse_invalid_messages(messages: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(Refused, match=says):
        openai(*messages)


@pytest.mark.parametrize(
    "more",
    [
        {"tools": []},
        {"tools": [tool("no spaces")]},
        {"tools": [tool(), tool()]},
        {"tools": [tool(parameters={"type": "array"})]},
        {"max_tokens": 0},
        {"max_tokens": 1, "max_completion_tokens": 1},
        {"stream_options": {"include_usage": True}},
        {"num_retries": 0},
        {"model": ""},
    ],
)
def test_openai_rules_refuse_invalid_parameters(more: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        openai(USER, **more)


def use(call_id: str = "c1", name: str = "read_file", given: Any = None) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": {} if given is None else given,
    }


def answer(call_id: str = "c1", content: Any = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


TEXT = {"type": "text", "text": "x"}
A_TOOL = {"name": "read_file", "input_schema": {"type": "object"}}


def anthropic(*messages: dict[str, Any], **more: Any) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": list(messages), "tools": [A_TOOL]} | more
    anthropic_rules.check({key: value for key, value in body.items() if value is not ...}, {"m"})


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [
            USER,
            says(TEXT, use("a"), use("b")),
            user(answer("b"), answer("a"), TEXT),
            says(TEXT),
            USER,
        ],
        [USER, USER],
        [USER, says(use()), user(answer(content=[TEXT])), says(TEXT)],
    ],
)
def test_anthropic_rules_accept_valid_messages(messages: list[dict[str, Any]]) -> None:
    anthropic(*messages, system=[TEXT])


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "at least one message"),
        ([says(TEXT)], "first message must use the user role"),
        ([SYSTEM, USER], "unexpected role"),
        ([USER, says(use()), USER], "tool_result` blocks immediately after: c1"),
        ([USER, says(use())], "immediately after: c1"),
        ([USER, says(use()), says(TEXT), user(answer())], "immediately after: c1"),
        ([USER, says(use("a"), use("b")), user(answer("a"))], "immediately after: b"),
        ([USER, says(use()), user(TEXT, answer())], "must come first"),
        ([USER, user(answer())], "unexpected `tool_use_id`"),
        ([USER, says(use()), user(answer(), answer())], "unexpected `tool_use_id`"),
        ([USER, says(use(), use()), user(answer())], "must be unique"),
        ([USER, says(use()), user(answer()), says(use()), user(answer())], "must be unique"),
        ([USER, says(use("no spaces")), user(answer("no spaces"))], "should match pattern"),
        ([USER, says(use(name="x" * 65)), user(answer())], "tool name"),
        ([USER, says(use(given="{}")), user(answer())], "valid dictionary"),
        ([USER, {"role": "assistant", "content": ""}], "non-empty"),
        ([USER, says(), USER], "non-empty content"),
        ([USER, says({"type": "text", "text": " "}), USER], "non-whitespace"),
        ([USER, says({"type": "text", "text": "x "})], "trailing whitespace"),
        ([user(use())], "in a user message"),
        ([user({"type": "robot"})], "unknown block"),
        ([USER | {"name": "x"}], "Extra inputs"),
    ],
)
def test_anthropic_rules_refuse_invalid_messages(
    messages: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        anthropic(*messages)


@pytest.mark.parametrize(
    "more",
    [
        {"max_tokens": ...},
        {"max_tokens": 0},
        {"max_tokens": "5"},
        {"system": [{"type": "text", "text": ""}]},
        {"tools": [A_TOOL, A_TOOL]},
        {"tools": [A_TOOL | {"name": "no spaces"}]},
        {"tools": [{"name": "x"}]},
        {"stream_options": {}},
        {"model": ...},
    ],
)
def test_anthropic_rules_refuse_invalid_parameters(more: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        anthropic(USER, **more)


def test_anthropic_rules_require_tools_if_the_messages_contain_tool_calls() -> None:
    with pytest.raises(Refused, match="must define tools"):
        anthropic(USER, says(use()), user(answer()), tools=...)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"model": "\xff"}',
        b"{",
        b"[]",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        json.dumps({"a": ["\ud800"]}).encode(),
    ],
)
def test_a_body_that_is_not_a_valid_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        read_body(raw)
