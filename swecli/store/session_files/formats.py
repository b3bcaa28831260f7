"""The tools whose transcripts can be imported, each known by how its file begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcript import (
    Line,
    Transcript,
    blocks_of,
    count,
    fields_of,
    objects,
    text_of,
)

_Events = list[dict[str, Any]]
_ASIDE = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CHAT, _TYPED, _OWN = "# aider chat started at ", "#### ", "> "  # what lines of aider begin with


def _usage(used: dict[str, Any], *names: str) -> Usage:
    return Usage(*(count(used.get(name)) for name in names))


def _read_claude_code(lines: Iterable[Line], into: Transcript) -> None:
    """~/.claude/projects/FOLDER/SESSION.jsonl, one event a line. A reply is split over lines of one `message.id`, each
    with the usage of the whole reply; results come as user lines. Lines of sub-agents, of the tool itself and its
    summaries are in the raw lines only."""
    billed = ""
    for event in objects(lines, into):
        kind, message = event.get("type"), fields_of(event.get("message"))
        if kind == "summary":
            into.title = text_of(event.get("summary"))
        if kind not in ("user", "assistant") or any(event.get(name) for name in _ASIDE):
            continue
        into.take_time(event.get("timestamp"))
        into.id = into.id or str(event.get("sessionId") or "")
        into.directory = str(event.get("cwd") or into.directory)
        key, typed = str(message.get("id") or ""), []
        for block in blocks_of(message.get("content")):
            kind_of = block.get("type")
            if kind == "user" and kind_of == "tool_result":
                failed = bool(block.get("is_error"))
                into.result(str(block.get("tool_use_id")), text_of(block.get("content")), failed=failed)
            elif kind == "user":
                typed.append(text_of(block) if kind_of == "text" else "")
            elif kind_of == "thinking":
                into.answer("", reasoning=text_of(block.get("thinking")), key=key)
            elif kind_of == "text":
                into.answer(text_of(block), key=key)
            elif kind_of == "tool_use":
                into.call(str(block.get("id")), str(block.get("name") or ""), block.get("input"))
        if "".join(typed).strip():
            into.query("\n".join(filter(None, typed)))
        used = fields_of(message.get("usage"))
        if kind == "assistant" and used and not (key and key == billed):
            buckets = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
            into.used(_usage(used, *buckets), model=str(message.get("model") or ""))
        billed = key if kind == "assistant" else billed


def _read_codex(lines: Iterable[Line], into: Transcript) -> None:
    """~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl, `{timestamp, type, payload}` a line; before September 2025 the
    payload is the line itself. What codex puts before the user's words (its environment, its instructions) comes as
    user messages in angle brackets and is in the raw lines only. Tokens are reported again where only the account's
    limits have changed."""
    counted = None
    for event in objects(lines, into):
        into.take_time(event.get("timestamp"))
        kind, item = event.get("type"), fields_of(event.get("payload", event))
        if kind in ("session_meta", None):
            into.id = into.id or str(item.get("id") or "")
            into.directory = str(item.get("cwd") or into.directory)
        elif kind == "turn_context":
            into.model = str(item.get("model") or into.model)
        elif kind == "event_msg":
            total = fields_of(item.get("info")).get("total_token_usage")
            if total is None or total != counted:
                _codex_notice(item, into)
            counted = total or counted
        else:
            _codex_item(item, into)


def _codex_notice(item: dict[str, Any], into: Transcript) -> None:
    """What the screen showed. The user's words come twice, as an item too; tokens come only here: input holds what was
    cached, output the reasoning."""
    words = text_of(item.get("message"))
    if item.get("type") == "user_message" and words.strip() and words.strip() not in into.last_query():
        into.query(words)
    used = fields_of(fields_of(item.get("info")).get("last_token_usage"))
    if item.get("type") == "token_count" and used:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        sent, cached, written, reasoning = (count(used.get(name)) for name in names)
        into.used(Usage(max(0, sent - cached), cached, 0, max(0, written - reasoning), reasoning))


def _codex_item(item: dict[str, Any], into: Transcript) -> None:
    kind, text = item.get("type"), text_of(item.get("content"))
    if kind == "message" and item.get("role") == "user":
        if text.strip() and not text.lstrip().startswith("<") and not text.rstrip().endswith("</INSTRUCTIONS>"):
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


def _read_pi(lines: Iterable[Line], into: Transcript) -> None:
    """~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl, a tree of entries by `id` and `parentId`. The branch that ends with
    the file's last entry is the session; other branches are in the raw lines only."""
    entries: _Events = []
    for event in objects(lines, into):
        if event.get("type") == "session":
            into.id, into.directory = str(event.get("id") or ""), str(event.get("cwd") or into.directory)
        elif event.get("type") == "session_info":
            into.title = text_of(event.get("name"))
        else:
            entries.append(event | {"line": into.line})
    for entry in _branch(entries):
        into.line = entry["line"]
        into.take_time(entry.get("timestamp"))
        if entry.get("type") == "message":
            _pi_message(fields_of(entry.get("message")), into)


