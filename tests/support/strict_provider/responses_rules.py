"""The requests that OpenAI's Responses endpoint refuses: bodies of other types than its own, and broken histories."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.strict_provider.common_rules import Refused, need, object_schema, tool_name


@cache
def _vendor_type() -> tuple[Any, frozenset[str]]:
    """Return the vendor's type of a body as a validator, and the names of its fields."""
    # takes a second: only for this wire
    from openai.types.responses import response_create_params as params
    from pydantic import TypeAdapter

    streaming = params.ResponseCreateParamsStreaming
    names = {*params.ResponseCreateParamsBase.__annotations__, *streaming.__annotations__}
    return TypeAdapter(streaming), frozenset(names)


def check(body: dict[str, Any], models: set[str]) -> None:
    """Raise Refused, with the service's status and message, for an invalid body."""
    model = body.get("model")
    if model not in models:
        raise Refused(
            f"The requested model '{model}' does not exist.", status=404, code="model_not_found"
        )
    adapter, allowed = _vendor_type()
    for name in body:
        need(name in allowed, f"Unknown parameter: '{name}'.")
    _validate(adapter, body)
    need(body.get("max_output_tokens", 16) >= 16, "max_output_tokens: integer below minimum value")
    for tool in body.get("tools", ()):
        tool_name(tool.get("name"), "tools")
        object_schema(tool.get("parameters"), "tools.parameters")
    _history(body["input"], stored=body.get("store", True))


def _validate(adapter: Any, body: dict[str, Any]) -> None:
    from pydantic import ValidationError

    try:
        checked = adapter.validate_python({"stream": True, **body})
        list(checked.get("tools") or ())  # validated while it is read
    except ValidationError as error:
        first = error.errors()[0]
        raise Refused(f"Invalid value at {first['loc']}: {first['msg']}") from None


def _history(items: list[dict[str, Any]], *, stored: bool) -> None:
    open_calls: list[str] = []
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            open_calls.append(item["call_id"])
        if kind == "function_call_output":
            need(
                item["call_id"] in open_calls,
                f"No tool call found for function call output with call_id {item['call_id']}.",
            )
            open_calls.remove(item["call_id"])
        if kind == "reasoning":
            need(
                bool(item.get("encrypted_content")) or stored,
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false.",
            )
            following = items[number + 1].get("type") if number + 1 < len(items) else None
            need(
                following in ("message", "function_call", "reasoning"),
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
            )
    need(not open_calls, f"No tool output found for function call {', '.join(open_calls)}.")
