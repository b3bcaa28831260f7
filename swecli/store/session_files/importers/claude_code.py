"""Transcripts of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from swecli.store.session_files.transcript import (
    Importer,
    Line,
    Transcript,
    as_dict,
    blocks_of,
    first_objects,
    text_of,
    token_count,
    usage_of,
)

_INTERNAL_FLAGS = (
    "isSidechain",
    "isMeta",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "isApiErrorMessage",
)
_TAGGED = re.compile(
    r"(?:\s*(?><([a-z]+[-_][a-z_-]+)[^>]*>.*?</\1>))++\s*", re.DOTALL
)  # no backtracking
_COMMAND = re.compile(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)
_NOTICES = (
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)


def _is_claude_code(head: str) -> bool:
    return any(
        {"sessionId", "type"} <= event.keys()
        or (event.get("type") == "summary" and "leafUuid" in event)
        for event in first_objects(head)
    )


def _read_claude_code(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.claude/projects/FOLDER/SESSION.jsonl: one event a line, a tree by `uuid` and `parentUuid`. A reply spans
    lines with one `message.id`, one of which has the usage; results are user lines, and so is tagged text that the user
    did not write. Lines of sub-agents, of the tool itself, summaries and rewound branches are kept as raw lines
    only."""
    events = [event | {"line": into.line} for event in into.parse_json_lines(lines)]
    left, billed, command = _rewound_events(events), dict[str, dict[str, Any]](), ""
    for message in (as_dict(event.get("message")) for event in events):
        used, key = as_dict(message.get("usage")), str(message.get("id"))
        billed[key] = max(
            used, billed.get(key, {}), key=lambda one: token_count(one.get("output_tokens"))
        )
    for event in events:
        into.line, kind, message = event["line"], event.get("type"), as_dict(event.get("message"))
        names = [name for name in ("customTitle", "aiTitle", "summary") if event.get(name)]
        into.title = text_of(event[names[0]]) if names else into.title
        own = message.get("model") == "<synthetic>" or any(
            event.get(name) for name in _INTERNAL_FLAGS
        )
        if own or str(event.get("uuid")) in left or kind not in ("user", "assistant", "attachment"):
            continue
        into.set_time(event.get("timestamp"))
        into.id = into.id or str(event.get("sessionId") or "")
        into.directory = str(event.get("cwd") or into.directory)
        words, key = _user_text(event), str(message.get("id") or "")
        if kind == "user":
            found = sorted(_COMMAND.findall(text_of(message.get("content"))), reverse=True)
            command = " ".join(part for _, part in found if part)
        if words or (
            command and kind == "assistant"
        ):  # a command without an answer was the tool's own
            into.add_query(words or command)
            command = ""
        for block in blocks_of(message.get("content")):
            name = block.get("type")
            if name == "tool_result":
                failed = bool(block.get("is_error"))
                into.add_result(
                    str(block.get("tool_use_id")), text_of(block.get("content")), failed=failed
                )
            elif kind == "assistant" and name == "tool_use":
                into.add_call(
                    str(block.get("id")), str(block.get("name") or ""), block.get("input")
                )
            elif kind == "assistant" and name in ("text", "thinking"):
                into.add_answer(text_of(block), reasoning=text_of(block.get("thinking")), key=key)
        if kind == "assistant" and (
            used := billed.pop(key, {}) if key else as_dict(message.get("usage"))
        ):
            buckets = (
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
                "output_tokens",
            )
            into.add_usage(usage_of(used, *buckets), model=str(message.get("model") or ""))


def _user_text(event: dict[str, Any]) -> str:
    """Return the user's text of a Claude Code line, also if queued during a turn, or ""."""
    queued, content = (
        as_dict(event.get("attachment")),
        as_dict(event.get("message")).get("content"),
    )
    if queued.get("type") == "queued_command":
        content = queued.get("prompt")
    elif event.get("type") != "user" or any(event.get(name) for name in _INTERNAL_FLAGS):
        return ""
    parts = [text_of(block) for block in blocks_of(content) if block.get("type") == "text"]
    written = [part for part in parts if not (_TAGGED.fullmatch(part) or part.startswith(_NOTICES))]
    return "\n".join(filter(None, written)).strip()


def _rewound_events(events: list[dict[str, Any]]) -> set[str]:
    """Return the `uuid`s of the queries that the user rewound and replaced, and of all their descendants."""
    places = [
        (str(event.get("parentUuid") or ""), str(event.get("uuid") or "-")) for event in events
    ]
    typed = [
        place for place, event in zip(places, events, strict=True) if place[0] and _user_text(event)
    ]
    newest = dict(typed)
    gone = {own for parent, own in typed if newest[parent] != own}
    for parent, own in places:
        gone |= {own} if parent in gone else set()
    return gone - {"-"}


CLAUDE_CODE = Importer("Claude Code", _is_claude_code, _read_claude_code)
