"""Encode replies as OpenAI's Responses endpoint does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.strict_provider.openai_wire import error_body
from tests.support.strict_provider.script import Reply

__all__ = ["error_body", "events", "whole"]
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def events(reply: Reply, model: str, number: int) -> list[bytes]:
    """Return the server-sent events of a streamed reply."""
    begun = _response(reply, model, number) | {"status": "in_progress", "output": [], "usage": None}
    pairs = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
    ]
    for index, item in enumerate(_items(reply, number)):
        pairs += _item_events(reply, item, index)
    if reply.finish is not None:
        end = "incomplete" if reply.finish in INCOMPLETE else "completed"
        pairs.append((f"response.{end}", {"response": _response(reply, model, number)}))
    return [_event(kind, position, fields) for position, (kind, fields) in enumerate(pairs)]


def whole(reply: Reply, model: str, number: int) -> dict[str, Any]:
    """Return the JSON body of a reply that is not streamed."""
    return _response(reply, model, number)


def _item_events(
    reply: Reply, item: dict[str, Any], index: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "reasoning":
        bare = item | {"summary": []}
        yield "response.output_item.added", {"output_index": index, "item": bare}
        where = at | {"summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        yield "response.reasoning_summary_part.added", where | {"part": part}
        for piece in reply.pieces(reply.reasoning):
            yield "response.reasoning_summary_text.delta", where | {"delta": piece}
        yield "response.reasoning_summary_text.done", where | {"text": reply.reasoning}
    elif item["type"] == "message":
        bare = item | {"status": "in_progress", "content": []}
        yield "response.output_item.added", {"output_index": index, "item": bare}
        where = at | {"content_index": 0}
        text_part: dict[str, Any] = {"type": "output_text", "text": ""}
        part = text_part | {"annotations": [], "logprobs": []}
        yield "response.content_part.added", where | {"part": part}
        for piece in reply.pieces(reply.text):
            yield "response.output_text.delta", where | {"delta": piece, "logprobs": []}
        yield "response.output_text.done", where | {"text": reply.text, "logprobs": []}
        yield "response.content_part.done", where | {"part": part | {"text": reply.text}}
    else:
        bare = item | {"status": "in_progress", "arguments": ""}
        yield "response.output_item.added", {"output_index": index, "item": bare}
        for piece in reply.pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", at | {"delta": piece}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield "response.function_call_arguments.done", at | done
    if reply.finish is not None:
        yield "response.output_item.done", {"output_index": index, "item": item}


def _items(reply: Reply, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append(
            {
                "id": f"rs_{number}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": f"gAAA{number}",
            }
        )
    if reply.text:
        text = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
        items.append(message | {"status": "completed", "content": [text]})
    for position, call in enumerate(reply.calls):
        items.append(
            {
                "id": f"fc_{number}_{position}",
                "type": "function_call",
                "status": "completed",
                "call_id": reply.call_id(position, number),
                "name": call.name,
                "arguments": call.raw,
            }
        )
    return items


def _response(reply: Reply, model: str, number: int) -> dict[str, Any]:
    reason = INCOMPLETE.get(reply.finish or "")
    usage = None
    if reply.usage is not None:
        tokens = reply.usage
        read = (tokens.input or 0) + tokens.cache_read + tokens.cache_write
        made = tokens.output + tokens.reasoning
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": tokens.cache_read, "cache_write_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": read + made,
        }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1700000000,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": model,
        "output": _items(reply, number),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _event(kind: str, position: int, fields: dict[str, Any]) -> bytes:
    data = {"type": kind, "sequence_number": position, **fields}
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