def _pi_message(message: dict[str, Any], into: Transcript) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "user" and text_of(content).strip():
        into.query(text_of(content))
    elif role == "toolResult":
        into.result(str(message.get("toolCallId")), text_of(content), failed=bool(message.get("isError")))
    elif role == "assistant":
        into.answer("")
        for block in blocks_of(content):
            if block.get("type") == "toolCall":
                into.call(str(block.get("id")), str(block.get("name") or ""), block.get("arguments"))
            elif block.get("type") == "thinking":
                into.extend(reasoning=text_of(block.get("thinking")))
            else:
                into.extend(text_of(block))
        if used := fields_of(message.get("usage")):
            cost = fields_of(used.get("cost")).get("total")
            model = "/".join(str(message[name]) for name in ("provider", "model") if message.get(name))
            buckets = _usage(used, "input", "cacheRead", "cacheWrite", "output")
            into.used(buckets, model=model, cost=float(cost) if isinstance(cost, (int, float)) else None)


def _branch(entries: _Events) -> _Events:
    """From the root to the last entry; all of them where they are no tree (version 1)."""
    by_id = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}
    if len(by_id) < len(entries) or not entries:
        return entries
    path: _Events = []
    at: dict[str, Any] | None = entries[-1]
    while at is not None and len(path) <= len(entries):
        path.append(at)
        at = by_id.get(str(at.get("parentId")))
    return path[::-1]


def _read_aider(lines: Iterable[Line], into: Transcript) -> None:
    """.aider.chat.history.md: `#### ` opens the user's lines, `> ` those of aider itself; the rest is the model's. The
    chats of one file, each under `# aider chat started at TIME`, become one session."""
    query: list[str] = []
    answer: list[str] = []
    for number, text in [*lines, (0, _CHAT)]:  # another chat would end what is open
        if number:
            into.lines.append((number, text))
        if query and not text.startswith(_TYPED):
            into.query("\n".join(query))
            query = []
        if text.startswith((_CHAT, _TYPED)) and answer:
            if (whole := "\n".join(answer).strip()) and into.last_query():
                into.answer(whole)
            answer = []
        if text.startswith(_CHAT):
            into.take_time(text.removeprefix(_CHAT).strip())
        elif text.startswith(_TYPED):
            query.append(text.removeprefix(_TYPED).rstrip())
        elif text.startswith("> Model: "):
            into.model = text.removeprefix("> Model: ").split()[0] if text.split()[2:] else into.model
        elif not text.startswith(_OWN):
            answer.append(text)


def format_of(head: str) -> tuple[str, Callable[[Iterable[Line], Transcript], None]] | None:
    """The tool whose file begins like this, and what reads it; None for no tool's."""
    if any(line.startswith(_CHAT) for line in head.splitlines()[:50]):
        return "aider", _read_aider
    events = list(objects(enumerate(head.splitlines()[:20]), Transcript("", "")))  # whole ones
    for event in events:
        if {"sessionId", "type"} <= event.keys() or (event.get("type") == "summary" and "leafUuid" in event):
            return "Claude Code", _read_claude_code
    first = events[0] if events else {}
    if (first.get("type") == "session_meta" and "payload" in first) or (
        "type" not in first and {"id", "timestamp", "instructions"} <= first.keys()
    ):
        return "codex", _read_codex
    return ("pi", _read_pi) if first.get("type") == "session" and "cwd" in first else None
