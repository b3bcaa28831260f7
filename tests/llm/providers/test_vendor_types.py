"""Test that the bodies of all four wires have the types of the vendors' own packages, whatever a conversation holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from swecli.llm.endpoints import resolve
from swecli.models.message import ToolSpec
from tests.support.model_requests import HELLO, READ, ask, model_at, model_for_endpoint, request
from tests.support.strict_provider import Call, Reply, StrictProvider

pytestmark = pytest.mark.slow  # the packages take seconds to import

NAMES = {
    "chat": "openai/gpt-4.1",
    "responses": "openai/gpt-6.1-sol",
    "messages": "anthropic/claude-sonnet-5-5",
    "gemini": "gemini/gemini-3.8-flash",
}
IMAGE = {"name": "a.png", "label": "[image 1x1]", "media_type": "image/png", "data": "QUJD"}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"], "default": None, "minLength": 1}},
    "required": ["a"],
    "additionalProperties": False,
}
PING = ToolSpec("ping", "Answers.", {"type": "object", "properties": {}})
TOOLS = [READ, ToolSpec("choose", "Chooses.", SCHEMA), PING]
ANSWER = {"role": "assistant", "content": "Hello."}


def call(call_id: str, arguments: str = '{"path": "ä"}') -> dict[str, Any]:
    function = {"name": "read_file", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def result(call_id: str, text: str = "text") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def calling(*ids: str, text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": [call(one) for one in ids]}


SYSTEM, USER = HELLO
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "a question": [SYSTEM, USER],
    "without system text": [USER],
    "a picture": [SYSTEM, USER | {"images": [IMAGE]}],
    "an answer": [SYSTEM, USER, ANSWER, USER],
    "two questions": [SYSTEM, USER, USER],
    "a call": [SYSTEM, USER, calling("c1"), result("c1")],
    "text beside calls": [SYSTEM, USER, calling("c1", "c2", text="I look."), result("c1"), result("c2")],
    "an empty result": [SYSTEM, USER, calling("c1"), result("c1", "")],
    "strange ids": [SYSTEM, USER, calling("functions.read:0 ü"), result("functions.read:0 ü")],
    "steps": [SYSTEM, USER, calling("a"), result("a"), calling("b"), result("b"), ANSWER, USER],
    "an interrupted turn": [SYSTEM, USER, calling("a"), result("a", "(interrupted)"), USER],
}  # fmt: skip
LEVELS = ("", "off", "low", "max", "4000")


@cache
def checker(wire: str) -> Callable[[dict[str, Any]], None]:
    """Return what raises ValidationError for a body that is none of the vendor's."""
    if wire == "gemini":
        return _check_gemini
    if wire == "chat":
        from openai.types.chat import completion_create_params as chat

        kind: Any = chat.CompletionCreateParamsStreaming
        names = {*chat.CompletionCreateParamsBase.__annotations__, *kind.__annotations__}
    elif wire == "responses":
        from openai.types.responses import response_create_params as responses

        kind = responses.ResponseCreateParamsStreaming
        names = {*responses.ResponseCreateParamsBase.__annotations__, *kind.__annotations__}
    else:
        from anthropic.types import message_create_params as messages

        kind = messages.MessageCreateParamsStreaming
        names = {*messages.MessageCreateParamsBase.__annotations__, *kind.__annotations__}
    adapter = TypeAdapter(kind)

    def check(body: dict[str, Any]) -> None:
        assert body.keys() <= names
        _read_all(adapter.validate_python(body))

    return check


def _read_all(value: Any) -> None:
    """Read a value to its depth: pydantic checks an Iterable while it is read."""
    if isinstance(value, dict):
        for inner in value.values():
            _read_all(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            _read_all(inner)


def _check_gemini(body: dict[str, Any]) -> None:
    from google.genai import types

    assert body.keys() <= {"contents", "systemInstruction", "tools", "generationConfig"}
    for content in [
        *body["contents"],
        *([body["systemInstruction"]] if "systemInstruction" in body else []),
    ]:
        types.Content.model_validate(content)
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body["generationConfig"])


def bodies_of(wire: str, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    model: Any = model_for_endpoint(resolve(NAMES[wire], {}, keyless=True))
    body: dict[str, Any] = json.loads(json.dumps(model.body(request(messages, **more))))
    return body


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_each_conversation_has_the_types_of_the_vendor(wire: str, conversation: str) -> None:
    for tools in ([], TOOLS):
        checker(wire)(bodies_of(wire, CONVERSATIONS[conversation], tools=tools))


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("level", LEVELS)
def test_each_thinking_level_and_a_schema_have_them_too(wire: str, level: str) -> None:
    checker(wire)(bodies_of(wire, HELLO, tools=TOOLS, thinking=level, schema=SCHEMA))


@pytest.mark.parametrize("wire", NAMES)
async def test_thoughts_that_go_back_have_them_too(wire: str) -> None:
    from tests.llm.providers.test_gemini import stored

    thoughts = "" if wire == "chat" else "hm"  # OpenAI has no field for them
    steps = [
        Reply("I look.", reasoning=thoughts, calls=(Call("read_file", {"path": "a"}),))
        for _ in range(2)
    ]
    models = tuple(name.partition("/")[2] for name in NAMES.values())
    with StrictProvider([*steps, Reply("Done.")], models=models) as server:
        model = model_at(server, NAMES[wire])
        messages: list[Any] = [dict(message) for message in HELLO]
        for _ in range(3):
            messages += stored(await ask(model, request(messages, tools=[READ])))
    assert server.refusals == []
    for body in server.bodies:
        checker(wire)(body)


@pytest.mark.parametrize("wire", NAMES)
def test_the_vendors_types_refuse_what_is_wrong(wire: str) -> None:
    body = bodies_of(wire, HELLO)
    messages = next(name for name in ("messages", "input", "contents") if name in body)
    with pytest.raises((ValueError, AssertionError)):
        checker(wire)(body | {messages: [{"role": 7, "parts": "x", "content": 7}]})
    with pytest.raises(AssertionError):
        checker(wire)(body | {"nonsense": 1})
