"""Encode replies as OpenAI's chat completions endpoint does."""

from __future__ import annotations

import json
from typing import Any

from tests.support.strict_provider.script import Refusal, Reply, Tokens

KINDS = {401: "authentication_error", 429: "rate_limit_exceeded", 404: "invalid_request_error"}


def events(reply: Reply, model: str, number: int, with_usage: bool) -> list[bytes]:
    """Return the server-sent events of a streamed reply."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in reply.pieces(reply.reasoning)]
    deltas += [{"content": piece} for piece in reply.pieces(reply.text)]
    for index, call in enumerate(reply.calls):
        head = {
            "id": reply.call_id(index, number),
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        deltas.append({"tool_calls": [{"index": index, **head}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in reply.pieces(call.raw)
        ]
    choices: list[list[dict[str, Any]]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    if reply.finish is None:
        return [_event(_chunk(model, number, choice)) for choice in choices]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish_reason(reply)}])
    chunks = [_chunk(model, number, choice) for choice in choices]
    if with_usage and reply.usage is not None:
        chunks.append(_chunk(model, number, []) | {"usage": usage(reply.usage)})
    return [*(_event(chunk) for chunk in chunks), b"data: [DONE]\n\n"]


def whole(reply: Reply, model: str, number: int) -> dict[str, Any]:
    """Return the JSON body of a reply that is not streamed."""
    calls = [
        {
            "id": reply.call_id(index, number),
            "type": "function",
            "function": {"name": call.name, "arguments": call.raw},
        }
        for index, call in enumerate(reply.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(reply)}
    body = _chunk(model, number, [choice]) | {"object": "chat.completion"}
    return body | ({"usage": usage(reply.usage)} if reply.usage is not None else {})


def finish_reason(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def usage(tokens: Tokens) -> dict[str, Any]:
    prompt = (tokens.input or 0) + tokens.cache_read + tokens.cache_write
    completion = tokens.output + tokens.reasoning
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def error_body(refusal: Refusal) -> dict[str, Any]:
    kind = KINDS.get(
        refusal.status, "invalid_request_error" if refusal.status < 500 else "server_error"
    )
    return {
        "error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}
    }


def _chunk(model: str, number: int, choices: list[dict[str, Any]]) -> dict[str, Any]:
    head = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": model,
    }
    return head | {"choices": choices}


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
