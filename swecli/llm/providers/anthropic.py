"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from swecli.llm.errors import by_event
from swecli.llm.native import Native, Reader, plain_id
from swecli.llm.usage import anthropic_usage
from swecli.models.message import HEAD_OPENS, ApiMessage, ModelRequest, StopReason

_VERSION = "2023-06-01"
_MARK = {"cache_control": {"type": "ephemeral"}}
_ANSWER_LENGTH, _LENGTH_UNKNOWN = 32_000, 8_192
_OPAQUE = ("thinking", "redacted_thinking")


class Anthropic(Native):
    """A model behind `/v1/messages`."""

    path = "/v1/messages"
    stops: Mapping[str, StopReason] = {
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "refusal": "refusal",
        "pause_turn": "pause",
        "model_context_window_exceeded": "window_full",
    }

    def headers(self) -> dict[str, str]:
        """The version, and the key."""
        key = {"x-api-key": self.endpoint.key} if self.endpoint.key else {}
        return {"anthropic-version": _VERSION, **key}

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request as the service takes it."""
        length = _ANSWER_LENGTH if self.profile.max_output else _LENGTH_UNKNOWN
        tokens = request.max_tokens or self.max_tokens or length
        limit = min(tokens, self.profile.max_output or tokens)
        body: dict[str, Any] = {"model": self.endpoint.model, "max_tokens": limit, "stream": True}
        system, turns = _split(request.messages)
        tools = [
            {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
            for spec in request.tools
        ]
        if not tools and (used := _used(turns)):  # a history with calls must define what it calls
            tools = [{"name": name, "input_schema": {"type": "object"}} for name in used]
            body["tool_choice"] = {"type": "none"}
        if tools:
            body["tools"] = tools
        if system:
            body["system"] = system
        body["messages"] = turns
        _mark(body)
        return body

    def reader(self, out: Any) -> Reader:
        """What reads one answer."""
        return _MessageReader(out, self.endpoint)


def _split(messages: Iterable[ApiMessage]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system text in its parts, and the turns; results stand in the user's message behind their calls."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if message["role"] == "system":
            text = content if isinstance(content, str) else "\n\n".join(b.get("text", "") for b in content or ())
            static, opens, head = text.partition(HEAD_OPENS)
            system += [{"type": "text", "text": part} for part in (static, opens + head) if part.strip()]
        elif message["role"] == "assistant":
            turns.append({"role": "assistant", "content": [*_texts(content), *_uses(message)]})
        else:
            blocks = [_result(message)] if message["role"] == "tool" else _texts(content)
            if turns and turns[-1]["role"] == "user":
                turns[-1]["content"] += blocks
            else:
                turns.append({"role": "user", "content": blocks})
    return system, turns


def _texts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [dict(block) for block in content or () if block.get("type") != "text" or block["text"].strip()]


def _uses(message: ApiMessage) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_use",
            "id": plain_id(call["id"]),
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]


def _result(message: ApiMessage) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": plain_id(message["tool_call_id"])}
    content = message.get("content")
    content = content if isinstance(content, str) else _texts(content)
    return block | {"content": content} if content and (not isinstance(content, str) or content.strip()) else block


def _used(turns: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tools that a history calls, each once."""
    names = [block["name"] for turn in turns for block in turn["content"] if block["type"] == "tool_use"]
    return list(dict.fromkeys(names))


def _mark(body: dict[str, Any]) -> None:
    """Mark the static system text, the epoch's head and the last message: all before a mark may be read from the
    cache next time. The tools stand before the system text and are marked with it."""
    for block in body.get("system", ()):
        block |= _MARK
    if "system" not in body:
        body["messages"][0]["content"][-1] |= _MARK
    body["messages"][-1]["content"][-1] |= _MARK


class _MessageReader(Reader):
    """The events of a message."""

    def __init__(self, out: Any, endpoint: Any) -> None:
        super().__init__(out)
        self._endpoint = endpoint
        self._usage: dict[str, Any] = {}
        self._content: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._calls = 0

    def take(self, event: dict[str, Any]) -> None:
        """One event. Raises ProviderError for an `error`."""
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self._count(event["message"].get("usage"))
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            self._begin(_index(event), event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            self._delta(_index(event), event["delta"])
        elif kind == "message_delta":
            self._count(event.get("usage"))
            delta = event.get("delta")
            reason = delta.get("stop_reason") if isinstance(delta, dict) else None
            self.out.ending = str(reason) if reason else self.out.ending
        elif kind == "error":
            raise by_event(event, self._endpoint)

    def whole(self, body: dict[str, Any]) -> None:
        """A `message` object."""
        self._count(body.get("usage"))
        content = body.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict):
                continue
            self._begin(index, block)
            if block.get("type") == "tool_use" and block.get("input"):
                self._delta(index, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
        self.out.ending = str(body["stop_reason"]) if body.get("stop_reason") else None

    def blocks(self) -> list[Any]:
        """All blocks in their order, when one of them is opaque and every call can be read."""
        whole = [self._closed(index) for index in sorted(self._content)]
        if not any(block and block.get("type") in _OPAQUE for block in whole):
            return []
        return [] if None in whole else whole

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        self._content[index] = block
        if block.get("type") == "tool_use":
            self._content[index] = block | {"number": self._calls}
            self.out.add_call(self._calls, str(block.get("id") or ""), str(block.get("name") or ""), "")
            self._calls += 1
        self.out.add(text=_text(block, "text"), reasoning=_text(block, "thinking"))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type")
        names = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
        if kind == "input_json_delta":
            name, piece = "input", _text(delta, "partial_json")
            self.out.add_call(self._content.get(index, {}).get("number", 0), "", "", piece)
        elif kind in names:
            name = names[kind]
            piece = _text(delta, name)
            self.out.add(text=piece if name == "text" else "", reasoning=piece if name == "thinking" else "")
        else:
            return
        self._pieces.setdefault(index, {}).setdefault(name, []).append(piece)

    def _closed(self, index: int) -> dict[str, Any] | None:
        """A block with its pieces put in; None for a call whose arguments cannot be read."""
        block = {name: value for name, value in self._content[index].items() if name != "number"}
        for name, pieces in self._pieces.get(index, {}).items():
            text = "".join(pieces)
            if name != "input":
                block[name] = str(block.get(name) or "") + text
                continue
            try:
                block[name] = json.loads(text) if text.strip() else {}
            except (ValueError, RecursionError):
                return None
        return block

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}
            self.out.usage = anthropic_usage(self._usage)


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _text(block: Mapping[str, Any], name: str) -> str:
    text = block.get(name)
    return text if isinstance(text, str) else ""
