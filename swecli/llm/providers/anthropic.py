"""The wire of Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from swecli.llm.answer import Answer, parse_usage, typed_field
from swecli.llm.native import NativeModel, safe_call_id, without_fields
from swecli.llm.prefix import PrefixHash
from swecli.models.api_message import ToolMessage, calls_of, images_of
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec

_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_MAX_MARKS = 4  # the service refuses a request with more
_MIN_BUDGET = 1_024  # tokens; the service refuses fewer
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 24_000}
_INNER_OBJECT = {"message_start": "message", "content_block_start": "content_block"}
_DELTAS = {  # by delta type: its field, and the block field that it extends
    "text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"), "input_json_delta": ("partial_json", "input"),
    "compaction_delta": ("content", "content"),
}  # fmt: skip
_THOUGHTS = ("thinking", "redacted_thinking")
_VISIBLE_TYPES = ("text", "tool_use")  # all other block types are opaque


class _MessageAnswer(Answer):
    """An answer in message events."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, Any] = {}
        self._content: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}  # deltas by block and field

    def read(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        index = event.get("index")
        if not isinstance(index, int):
            index = 0
        inner = typed_field(event, _INNER_OBJECT.get(str(kind), "delta"), dict)
        match kind:
            case "message_start":
                self._count(inner.get("usage"))
            case "content_block_start":
                self._start_block(index, inner)
            case "content_block_delta":
                self._delta(index, inner)
            case "content_block_stop":
                self._finish(index)
            case "message_delta":
                self._count(event.get("usage"))
                self._end(inner)
            case "message_stop":
                self.finished = True
        if not kind:
            self.unknown_event = event

    def read_complete(self, event: dict[str, Any]) -> None:
        self.unknown_event = event
        self._count(event.get("usage"))
        for index, block in enumerate(typed_field(event, "content", list)):
            if isinstance(block, dict):
                self._start_block(index, block)
                self._finish(index)
        self._end(event)

    def blocks(self) -> list[Any]:
        """Return all blocks in order if one is opaque and all tool inputs can be parsed, else []."""
        complete = {index: dict(block) for index, block in sorted(self._content.items())}
        for (index, name), pieces in self._pieces.items():
            text = "".join(pieces)
            block = complete.get(index, {})
            if name != "input":
                block[name] = str(block.get(name) or "") + text
                continue
            try:
                block[name] = json.loads(text)
            except (ValueError, RecursionError):
                return []
        has_opaque = any(block.get("type") not in _VISIBLE_TYPES for block in complete.values())
        return list(complete.values()) if has_opaque else []

    def _start_block(self, index: int, block: dict[str, Any]) -> None:
        self._content[index] = block
        if block.get("type") == "tool_use":
            self.add_call(index, str(block.get("id") or ""), str(block.get("name") or ""), "")
        self.add(
            text=typed_field(block, "text", str), reasoning=typed_field(block, "thinking", str)
        )

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        field, name = _DELTAS.get(str(delta.get("type")), ("", ""))
        piece = typed_field(delta, field, str)
        if not piece:
            return
        self._pieces.setdefault((index, name), []).append(piece)
        kind = self._content.get(index, {}).get("type", "tool_use")
        if name == "text":
            self.add(text=piece)
        elif name == "thinking":
            self.add(reasoning=piece)
        elif name == "input" and kind == "tool_use":  # other types are tools run by the service
            self.add_call(index, "", "", piece)

    def _finish(self, index: int) -> None:
        """End a block; a call's input may have been complete in its start event."""
        block = self._content.get(index, {})
        is_call = block.get("type") == "tool_use"
        if is_call and block.get("input") and (index, "input") not in self._pieces:
            arguments = json.dumps(block["input"])
            self._delta(index, {"type": "input_json_delta", "partial_json": arguments})

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._counts |= {name: value for name, value in usage.items() if value is not None}
            self.usage = parse_usage(self._counts)

    def _end(self, holder: Mapping[str, Any]) -> None:
        if holder.get("stop_reason"):
            self.finish_reason = str(holder["stop_reason"])
            details = typed_field(holder, "stop_details", dict)
            self.add(refusal=typed_field(details, "explanation", str))


class Anthropic(NativeModel):
    """A model behind `/v1/messages`."""

    answer_type = _MessageAnswer
    path = "/v1/messages"
    headers = {"anthropic-version": "2023-06-01"}

    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        profile = self.profile
        endpoint = self.endpoint
        body: dict[str, Any] = {"model": endpoint.model, "max_tokens": limit, "stream": True}
        body |= self.thinking(request, limit)
        body |= endpoint.extra_body
        if request.tools:
            # as they are sent: thoughts are bound to them
            body["tools"] = without_fields([_tool(spec) for spec in request.tools], profile.off)
        system = _system(request)
        if system:
            body["system"] = system
        messages = [message for message in request.messages if message["role"] != "system"]
        body["messages"] = self._turns(messages, _hash_of_beginning(body))
        if "cache_control" not in profile.off and profile.cache == "marks":
            _set_marks(body)
        return body

    def prefix_hash(self, body: Mapping[str, Any]) -> str:
        """Return a hash of system, tools and messages, without cache marks; "" if blocks are not bound to it."""
        if self.profile.think_back != "bound":
            return ""
        beginning = _hash_of_beginning(body)
        beginning.add(body["messages"])
        return beginning.digest

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        """Return the fields for a thinking level; a token budget only for models without adaptive thinking."""
        mode = self.profile.thinking
        if not self.profile.may_think:
            return {}
        if level == "off" and mode != "always":
            return {"thinking": {"type": "disabled"}} if self.profile.thinks_unasked else {}
        if mode == "budget":
            budget = int(level) if level.isdecimal() else _BUDGETS.get(level, limit)
            tokens = max(_MIN_BUDGET, min(budget, limit - _MIN_BUDGET))
            return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
        # late: only with a level
        from swecli.llm.thinking import nearest_level

        levels = [word for word in self.profile.levels if word != "none"]
        # else the newest models leave their thoughts out
        adaptive = {"type": "adaptive", "display": "summarized"}
        fields: dict[str, Any] = {"thinking": adaptive}
        if effort := nearest_level(levels, level):
            fields["output_config"] = {"effort": effort}
        return fields

    def _turns(self, messages: Iterable[ApiMessage], beginning: PrefixHash) -> list[dict[str, Any]]:
        """Convert messages; tool results become user messages. Blocks bound to their prefix are sent only while that
        prefix is unchanged."""
        turns: list[dict[str, Any]] = []
        hashed = 0  # turns that are in `beginning`
        for message in messages:
            if message["role"] == "assistant":
                returned = self._sendable(message)
                if self.profile.think_back == "bound" and returned:
                    beginning.add(turns[hashed:])
                    hashed = len(turns)
                    if message["blocks"].get("prefix") != beginning.digest:
                        returned = []
                plain = [*_text_blocks(message.get("content")), *_call_blocks(message)]
                content = returned if _visible_content(returned) == plain else plain
                if calls_of(message) and not any(block["type"] in _THOUGHTS for block in content):
                    content = [*self._filler(), *content]
                turns.append({"role": "assistant", "content": content})
                continue
            if message["role"] == "tool":
                blocks = [_result(message)]
            else:
                blocks = [*_image_blocks(message), *_text_blocks(message.get("content"))]
            if turns and turns[-1]["role"] == "user":
                turns[-1]["content"] += blocks
            else:
                turns.append({"role": "user", "content": blocks})
        return turns

    def _filler(self) -> list[dict[str, Any]]:
        """Return the thoughts of a message with calls that has none of this service's."""
        filler = self.profile.filler
        return [{"type": "thinking", "thinking": filler, "signature": ""}] if filler else []

    def _sendable(self, message: ApiMessage) -> list[dict[str, Any]]:
        """Return the blocks to send back without empty text: the service refuses that, also if it sent it."""
        blocks = [dict(block) for block in self.blocks_to_return(message)]
        return [block for block in blocks if str(block.get("text", "-")).strip()]


def _hash_of_beginning(body: Mapping[str, Any]) -> PrefixHash:
    return PrefixHash(body.get("system"), body.get("tools"))


def _visible_content(blocks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the text and calls of an answer's blocks, in the form that `_turns` builds from a stored message."""
    visible: list[dict[str, Any]] = []
    for block in blocks:
        if block.get("type") == "text" and typed_field(block, "text", str).strip():
            if visible and visible[-1]["type"] == "text":
                visible[-1]["text"] += block["text"]
            else:
                visible.append({"type": "text", "text": block["text"]})
        elif block.get("type") == "tool_use":
            visible.append({name: block.get(name) for name in ("type", "id", "name", "input")})
    return visible


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    }


def _system(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the system text, split at the request's cache marks."""
    text = "\n\n".join(
        message["content"] for message in request.messages if message["role"] == "system"
    )
    ends = [0, *(mark for mark in request.marks if 0 < mark < len(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    return [{"type": "text", "text": part} for part in parts if part.strip()]


def _text_blocks(content: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if content and content.strip() else []


def _image_blocks(message: ApiMessage) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for image in images_of(message):
        source = {"type": "base64", "media_type": image["media_type"], "data": image["data"]}
        blocks.append({"type": "image", "source": source})
    return blocks


def _call_blocks(message: ApiMessage) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_use",
            "id": safe_call_id(call["id"]),
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in calls_of(message)
    ]


def _result(message: ToolMessage) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": safe_call_id(message["tool_call_id"])}
    if message["content"].strip():
        block["content"] = message["content"]
    return block


def _set_marks(body: dict[str, Any]) -> None:
    """Set cache marks on the static system text, the epoch's head and the last message. A mark caches everything before
    it, the tools included. Of many parts of the system text the last ones are marked."""
    first_blocks = body.get("system") or body["messages"][0]["content"][-1:]
    last_block = body["messages"][-1]["content"][-1]
    available = _MAX_MARKS - 1
    if "cache_control" in body:  # of the user's `extra_body`: the service sets one by itself
        available -= 1
    for block in [*first_blocks[-available:], last_block]:
        block |= _CACHE_MARK
