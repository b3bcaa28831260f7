"""Encode replies as Anthropic's messages endpoint does."""

from __future__ import annotations

import json
from typing import Any

from tests.support.strict_provider.script import Refusal, Reply, Tokens

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def events(reply: Reply, model: str, number: int) -> list[bytes]:
    """Return the server-sent events of a streamed reply."""
    out = [
        _event(
            "message_start", message=_message(model, number) | {"usage": _input_usage(reply.usage)}
        )
    ]
    out.append(_event("ping"))
    for index, (head, deltas) in enumerate(_blocks(reply, number)):
        out.append(_event("content_block_start", index=index, content_block=head))
        out += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        out.append(_event("content_block_stop", index=index))
    if reply.finish is None:
        return out
    usage = (
        {} if reply.usage is None else {"output_tokens": reply.usage.output + reply.usage.reasoning}
    )
    delta = {"stop_reason": stop_reason(reply), "stop_sequence": None}
    return [*out, _event("message_delta", delta=delta, usage=usage), _event("message_stop")]


def whole(reply: Reply, model: str, number: int) -> dict[str, Any]:
    """Return the JSON body of a reply that is not streamed."""
    content: list[dict[str, Any]] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2ln"})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, call in enumerate(reply.calls):
        one = {
            "type": "tool_use",
            "id": reply.call_id(index, number),
            "name": call.name,
            "input": json.loads(call.raw),
        }
        content.append(one)
    body = _message(model, number) | {"content": content, "stop_reason": stop_reason(reply)}
    output = 0 if reply.usage is None else reply.usage.output + reply.usage.reasoning
    return body | {"usage": _input_usage(reply.usage) | {"output_tokens": output}}


def stop_reason(reply: Reply) -> str:
    words = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "refusal",
    }
    reason = reply.finish or ("tool_calls" if reply.calls else "stop")
    return words.get(reason, reason)


def error_body(refusal: Refusal) -> dict[str, Any]:
    kind = KINDS.get(refusal.status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": refusal.message},
        "request_id": "req_1",
    }


def _blocks(reply: Reply, number: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the (content_block, deltas) of each block."""
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas = [
            {"type": "thinking_delta", "thinking": piece} for piece in reply.pieces(reply.reasoning)
        ]
        deltas.append({"type": "signature_delta", "signature": "c2ln"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces(reply.text)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for index, call in enumerate(reply.calls):
        head = {
            "type": "tool_use",
            "id": reply.call_id(index, number),
            "name": call.name,
            "input": {},
        }
        pieces = ["", *reply.pieces(call.raw)]
        blocks.append(
            (head, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
        )
    return blocks


def _input_usage(tokens: Tokens | None) -> dict[str, int | None]:
    if tokens is None:
        return {}
    return {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
        "output_tokens": 1,
    }


def _message(model: str, number: int) -> dict[str, Any]:
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model}
    return head | {"content": [], "stop_reason": None, "stop_sequence": None}


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()
