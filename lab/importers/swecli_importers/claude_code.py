"""Transcripts of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from swecli.store.session_files.importer import Line

from .transcript import (
    Transcript,
    as_dict,
    blocks_of,
    first_objects,
    importer,
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
_USAGE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
_TAGGED = re.compile(r"\s*<([a-z]+[-_][a-z_-]+)[^>]*>.*?</\1>", re.DOTALL)
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
    rewound = _rewound_events(events)
    billed = _usage_by_reply(events)
    command = ""
    for event in events:
        into.line = event["line"]
        _take_title(event, into)
        if _is_internal(event) or str(event.get("uuid")) in rewound:
            continue
        kind = event.get("type")
        if kind not in ("user", "assistant", "attachment"):
            continue

        into.set_time(event.get("timestamp"))
        into.id = into.id or str(event.get("sessionId") or "")
        into.directory = str(event.get("cwd") or into.directory)
        message = as_dict(event.get("message"))
        if kind == "user":
            command = _typed_command(message)
        query = _user_text(event)
        # a command without an answer was the tool's own
        if not query and kind == "assistant":
            query = command
        if query:
            into.add_query(query)
            command = ""

        if kind == "assistant":
            _take_reply(message, into)
            _take_usage(message, into, billed)
        else:
            _take_results(message, into)


def _usage_by_reply(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the usage of each reply by its `message.id`: of its lines, the one with the most output counts."""
    billed: dict[str, dict[str, Any]] = {}
    for event in events:
        message = as_dict(event.get("message"))
        used = as_dict(message.get("usage"))
        key = str(message.get("id"))
        billed[key] = max(
            used, billed.get(key, {}), key=lambda one: token_count(one.get("output_tokens"))
        )
    return billed


def _take_title(event: dict[str, Any], into: Transcript) -> None:
    for name in ("customTitle", "aiTitle", "summary"):
        if event.get(name):
            into.title = text_of(event[name])
            return


def _is_internal(event: dict[str, Any]) -> bool:
    """Return whether the line is of a sub-agent or of the tool itself."""
    if as_dict(event.get("message")).get("model") == "<synthetic>":
        return True
    return any(event.get(name) for name in _INTERNAL_FLAGS)


def _typed_command(message: dict[str, Any]) -> str:
    """Return the slash command of a user's line with its arguments, or ""."""
    found = sorted(_COMMAND.findall(text_of(message.get("content"))), reverse=True)
    return " ".join(part for _, part in found if part)


def _take_results(message: dict[str, Any], into: Transcript) -> None:
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_result":
            _take_result(block, into)


def _take_reply(message: dict[str, Any], into: Transcript) -> None:
    """Parse the calls and texts of one line of a reply."""
    key = str(message.get("id") or "")
    for block in blocks_of(message.get("content")):
        kind = block.get("type")
        if kind == "tool_result":
            _take_result(block, into)
        elif kind == "tool_use":
            into.add_call(str(block.get("id")), str(block.get("name") or ""), block.get("input"))
        elif kind in ("text", "thinking"):
            into.add_answer(text_of(block), reasoning=text_of(block.get("thinking")), key=key)


def _take_result(block: dict[str, Any], into: Transcript) -> None:
    failed = bool(block.get("is_error"))
    into.add_result(str(block.get("tool_use_id")), text_of(block.get("content")), failed=failed)


def _take_usage(
    message: dict[str, Any], into: Transcript, billed: dict[str, dict[str, Any]]
) -> None:
    """Add the usage of a reply, once for all its lines."""
    key = str(message.get("id") or "")
    used = billed.pop(key, {}) if key else as_dict(message.get("usage"))
    if used:
        into.add_usage(usage_of(used, *_USAGE), model=str(message.get("model") or ""))


def _user_text(event: dict[str, Any]) -> str:
    """Return the user's text of a Claude Code line, also if queued during a turn, or ""."""
    queued = as_dict(event.get("attachment"))
    content = as_dict(event.get("message")).get("content")
    if queued.get("type") == "queued_command":
        content = queued.get("prompt")
    elif event.get("type") != "user" or any(event.get(name) for name in _INTERNAL_FLAGS):
        return ""
    parts = [text_of(block) for block in blocks_of(content) if block.get("type") == "text"]
    written = [part for part in parts if not (_is_tagged(part) or part.startswith(_NOTICES))]
    return "\n".join(filter(None, written)).strip()


def _is_tagged(text: str) -> bool:
    """Return whether a text consists of elements like `<command-name>...</command-name>` alone, one at least."""
    element = _TAGGED.match(text)
    end = 0
    while element is not None:
        end = element.end()
        element = _TAGGED.match(text, end)
    return end > 0 and not text[end:].strip()


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


CLAUDE_CODE = importer("Claude Code", _is_claude_code, _read_claude_code)
