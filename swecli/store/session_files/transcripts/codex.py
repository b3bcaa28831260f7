"""Transcripts of codex: ~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl, `{timestamp, type, payload}` a line.

Files of before September 2025 have the payload as the line itself. What codex puts before the user's words (its
environment, its instructions) comes as user messages in angle brackets and is in the raw lines only. Its counts of
input hold what was cached, those of output the reasoning; here they are apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcripts import base
from swecli.store.session_files.transcripts.base import Format, Line, Transcript, fields_of, text_of

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


class _Codex(Format):
    name = "codex"

    def fits(self, head: str) -> bool:
        return any(
            (event.get("type") == "session_meta" and "payload" in event)
            or ("type" not in event and {"id", "timestamp", "instructions"} <= event.keys())
            for event in base.first_objects(head)[:1]
        )

    def read(self, lines: Iterable[Line], into: Transcript) -> None:
        for event in base.objects(lines, into):
            into.take_time(event.get("timestamp"))
            kind, item = event.get("type"), fields_of(event.get("payload", event))
            if kind in ("session_meta", None):
                into.id = into.id or str(item.get("id") or "")
                into.directory = str(item.get("cwd") or into.directory)
            elif kind == "turn_context":
                into.model = str(item.get("model") or into.model)
            elif kind == "event_msg":
                _notice(item, into)
            else:
                _item(item, into)


def _notice(item: dict[str, Any], into: Transcript) -> None:
    """What the screen showed. The user's words come twice, as an item too; tokens come only here."""
    if item.get("type") == "user_message" and text_of(item.get("message")).strip():
        words = text_of(item.get("message"))
        if words.strip() not in into.last_query():
            into.query(words)
    elif item.get("type") == "token_count":
        usage = fields_of(fields_of(item.get("info")).get("last_token_usage"))
        if usage:
            into.used(_usage(usage))


def _item(item: dict[str, Any], into: Transcript) -> None:
    kind, text = item.get("type"), text_of(item.get("content"))
    if kind == "message" and item.get("role") == "user":
        if text.strip() and not text.lstrip().startswith("<"):
            into.query(text)
    elif kind == "message" and item.get("role") == "assistant":
        into.answer(text)
    elif kind == "reasoning":
        into.answer("", reasoning=text_of(item.get("summary")))
    elif kind in _CALLS:
        given = item.get("arguments", item.get("input", item.get("action")))
        into.call(str(item.get("call_id") or item.get("id")), str(item.get("name") or "shell"), _parsed(given))
    elif kind in _RESULTS:
        output = _parsed(item.get("output"))
        failed = fields_of(fields_of(output).get("metadata")).get("exit_code") not in (None, 0)
        into.result(str(item.get("call_id")), text_of(output) or text_of(item.get("output")), failed=failed)


def _parsed(value: Any) -> Any:
    """Arguments are JSON within JSON; what is none stays text."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] == "{" else value
    except (ValueError, RecursionError):
        return value


def _usage(usage: dict[str, Any]) -> Usage:
    cached, reasoning = base.count(usage.get("cached_input_tokens")), base.count(usage.get("reasoning_output_tokens"))
    sent, written = base.count(usage.get("input_tokens")), base.count(usage.get("output_tokens"))
    return Usage(max(0, sent - cached), cached, 0, max(0, written - reasoning), reasoning)


FORMAT = _Codex()
