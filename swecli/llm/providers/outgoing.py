"""Messages as one provider takes them: call ids it accepts, and marks where its cache should end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from swecli.models.message import HEAD_OPENS, ApiMessage

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MARK = {"type": "ephemeral"}
# these put a signature into their call ids that must come back to them unchanged
_KEEP_IDS = ("gemini", "vertex_ai", "vertex_ai_beta")
_MARKED = ("anthropic",)


def outgoing(messages: Sequence[ApiMessage], provider: str) -> list[ApiMessage]:
    """Copies of the messages for that provider; the same input gives the same bytes."""
    ready = [dict(message) for message in messages]
    if provider not in _KEEP_IDS:
        ready = [_with_plain_ids(message) for message in ready]
    if provider in _MARKED:
        _mark(ready)
    return ready


def _with_plain_ids(message: ApiMessage) -> ApiMessage:
    if "tool_call_id" in message:
        message["tool_call_id"] = plain_id(message["tool_call_id"])
    if message.get("tool_calls"):
        message["tool_calls"] = [call | {"id": plain_id(call["id"])} for call in message["tool_calls"]]
    return message


def plain_id(call_id: str) -> str:
    """The id itself where every provider takes it, else a short one that is always the same for it."""
    if _ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _mark(messages: list[ApiMessage]) -> None:
    """Mark the static system text, the epoch's head and the last message: all before a mark may be read from the
    cache next time. The tools stand before the system text and are marked with it."""
    system: Any = messages[0].get("content") if messages and messages[0]["role"] == "system" else None
    if isinstance(system, str) and system.strip():
        static, opens, head = system.partition(HEAD_OPENS)
        texts = [text for text in (static, opens + head) if text.strip()]
        messages[0]["content"] = [{"type": "text", "text": text, "cache_control": _MARK} for text in texts]
    for message in messages[-1:] if system is not None else messages[:1] + messages[-1:]:
        if message["role"] == "tool":
            message["cache_control"] = _MARK
            continue
        content: Any = message.get("content")
        if isinstance(content, str) and content.strip():
            message["content"] = [{"type": "text", "text": content, "cache_control": _MARK}]
