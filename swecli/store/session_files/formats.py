"""Parsers for the transcripts of other tools (Claude Code, codex, pi, aider), detected by the head of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcript import Line, Transcript

_Events = list[dict[str, Any]]
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
_CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "local_shell_call": "shell",
    "web_search_call": "web_search",
}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CHAT, _TYPED, _OWN = "# aider chat started at ", "#### ", "> "  # line prefixes of aider
_SPENT = re.compile(
    r"> Tokens: ([\d.]+k?) sent,.* ([\d.]+k?) received\.(?: Cost: \$([\d.]+) message)?"
)
_MODEL = re.compile(r"> (?:Main m|M)odel: (\S+)")


def _text_of(content: Any) -> str:
    """Return the text of a message or result: a string, or the texts of its blocks, one a line."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in (_text_of(block) for block in content) if part)
    if isinstance(content, dict):
        return next(
            (
                _text_of(content[name])
                for name in ("text", "content", "output")
                if content.get(name)
            ),
            "",
        )
    return ""


def _as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def _blocks_of(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message; a string becomes one text block."""
    whole = content if isinstance(content, list) else [{"type": "text", "text": _text_of(content)}]
    return [_as_dict(block) for block in whole]


def _token_count(value: Any) -> int:
    """Return a token count, 0 if the value is not a positive integer."""
    return max(0, value) if isinstance(value, int) else 0


def _usage(used: dict[str, Any], *names: str) -> Usage:
    return Usage(*(_token_count(used.get(name)) for name in names))


def _read_claude_code(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.claude/projects/FOLDER/SESSION.jsonl: one event a line, a tree by `uuid` and `parentUuid`. A reply spans
    lines with one `message.id`, one of which has the usage; results are user lines, and so is tagged text that the user
    did not write. Lines of sub-agents, of the tool itself, summaries and rewound branches are kept as raw lines
    only."""
    events = [event | {"line": into.line} for event in into.parse_json_lines(lines)]
    left, billed, command = _rewound_events(events), dict[str, dict[str, Any]](), ""
    for message in (_as_dict(event.get("message")) for event in events):
        used, key = _as_dict(message.get("usage")), str(message.get("id"))
        billed[key] = max(
            used, billed.get(key, {}), key=lambda one: _token_count(one.get("output_tokens"))
        )
    for event in events:
        into.line, kind, message = event["line"], event.get("type"), _as_dict(event.get("message"))
        names = [name for name in ("customTitle", "aiTitle", "summary") if event.get(name)]
        into.title = _text_of(event[names[0]]) if names else into.title
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
            found = sorted(_COMMAND.findall(_text_of(message.get("content"))), reverse=True)
            command = " ".join(part for _, part in found if part)
        if words or (
            command and kind == "assistant"
        ):  # a command without an answer was the tool's own
            into.add_query(words or command)
            command = ""
        for block in _blocks_of(message.get("content")):
            name = block.get("type")
            if name == "tool_result":
                failed = bool(block.get("is_error"))
                into.add_result(
                    str(block.get("tool_use_id")), _text_of(block.get("content")), failed=failed
                )
            elif kind == "assistant" and name == "tool_use":
                into.add_call(
                    str(block.get("id")), str(block.get("name") or ""), block.get("input")
                )
            elif kind == "assistant" and name in ("text", "thinking"):
                into.add_answer(_text_of(block), reasoning=_text_of(block.get("thinking")), key=key)
        if kind == "assistant" and (
            used := billed.pop(key, {}) if key else _as_dict(message.get("usage"))
        ):
            buckets = (
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
                "output_tokens",
            )
            into.add_usage(_usage(used, *buckets), model=str(message.get("model") or ""))


def _user_text(event: dict[str, Any]) -> str:
    """Return the user's text of a Claude Code line, also if queued during a turn, or ""."""
    queued, content = (
        _as_dict(event.get("attachment")),
        _as_dict(event.get("message")).get("content"),
    )
    if queued.get("type") == "queued_command":
        content = queued.get("prompt")
    elif event.get("type") != "user" or any(event.get(name) for name in _INTERNAL_FLAGS):
        return ""
    parts = [_text_of(block) for block in _blocks_of(content) if block.get("type") == "text"]
    written = [part for part in parts if not (_TAGGED.fullmatch(part) or part.startswith(_NOTICES))]
    return "\n".join(filter(None, written)).strip()


def _rewound_events(events: _Events) -> set[str]:
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


def _read_codex(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl: `{timestamp, type, payload}` a line; before September
    2025 the payload is the line itself. User messages in angle brackets (environment, instructions) are kept as raw
    lines only. Token counts repeat when only the account's limits have changed."""
    counted = None
    for event in into.parse_json_lines(lines):
        into.set_time(event.get("timestamp"))
        kind, item = event.get("type"), _as_dict(event.get("payload", event))
        if kind in ("session_meta", None):
            into.id = into.id or str(item.get("id") or "")
            into.directory = str(item.get("cwd") or into.directory)
        elif kind == "turn_context":
            into.model = str(item.get("model") or into.model)
        elif kind == "event_msg":
            total = _as_dict(item.get("info")).get("total_token_usage")
            if total is None or total != counted:
                _codex_notice(item, into)
            counted = total or counted
        else:
            _codex_item(item, into)


def _codex_notice(item: dict[str, Any], into: Transcript) -> None:
    """Parse an event message. The user's text is repeated as an item; usage is only here, where input includes cached
    tokens and output includes reasoning."""
    words = _text_of(item.get("message"))
    if item.get("type") == "user_message" and words.strip() and not into.ends_with_query(words):
        into.add_query(words)
    used = _as_dict(_as_dict(item.get("info")).get("last_token_usage"))
    if item.get("type") == "token_count" and used:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        sent, cached, written, reasoning = (_token_count(used.get(name)) for name in names)
        into.add_usage(
            Usage(max(0, sent - cached), cached, 0, max(0, written - reasoning), reasoning)
        )


def _codex_item(item: dict[str, Any], into: Transcript) -> None:
    kind, text = item.get("type"), _text_of(item.get("content"))
    if kind == "message" and item.get("role") == "user":
        parts = [_text_of(block).strip() for block in _blocks_of(item.get("content"))]
        own = [
            part
            for part in parts
            if not part.startswith("<") and not part.endswith("</INSTRUCTIONS>")
        ]
        if any(own) and not into.ends_with_query("\n".join(own)):
            into.add_query("\n".join(own))
    elif kind == "message" and item.get("role") == "assistant":
        into.add_answer(text)
    elif kind == "reasoning":
        into.add_answer("", reasoning=_text_of(item.get("summary")))
    elif kind in _CALLS:
        given = item.get("arguments", item.get("input", item.get("action")))
        name = str(item.get("name") or _CALLS[kind])
        into.add_call(
            str(item.get("call_id") or item.get("id") or f"line {into.line}"),
            name,
            _parse_nested(given),
        )
    elif kind in _RESULTS:
        output = _parse_nested(item.get("output"))
        failed = _as_dict(_as_dict(output).get("metadata")).get("exit_code") not in (None, 0)
        into.add_result(
            str(item.get("call_id")),
            _text_of(output) or _text_of(item.get("output")),
            failed=failed,
        )


def _parse_nested(value: Any) -> Any:
    """Parse a JSON object in a string; return anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] == "{" else value
    except (ValueError, RecursionError):
        return value


def _read_pi(lines: Iterable[Line], into: Transcript) -> None:
    """Parse ~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl, a tree of entries by `id` and `parentId`. The session is the
    branch of the file's last entry; other branches are kept as raw lines only."""
    entries: _Events = []
    for event in into.parse_json_lines(lines):
        if event.get("type") == "session":
            into.id, into.directory = (
                str(event.get("id") or ""),
                str(event.get("cwd") or into.directory),
            )
        else:  # a session name is an entry of the tree too
            into.title = (
                _text_of(event.get("name")) if event.get("type") == "session_info" else into.title
            )
            entries.append(event | {"line": into.line})
    for entry in _branch(entries):
        into.line = entry["line"]
        into.set_time(entry.get("timestamp"))
        if entry.get("type") == "message":
            _pi_message(_as_dict(entry.get("message")), into)


def _pi_message(message: dict[str, Any], into: Transcript) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "user" and _text_of(content).strip():
        into.add_query(_text_of(content))
    elif role == "toolResult":
        into.add_result(
            str(message.get("toolCallId")), _text_of(content), failed=bool(message.get("isError"))
        )
    elif role == "assistant":
        into.add_answer("")
        for block in _blocks_of(content):
            if block.get("type") == "toolCall":
                into.add_call(
                    str(block.get("id")), str(block.get("name") or ""), block.get("arguments")
                )
            elif block.get("type") == "thinking":
                into.append_text(reasoning=_text_of(block.get("thinking")))
            else:
                into.append_text(_text_of(block))
        if used := _as_dict(message.get("usage")):
            cost = _as_dict(used.get("cost")).get("total")
            model = "/".join(
                str(message[name]) for name in ("provider", "model") if message.get(name)
            )
            buckets = _usage(used, "input", "cacheRead", "cacheWrite", "output")
            into.add_usage(
                buckets, model=model, cost=float(cost) if isinstance(cost, (int, float)) else None
            )


def _branch(entries: _Events) -> _Events:
    """Return the entries from the root to the last one, or all entries if they form no tree (version 1)."""
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
    """Parse .aider.chat.history.md: lines of the user begin with `#### `, those of aider with `> `, and end with two
    spaces; the rest is the model's. All chats of a file (`# aider chat started at TIME`) become one session."""
    whole = list(lines)
    into.lines = [(number, text) for number, text in whole if text.strip()]
    texts = [text.rstrip("\r") for _, text in whole]
    end = "  " if any(text.startswith(_TYPED) and text.endswith("  ") for text in texts) else ""
    query, answer, was_typed = list[str](), list[str](), False
    for text in [*texts, _CHAT]:  # the added chat header ends the last turn
        typed, own = (text.startswith(start) and text.endswith(end) for start in (_TYPED, _OWN))
        spent = _SPENT.match(text) if own else None
        if text.startswith(_CHAT) or spent or (typed and not was_typed):
            answered = "\n".join(answer).strip()
            if query and (
                answered or not query[0].startswith("/")
            ):  # a command without an answer is not a turn
                into.add_query("\n".join(query))
            if answered:
                into.add_answer(answered)
            query, answer = [], []
        was_typed = typed
        if text.startswith(_CHAT):
            into.set_time(text.removeprefix(_CHAT).strip())
        elif typed:
            query.append(text.removeprefix(_TYPED).rstrip())
        elif spent:
            sent, got = (
                round(float(n.rstrip("k")) * (1000 if n[-1:] == "k" else 1))
                for n in spent.groups()[:2]
            )
            into.add_usage(Usage(sent, output=got), cost=float(spent[3]) if spent[3] else None)
        elif own:
            found = _MODEL.match(text)
            into.model = found[1] if found else into.model
        else:
            answer.append(text)


def detect_format(head: str) -> tuple[str, Callable[[Iterable[Line], Transcript], None]] | None:
    """Return the name and the parser of the tool whose files have such a head, or None."""
    if any(line.startswith(_CHAT) for line in head.splitlines()[:50]):
        return "aider", _read_aider
    events = list(Transcript("", "").parse_json_lines(enumerate(head.splitlines()[:20])))
    for event in events:
        if {"sessionId", "type"} <= event.keys() or (
            event.get("type") == "summary" and "leafUuid" in event
        ):
            return "Claude Code", _read_claude_code
    first = events[0] if events else {}
    if (first.get("type") == "session_meta" and "payload" in first) or (
        "type" not in first and {"id", "timestamp", "instructions"} <= first.keys()
    ):
        return "codex", _read_codex
    return ("pi", _read_pi) if first.get("type") == "session" and "cwd" in first else None
