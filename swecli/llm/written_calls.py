"""A tool call that a local server left in the text of an answer, because it does not read its model's chat template.

A service has a channel of its own for calls, so its text is never one. Of any other server an answer is taken as a call
only if it is one call of an offered tool and nothing else, if no call of the session came by the channel, and if the
answer does not repeat what the model was sent. All other text is shown.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from swecli.llm.call_arguments import parse_arguments
from swecli.models.api_message import calls_of
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, ToolCall, ToolSpec

_ID_PREFIX = "written_"  # of the id of a call that was taken from a text
# What templates put around a call: <tool_call> of Hermes and Qwen, <|python_tag|> and <|eom_id|> of Llama, [TOOL_CALLS]
# and [ARGS] of Mistral. Some models leave it out, for example Qwen2.5-Coder at Ollama.
_MARK = r"(?:</?tool_call>|<\|\w+\|>|\[(?:TOOL_CALLS|ARGS)\])"
# atomic, and the value up to the last bracket: a text of many marks is read once
_JSON_CALL = re.compile(
    rf"(?>(?:{_MARK}\s*)*)(?P<name>[\w-]*+)\s*+(?>(?:{_MARK}\s*)*)(?P<value>[\[{{].*[\]}}])(?P<rest>[^\]}}]*)",
    re.DOTALL,
)
_ENDS = re.compile(rf"\s*(?>(?:{_MARK}\s*)*)")
# Qwen3-Coder, which often leaves out the first line
_TAGGED_CALL = re.compile(
    r"(?:<tool_call>\s*)?<function=(?P<name>[\w-]+)>(?P<body>.*)</function>\s*(?:</tool_call>)?",
    re.DOTALL,
)
_PARAMETER = re.compile(r"<parameter=(?P<key>[\w-]+)>\n?(?P<value>.*?)\n?</parameter>", re.DOTALL)
_CALL_FIELDS = ({"name", "arguments"}, {"name", "parameters"})  # Llama: parameters
_CALL_MARK = re.compile(r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>")
# what line numbers, quoting, escapes and another layout change in a text
_LAYOUT = re.compile(r"\\+(?:[bfnrt]|u[0-9A-Fa-f]{4})|[\W\d_]+")


def find_written_call(text: str, tools: Sequence[ToolSpec]) -> ToolCall | None:
    """Return the call that a text consists of; None if it holds anything else, or the tool does not take its
    arguments."""
    stripped = text.strip()
    call = _read_tagged(stripped, tools) or _read_json(stripped)
    if call is None:
        return None
    name, parameters = call
    tool = next((tool for tool in tools if tool.name == name), None)
    try:
        arguments, problem = parse_arguments(json.dumps(parameters))
    except RecursionError:  # nested just as deep as can be read
        return None
    if tool is None or problem:
        return None
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    if not set(required) <= arguments.keys() <= properties.keys():
        return None
    return ToolCall(f"{_ID_PREFIX}{secrets.token_hex(8)}", name, arguments)


def take_written_call(
    reply: ModelReply, request: ModelRequest, session_calls: Callable[[], Collection[str]]
) -> ModelReply:
    """Return the reply with the call that its text is, or marked as one whose call is only shown; unchanged if nothing
    in it looks like a call. `session_calls` returns the ids of all calls of the session."""
    is_whole = reply.stop in ("stop", "tool_calls")
    if reply.calls or not is_whole or not request.tools or request.schema is not None:
        return reply
    call = find_written_call(reply.text, request.tools)
    if call is None and not _CALL_MARK.search(reply.text):
        return reply
    if not all(name.startswith(_ID_PREFIX) for name in session_calls()):
        return reply  # the channel works
    if call is None or _is_repeated(call, request.messages):
        return replace(reply, written_call="shown")
    if _is_quoted(reply.text, request.messages):
        return replace(reply, written_call="shown")
    return replace(reply, text="", calls=[call], stop="tool_calls", written_call="run")


def _read_json(text: str) -> tuple[str, Any] | None:
    """Return name and arguments of a call that is a JSON object, `{"name": ..., "arguments": {...}}`, or a name before
    the object of its arguments; None for any other text."""
    match = _JSON_CALL.fullmatch(text)
    if match is None or not _ENDS.fullmatch(match["rest"]):
        return None
    try:
        value = json.loads(match["value"], strict=False)
    except (ValueError, RecursionError):
        return None
    if match["name"]:
        return match["name"], value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or value.keys() - {"id", "type"} not in _CALL_FIELDS:
        return None
    return str(value["name"]), value.get("arguments", value.get("parameters"))


def _read_tagged(text: str, tools: Sequence[ToolSpec]) -> tuple[str, Any] | None:
    """Return name and arguments of a call whose arguments are tags, `<function=read><parameter=path>a.py</parameter>
    </function>`; None for any other text."""
    match = _TAGGED_CALL.fullmatch(text)
    if match is None or _PARAMETER.sub("", match["body"]).strip():
        return None
    schema = next((tool.parameters for tool in tools if tool.name == match["name"]), {})
    properties = schema.get("properties", {})
    arguments = {
        parameter["key"]: _typed(parameter["value"], properties.get(parameter["key"], {}))
        for parameter in _PARAMETER.finditer(match["body"])
    }
    return match["name"], arguments


def _typed(value: str, schema: dict[str, Any]) -> Any:
    """Return the value of a tag as its parameter's type."""
    if schema.get("type") == "string":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _is_repeated(call: ToolCall, messages: Sequence[ApiMessage]) -> bool:
    """Return whether a call is the last one made: its result is there, and the same again would not end."""
    earlier_calls = [earlier["function"] for message in messages for earlier in calls_of(message)]
    is_same = earlier_calls[-1:] == [call.to_api()["function"]]
    return is_same and messages[-1]["role"] == "tool"


def _is_quoted(text: str, messages: Iterable[ApiMessage]) -> bool:
    """Return whether the lines of a text stand one after the other in what the model was sent: in a file, a page, a
    name, the user's words or its own earlier ones. Letters alone are compared."""
    texts = [message["content"] or "" for message in messages]
    texts += [call["function"]["arguments"] for message in messages for call in calls_of(message)]
    letters = _letters("\n".join(texts))
    position = 0
    for line in text.splitlines():
        line_letters = _letters(line)
        position = letters.find(line_letters, position)
        if position < 0:
            return False
        position += len(line_letters)
    return True


def _letters(text: str) -> str:
    # late: few answers hold a call, and its tables are large
    import html

    return _LAYOUT.sub("", html.unescape(text))
