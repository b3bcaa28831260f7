"""The requests that Anthropic's messages endpoint refuses."""

from __future__ import annotations

import re
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
    "model", "messages", "system", "max_tokens", "stream", "tools", "tool_choice", "temperature", "top_p", "top_k",
    "stop_sequences", "metadata", "thinking", "service_tier", "output_config", "cache_control",
}  # fmt: skip
CALL_ID = re.compile(r"[A-Za-z0-9_-]+")
BLOCKS = {
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "image": {"type", "source", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "server_tool_use": {"type", "id", "name", "input", "cache_control"},
}


def check(body: dict[str, Any], models: set[str]) -> None:
    """Raise Refused, with the service's status and message, for an invalid body."""
    only_keys(body, TOP, "", "{key}: Extra inputs are not permitted")
    model = body.get("model")
    need(isinstance(model, str) and bool(model), "model: Field required")
    if model not in models:
        raise Refused(f"model: {model}", status=404)
    need("max_tokens" in body, "max_tokens: Field required")
    limit = body["max_tokens"]
    need(isinstance(limit, int) and limit >= 1, "max_tokens: must be greater than or equal to 1")
    if "tools" in body:
        _tools(body["tools"])
    _system(body.get("system"))
    messages = body.get("messages")
    need(
        isinstance(messages, list) and bool(messages), "messages: at least one message is required"
    )
    History().check(messages or [], bool(body.get("tools")))
    marks = str(body).count("'cache_control':")
    need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _tools(tools: Any) -> None:
    need(isinstance(tools, list), "tools: must be a list")
    for number, tool in enumerate(tools):
        where = f"tools.{number}"
        need(isinstance(tool, dict), f"{where}: must be an object")
        only_keys(
            tool,
            {"name", "description", "input_schema", "cache_control", "type"},
            where,
            ".{key}: not permitted",
        )
        object_schema(tool.get("input_schema"), f"{where}.input_schema")
    unique_names([tool_name(tool.get("name"), "tools") for tool in tools], "tools")


def _system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    need(isinstance(system, list), "system: must be a string or a list of text blocks")
    for number, block in enumerate(system):
        _text(block, f"system.{number}")


def _text(block: Any, where: str) -> None:
    need(isinstance(block, dict) and block.get("type") == "text", f"{where}: must be a text block")
    only_keys(block, BLOCKS["text"], where, ".{key}: Extra inputs are not permitted")
    text = block.get("text")
    need(isinstance(text, str) and bool(text), f"{where}: text content blocks must be non-empty")
    need(bool(text.strip()), f"{where}: text content blocks must contain non-whitespace text")


class History:
    """Validates the messages in one pass, tracking the calls that the next message must answer."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.blocks_of_tools = False

    def check(self, messages: list[Any], tools_defined: bool) -> None:
        previous = ""
        for number, message in enumerate(messages):
            where = f"messages.{number}"
            need(isinstance(message, dict), f"{where}: must be an object")
            only_keys(message, {"role", "content"}, where, ".{key}: Extra inputs are not permitted")
            role = message.get("role")
            need(role in ("user", "assistant"), f"{where}: unexpected role {role!r}")
            need(number > 0 or role == "user", "messages: first message must use the user role")
            blocks = self._blocks(message.get("content"), where)
            if role == previous == "assistant":
                self._all_answered(where)
            if role == "user":
                self._user(blocks, where)
            else:
                self._assistant(blocks, where)
            previous = str(role)
        self._all_answered("messages")
        self._last(messages[-1])
        need(
            tools_defined or not self.blocks_of_tools, "requests with tool blocks must define tools"
        )

    def _blocks(self, content: Any, where: str) -> list[dict[str, Any]]:
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        need(
            isinstance(content, list) and bool(content),
            f"{where}: all messages must have non-empty content",
        )
        for number, block in enumerate(content):
            at = f"{where}.content.{number}"
            need(isinstance(block, dict) and block.get("type") in BLOCKS, f"{at}: unknown block")
            only_keys(block, BLOCKS[block["type"]], at, ".{key}: Extra inputs are not permitted")
            if block["type"] == "text":
                _text(block, at)
        return list(content)

    def _all_answered(self, where: str) -> None:
        need(
            not self.open,
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(self.open)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
            "next message.",
        )

    def _user(self, blocks: list[dict[str, Any]], where: str) -> None:
        others = False
        for block in blocks:
            need(
                block["type"] not in ("tool_use", "thinking"),
                f"{where}: {block['type']} in a user message",
            )
            if block["type"] != "tool_result":
                others = True
                continue
            self.blocks_of_tools = True
            need(not others or not self.open, f"{where}: tool_result blocks must come first")
            call_id = block.get("tool_use_id")
            need(
                call_id in self.open,
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message.",
            )
            self.open.remove(str(call_id))
            _result(block.get("content", ""), where)
        self._all_answered(where)

    def _assistant(self, blocks: list[dict[str, Any]], where: str) -> None:
        self._all_answered(where)
        for block in blocks:
            need(
                block["type"] in ("text", "tool_use", "thinking", "server_tool_use"),
                f"{where}: {block['type']} in an assistant message",
            )
            if block["type"] == "tool_use":
                self._call(block, where)

    def _call(self, block: dict[str, Any], where: str) -> None:
        self.blocks_of_tools = True
        call_id = block.get("id")
        need(
            isinstance(call_id, str) and CALL_ID.fullmatch(call_id) is not None,
            f"{where}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        )
        need(call_id not in self.seen, f"{where}: `tool_use` ids must be unique")
        tool_name(block.get("name"), where)
        need(
            isinstance(block.get("input"), dict),
            f"{where}: tool_use.input: Input should be a valid dictionary",
        )
        self.seen.add(str(call_id))
        self.open.append(str(call_id))

    def _last(self, message: dict[str, Any]) -> None:
        if message["role"] != "assistant":
            return
        content = message["content"]
        text = content if isinstance(content, str) else content[-1].get("text", "")
        need(
            text == text.rstrip(),
            "messages: final assistant content cannot end with trailing whitespace",
        )


def _result(content: Any, where: str) -> None:
    if isinstance(content, str):
        return
    need(
        isinstance(content, list),
        f"{where}: tool_result.content must be a string or a list of blocks",
    )
    for block in content:
        need(
            isinstance(block, dict) and block.get("type") in ("text", "image"),
            f"{where}: unknown block in a result",
        )
        if block["type"] == "text":
            _text(block, where)
