"""Transcripts of Claude Code: ~/.claude/projects/FOLDER/SESSION.jsonl, one event a line.

A reply is split over lines of one `message.id`, each with the usage of the whole reply. Results come as user lines.
Lines of sub-agents (`isSidechain`), of the tool itself (`isMeta`) and its summaries are in the raw lines only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcripts import base
from swecli.store.session_files.transcripts.base import Format, Line, Transcript, fields_of, text_of

_ASIDE = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


class _ClaudeCode(Format):
    name = "Claude Code"

    def fits(self, head: str) -> bool:
        return any(
            ("sessionId" in event and "type" in event) or (event.get("type") == "summary" and "leafUuid" in event)
            for event in base.first_objects(head)
        )

    def read(self, lines: Iterable[Line], into: Transcript) -> None:
        billed = ""
        for event in base.objects(lines, into):
            kind, message = event.get("type"), fields_of(event.get("message"))
            if kind == "summary":
                into.title = text_of(event.get("summary"))
            if kind not in ("user", "assistant") or any(event.get(name) for name in _ASIDE):
                continue
            into.take_time(event.get("timestamp"))
            into.id = into.id or str(event.get("sessionId") or "")
            into.directory = str(event.get("cwd") or into.directory)
            if kind == "user":
                _user(message.get("content"), into)
                continue
            key = str(message.get("id") or "")
            _answer(message.get("content"), key, into)
            usage = fields_of(message.get("usage"))
            if usage and not (key and key == billed):
                into.used(_usage(usage), model=str(message.get("model") or ""))
            billed = key


def _user(content: Any, into: Transcript) -> None:
    blocks = base.blocks_of(content)
    typed = text_of([block for block in blocks if block.get("type") == "text"])
    for result in blocks:
        if result.get("type") == "tool_result":
            failed = bool(result.get("is_error"))
            into.result(str(result.get("tool_use_id")), text_of(result.get("content")), failed=failed)
    if typed.strip():
        into.query(typed)


def _answer(content: Any, key: str, into: Transcript) -> None:
    for block in base.blocks_of(content):
        if block.get("type") == "thinking":
            into.answer("", reasoning=text_of(block.get("thinking")), key=key)
        elif block.get("type") == "text":
            into.answer(text_of(block), key=key)
        elif block.get("type") == "tool_use":
            into.call(str(block.get("id")), str(block.get("name") or ""), block.get("input"))


def _usage(usage: dict[str, Any]) -> Usage:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return Usage(*(base.count(usage.get(name)) for name in names))


FORMAT = _ClaudeCode()
