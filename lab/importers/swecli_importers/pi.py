"""Transcripts of pi."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swecli.store.session_files.importer import Line

from .transcript import Transcript, as_dict, blocks_of, first_objects, importer, text_of, usage_of


def _is_pi(head: str) -> bool:
    first = next(iter(first_objects(head)), {})
    return first.get("type") == "session" and "cwd" in first


def _read_pi(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl, a tree of entries by `id` and `parentId`. The session is the
    branch of the file's last entry; other branches are kept as raw lines only."""
    entries: list[dict[str, Any]] = []
    for event in into.parse_json_lines(lines):
        if event.get("type") == "session":
            into.id, into.directory = (
                str(event.get("id") or ""),
                str(event.get("cwd") or into.directory),
            )
        else:  # a session name is an entry of the tree too
            into.title = (
                text_of(event.get("name")) if event.get("type") == "session_info" else into.title
            )
            entries.append(event | {"line": into.line})
    for entry in _branch(entries):
        into.line = entry["line"]
        into.set_time(entry.get("timestamp"))
        if entry.get("type") == "message":
            _pi_message(as_dict(entry.get("message")), into)


def _pi_message(message: dict[str, Any], into: Transcript) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "user" and text_of(content).strip():
        into.add_query(text_of(content))
    elif role == "toolResult":
        into.add_result(
            str(message.get("toolCallId")), text_of(content), failed=bool(message.get("isError"))
        )
    elif role == "assistant":
        into.add_answer("")
        for block in blocks_of(content):
            if block.get("type") == "toolCall":
                into.add_call(
                    str(block.get("id")), str(block.get("name") or ""), block.get("arguments")
                )
            elif block.get("type") == "thinking":
                into.append_text(reasoning=text_of(block.get("thinking")))
            else:
                into.append_text(text_of(block))
        if used := as_dict(message.get("usage")):
            cost = as_dict(used.get("cost")).get("total")
            model = "/".join(
                str(message[name]) for name in ("provider", "model") if message.get(name)
            )
            buckets = usage_of(used, "input", "cacheRead", "cacheWrite", "output")
            into.add_usage(
                buckets, model=model, cost=float(cost) if isinstance(cost, (int, float)) else None
            )


def _branch(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries from the root to the last one, or all entries if they form no tree (version 1)."""
    by_id = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}
    if len(by_id) < len(entries) or not entries:
        return entries
    path: list[dict[str, Any]] = []
    at: dict[str, Any] | None = entries[-1]
    while at is not None and len(path) <= len(entries):
        path.append(at)
        at = by_id.get(str(at.get("parentId")))
    return path[::-1]


PI = importer("pi", _is_pi, _read_pi)
