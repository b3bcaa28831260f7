"""Encode replies as Google's Gemini API does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.support.strict_provider.script import Call, Refusal, Reply

__all__ = ["error_body", "events", "signature_of", "whole"]
FINISH = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
STATUS = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def signature_of(part: dict[str, Any]) -> str:
    """Return the signature of a part: what is sent back has to be the part that it was given for."""
    call = part.get("functionCall", {})
    text = json.dumps([part.get("text", ""), call.get("name"), call.get("args")], sort_keys=True)
    return base64.b64encode(text.encode()).decode()


def error_body(refusal: Refusal) -> dict[str, Any]:
    """Return the JSON body of a refusal."""
    status = STATUS.get(refusal.status, "INTERNAL")
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def events(reply: Reply, model: str, number: int) -> list[bytes]:
    """Return the server-sent events of a streamed reply: thoughts and text in pieces, each call as a whole. The first
    call is signed, or the last text if there is none."""
    parts = list(_parts(reply, number))
    pieces = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    if reply.finish is not None:
        reason = FINISH.get(reply.finish, reply.finish.upper()) or "STOP"
        end: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": ""}]}}
        pieces.append({"candidates": [end | {"finishReason": reason}]})
    counts = _counts(reply)
    shared = {"modelVersion": model, "responseId": f"r{number}", **counts}
    return [
        f"data: {json.dumps(piece | shared, ensure_ascii=False)}\r\n\r\n".encode()
        for piece in pieces
    ]


def whole(reply: Reply, model: str, number: int) -> dict[str, Any]:
    """Return the JSON body of a reply that is not streamed."""
    content = {"role": "model", "parts": list(_parts(reply, number))}
    return {"candidates": [{"content": content, "finishReason": "STOP"}], **_counts(reply)}


def _parts(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    for piece in reply.pieces(reply.reasoning):
        yield {"text": piece, "thought": True}
    texts = reply.pieces(reply.text)
    for position, piece in enumerate(texts):
        part: dict[str, Any] = {"text": piece}
        if reply.reasoning and not reply.calls and position == len(texts) - 1:
            part["thoughtSignature"] = signature_of(part)
        yield part
    for position, call in enumerate(reply.calls):
        made = {"name": call.name, "args": _arguments(call)}
        part = {"functionCall": made | {"id": reply.call_id(position, number)}}
        if position == 0 and reply.reasoning:
            part["thoughtSignature"] = signature_of(part)
        yield part


def _arguments(call: Call) -> Any:
    return call.arguments if isinstance(call.arguments, dict) else json.loads(call.arguments)


def _counts(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    tokens = reply.usage
    counts = {
        "promptTokenCount": (tokens.input or 0) + tokens.cache_read + tokens.cache_write,
        "cachedContentTokenCount": tokens.cache_read,
        "candidatesTokenCount": tokens.output,
        "thoughtsTokenCount": tokens.reasoning,
    }
    return {"usageMetadata": counts}
