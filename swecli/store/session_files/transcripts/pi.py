"""Transcripts of pi: ~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl, a tree of entries by `id` and `parentId`.

The branch that ends with the file's last entry is the session; other branches are in the raw lines only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcripts import base
from swecli.store.session_files.transcripts.base import Format, Line, Transcript, fields_of, text_of


class _Pi(Format):
    name = "pi"

    def fits(self, head: str) -> bool:
        return any(event.get("type") == "session" and "cwd" in event for event in base.first_objects(head)[:1])

    def read(self, lines: Iterable[Line], into: Transcript) -> None:
        entries = []
        for event in base.objects(lines, into):
            if event.get("type") == "session":
                into.id, into.directory = str(event.get("id") or ""), str(event.get("cwd") or into.directory)
            elif event.get("type") == "session_info":
                into.title = text_of(event.get("name"))
            else:
                entries.append(event)
        for entry in _branch(entries):
            into.take_time(entry.get("timestamp"))
            if entry.get("type") == "message":
                _message(fields_of(entry.get("message")), into)


def _branch(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the root to the last entry; all of them where they are no tree (version 1)."""
    by_id = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}
    if len(by_id) < len(entries) or not entries:
        return entries
    path: list[dict[str, Any]] = []
    at: dict[str, Any] | None = entries[-1]
    while at is not None and len(path) <= len(entries):
        path.append(at)
        at = by_id.get(str(at.get("parentId")))
    return path[::-1]


def _message(message: dict[str, Any], into: Transcript) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "user" and text_of(content).strip():
        into.query(text_of(content))
    elif role == "toolResult":
        into.result(str(message.get("toolCallId")), text_of(content), failed=bool(message.get("isError")))
    elif role == "assistant":
        _answer(content, into)
        usage = fields_of(message.get("usage"))
        if usage:
            cost = fields_of(usage.get("cost")).get("total")
            buckets = Usage(*(base.count(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite", "output")))
            model = "/".join(str(message[name]) for name in ("provider", "model") if message.get(name))
            into.used(buckets, model=model, cost=float(cost) if isinstance(cost, (int, float)) else None)


def _answer(content: Any, into: Transcript) -> None:
    into.answer("")
    for block in base.blocks_of(content):
        if block.get("type") == "toolCall":
            into.call(str(block.get("id")), str(block.get("name") or ""), block.get("arguments"))
        elif block.get("type") == "thinking":
            into.extend(reasoning=text_of(block.get("thinking")))
        else:
            into.extend(text_of(block))


FORMAT = _Pi()
