"""The requests that OpenAI's chat completions endpoint refuses."""

from __future__ import annotations

import json
from typing import Any

from tests.support.strict_provider.common_rules import (
    Refused,
    need,
    object_schema,
    only_keys,
    tool_name,
    unique_names,
)

TOP = {
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
    "max_completion_tokens", "temperature", "top_p", "stop", "seed", "n", "user", "reasoning_effort", "metadata",
    "response_format", "store", "presence_penalty", "frequency_penalty", "logprobs", "service_tier", "verbosity",
    "prompt_cache_key",
}  # fmt: skip
# of other services with this protocol, for models whose name has "reasoner"
TOP_OF_OTHERS = {
    "thinking",
    "enable_thinking",
    "thinking_budget",
    "reasoning",
    "chat_template_kwargs",
}
THOUGHTS_OF_OTHERS = {"reasoning_content", "reasoning", "reasoning_details"}
KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
MAX_ID = 40


def check(body: dict[str, Any], models: set[str]) -> None:
    """Raise Refused, with the service's status and message, for an invalid body."""
    model = body.get("model")
    is_other = "reasoner" in str(model)
    allowed = TOP | TOP_OF_OTHERS if is_other else TOP
    only_keys(body, allowed, "", "Unrecognized request argument supplied: {key}")
    need(isinstance(model, str) and bool(model), "you must provide a model parameter")
    if model not in models:
        raise Refused(
            f"The model `{model}` does not exist or you do not have access to it.",
            status=404,
            code="model_not_found",
        )
    _limits(body)
    if "tools" in body:
        _tools(body["tools"])
    messages = body.get("messages")
    need(isinstance(messages, list) and bool(messages), "[] is too short - 'messages'")
    _History(thinks=is_other).check(messages or [])


def _limits(body: dict[str, Any]) -> None:
    need(
        not ("max_tokens" in body and "max_completion_tokens" in body),
        "setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported",
    )
    for key in ("max_tokens", "max_completion_tokens"):
        value = body.get(key, 1)
        need(isinstance(value, int) and value >= 1, f"{key} must be an integer of at least 1")
    need(
        "stream_options" not in body or body.get("stream") is True,
        "'stream_options' needs 'stream'",
    )


def _tools(tools: Any) -> None:
    need(isinstance(tools, list) and bool(tools), "[] is too short - 'tools'")
    names = []
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        need(
            isinstance(tool, dict) and tool.get("type") == "function",
            f"{where}: type must be 'function'",
        )
        function = tool.get("function")
        need(isinstance(function, dict), f"{where}: missing 'function'")
        names.append(tool_name(function.get("name"), where))
        object_schema(function.get("parameters", {"type": "object"}), where)
    unique_names(names, "tools")


class _History:
    """Validates the messages in one pass, tracking unanswered calls. With `thinks`, reasoning content is accepted."""

    def __init__(self, *, thinks: bool) -> None:
        self.more = THOUGHTS_OF_OTHERS if thinks else set[str]()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def check(self, messages: list[Any]) -> None:
        for number, message in enumerate(messages):
            where = f"messages.[{number}]"
            need(isinstance(message, dict), f"{where}: not an object")
            role = message.get("role")
            need(role in KEYS, f"{where}: {role!r} is not one of {sorted(KEYS)}")
            only_keys(
                message,
                KEYS[str(role)] | self.more,
                where,
                ": additional property '{key}' was unexpected",
            )
            if role == "tool":
                self._result(message, where)
                continue
            self._nothing_open(where)
            if role == "assistant":
                self._assistant(message, where)
            else:
                _content(message.get("content"), where)
        self._nothing_open("messages")

    def _nothing_open(self, where: str) -> None:
        need(
            not self.open,
            f"{where}: An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(self.open)}",
        )

    def _result(self, message: dict[str, Any], where: str) -> None:
        call_id = message.get("tool_call_id")
        need(
            call_id in self.open,
            f"{where}: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
        )
        self.open.remove(str(call_id))
        _content(message.get("content"), where)

    def _assistant(self, message: dict[str, Any], where: str) -> None:
        calls = message.get("tool_calls")
        content = message.get("content")
        need(
            calls is None or (isinstance(calls, list) and bool(calls)),
            f"{where}: [] is too short - 'tool_calls'",
        )
        need(
            bool(content) or bool(calls),
            f"{where}: an assistant message needs 'content' or 'tool_calls'",
        )
        if content is not None:
            _content(content, where)
        for call in calls or []:
            self._call(call, where)

    def _call(self, call: Any, where: str) -> None:
        need(
            isinstance(call, dict) and call.get("type") == "function",
            f"{where}: a call's type must be 'function'",
        )
        only_keys(
            call, {"id", "type", "function"}, where, ": additional property '{key}' in a tool call"
        )
        call_id = call.get("id")
        need(isinstance(call_id, str) and bool(call_id), f"{where}: a tool call needs an id")
        need(
            len(call_id) <= MAX_ID, f"{where}: string too long. Expected an id of at most {MAX_ID}"
        )
        need(
            call_id not in self.seen, f"{where}: Duplicate value for 'tool_call_id' of '{call_id}'"
        )
        function = call.get("function")
        need(isinstance(function, dict), f"{where}: a tool call needs a function")
        only_keys(
            function, {"name", "arguments"}, where, ": additional property '{key}' in a function"
        )
        tool_name(function.get("name"), where)
        _arguments(function.get("arguments"), where)
        self.seen.add(call_id)
        self.open.append(call_id)


def _arguments(text: Any, where: str) -> None:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        value = None
    need(
        isinstance(value, dict),
        f"{where}: 'arguments' must be the text of a JSON object, got {text!r}",
    )


def _content(content: Any, where: str) -> None:
    if isinstance(content, str):
        return
    need(
        isinstance(content, list) and bool(content),
        f"{where}: content must be a string or a list of parts",
    )
    for part in content:
        known = isinstance(part, dict) and part.get("type") in (
            "text",
            "image_url",
            "input_audio",
            "file",
        )
        need(known, f"{where}: a part of unknown type")
        only_keys(part, {"type", part["type"]}, where, ": additional property '{key}' in a part")
