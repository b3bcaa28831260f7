"""Transcripts of codex."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.importer import Line

from .transcript import (
    Transcript,
    as_dict,
    blocks_of,
    first_objects,
    importer,
    text_of,
    token_count,
)

_CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "shell",
    "web_search_call": "web_search",
}
_RESULTS = ("function_call_output", "custom_tool_call_output")


def _is_codex(head: str) -> bool:
    first = next(iter(first_objects(head)), {})
    is_new = first.get("type") == "session_meta" and "payload" in first
    is_old = "type" not in first and {"id", "timestamp", "instructions"} <= first.keys()
    return is_new or is_old


def _read_codex(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl: `{timestamp, type, payload}` a line; before September
    2025 the payload is the line itself. User messages in angle brackets (environment, instructions) are kept as raw
    lines only. Token counts repeat when only the account's limits have changed."""
    counted = None
    for event in into.parse_json_lines(lines):
        into.set_time(event.get("timestamp"))
        kind = event.get("type")
        item = as_dict(event.get("payload", event))
        if kind in ("session_meta", None):
            into.id = into.id or str(item.get("id") or "")
            into.directory = str(item.get("cwd") or into.directory)
        elif kind == "turn_context":
            into.model = str(item.get("model") or into.model)
        elif kind == "event_msg":
            total = as_dict(item.get("info")).get("total_token_usage")
            if total is None or total != counted:
                _codex_notice(item, into)
            counted = total or counted
        else:
            _codex_item(item, into)


def _codex_notice(item: dict[str, Any], into: Transcript) -> None:
    """Parse an event message. The user's text is repeated as an item; usage is only here, where input includes cached
    tokens and output includes reasoning."""
    words = text_of(item.get("message"))
    if item.get("type") == "user_message" and words.strip() and not into.ends_with_query(words):
        into.add_query(words)
    used = as_dict(as_dict(item.get("info")).get("last_token_usage"))
    if item.get("type") == "token_count" and used:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        sent, cached, written, reasoning = (token_count(used.get(name)) for name in names)
        into.add_usage(
            Usage(max(0, sent - cached), cached, 0, max(0, written - reasoning), reasoning)
        )


def _codex_item(item: dict[str, Any], into: Transcript) -> None:
    kind = item.get("type")
    if kind == "message" and item.get("role") == "user":
        _codex_query(item, into)
    elif kind == "message" and item.get("role") == "assistant":
        into.add_answer(text_of(item.get("content")))
    elif kind == "reasoning":
        into.add_answer("", reasoning=text_of(item.get("summary")))
    elif kind in _CALLS:
        _codex_call(item, into, _CALLS[kind])
    elif kind in _RESULTS:
        _codex_result(item, into)


def _codex_query(item: dict[str, Any], into: Transcript) -> None:
    """Parse a message of the user, which codex mixes with its own instructions."""
    parts = [text_of(block).strip() for block in blocks_of(item.get("content"))]
    own = [
        part for part in parts if not part.startswith("<") and not part.endswith("</INSTRUCTIONS>")
    ]
    query = "\n".join(own)
    if any(own) and not into.ends_with_query(query):
        into.add_query(query)


def _codex_call(item: dict[str, Any], into: Transcript, default_name: str) -> None:
    given = item.get("arguments", item.get("input", item.get("action")))
    call_id = item.get("call_id") or item.get("id") or f"line {into.line}"
    into.add_call(str(call_id), str(item.get("name") or default_name), _parse_nested(given))


def _codex_result(item: dict[str, Any], into: Transcript) -> None:
    output = _parse_nested(item.get("output"))
    exit_code = as_dict(as_dict(output).get("metadata")).get("exit_code")
    text = text_of(output) or text_of(item.get("output"))
    into.add_result(str(item.get("call_id")), text, failed=exit_code not in (None, 0))


def _parse_nested(value: Any) -> Any:
    """Parse a JSON object in a string; return anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] == "{" else value
    except (ValueError, RecursionError):
        return value


CODEX = importer("codex", _is_codex, _read_codex)
