"""The tools whose transcripts can be imported, each known by how its file begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.transcript import (
    Line,
    Transcript,
    as_dict,
    blocks_of,
    count,
    objects,
    text_of,
)

_Events = list[dict[str, Any]]
_ASIDE = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_TAGGED = re.compile(r"(?:\s*(?><([a-z]+[-_][a-z_-]+)[^>]*>.*?</\1>))++\s*", re.DOTALL)  # each ends where it first can
_COMMAND = re.compile(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)
_TOLD = ("[Request interrupted by user", "This session is being continued from a previous conversation")
_CALLS = {"function_call": "", "custom_tool_call": "", "local_shell_call": "shell", "web_search_call": "web_search"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CHAT, _TYPED, _OWN = "# aider chat started at ", "#### ", "> "  # what lines of aider begin with
_SPENT = re.compile(r"> Tokens: ([\d.]+k?) sent,.* ([\d.]+k?) received\.(?: Cost: \$([\d.]+) message)?")
_MODEL = re.compile(r"> (?:Main m|M)odel: (\S+)")


def _usage(used: dict[str, Any], *names: str) -> Usage:
    return Usage(*(count(used.get(name)) for name in names))


def _read_claude_code(lines: Iterable[Line], into: Transcript) -> None:
    """~/.claude/projects/FOLDER/SESSION.jsonl, one event a line, a tree by `uuid` and `parentUuid`. A reply is split
    over lines of one `message.id`, one of them with the usage of all; results come as user lines, and so does, in tags,
    what the user did not write. Lines of sub-agents, of the tool itself, its summaries, and what was taken back are in
    the raw lines only."""
    events = [event | {"line": into.line} for event in objects(lines, into)]
    left, billed, command = _taken_back(events), dict[str, dict[str, Any]](), ""
    for message in (as_dict(event.get("message")) for event in events):
        used, key = as_dict(message.get("usage")), str(message.get("id"))
        billed[key] = max(used, billed.get(key, {}), key=lambda one: count(one.get("output_tokens")))
    for event in events:
        into.line, kind, message = event["line"], event.get("type"), as_dict(event.get("message"))
        names = [name for name in ("customTitle", "aiTitle", "summary") if event.get(name)]
        into.title = text_of(event[names[0]]) if names else into.title
        own = message.get("model") == "<synthetic>" or any(event.get(name) for name in _ASIDE)
        if own or str(event.get("uuid")) in left or kind not in ("user", "assistant", "attachment"):
            continue
        into.take_time(event.get("timestamp"))
        into.id = into.id or str(event.get("sessionId") or "")
        into.directory = str(event.get("cwd") or into.directory)
        words, key = _typed(event), str(message.get("id") or "")
        if kind == "user":
            found = sorted(_COMMAND.findall(text_of(message.get("content"))), reverse=True)
            command = " ".join(part for _, part in found if part)
        if words or (command and kind == "assistant"):  # what no answer comes to was a command of the tool's own
            into.query(words or command)
            command = ""
        for block in blocks_of(message.get("content")):
            name = block.get("type")
            if name == "tool_result":
                failed = bool(block.get("is_error"))
                into.result(str(block.get("tool_use_id")), text_of(block.get("content")), failed=failed)
            elif kind == "assistant" and name == "tool_use":
                into.call(str(block.get("id")), str(block.get("name") or ""), block.get("input"))
            elif kind == "assistant" and name in ("text", "thinking"):
                into.answer(text_of(block), reasoning=text_of(block.get("thinking")), key=key)
        if kind == "assistant" and (used := billed.pop(key, {}) if key else as_dict(message.get("usage"))):
            buckets = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
            into.used(_usage(used, *buckets), model=str(message.get("model") or ""))


def _typed(event: dict[str, Any]) -> str:
    """What the user wrote in a line of Claude Code's, also while a turn was running; "" for none."""
    queued, content = as_dict(event.get("attachment")), as_dict(event.get("message")).get("content")
    if queued.get("type") == "queued_command":
        content = queued.get("prompt")
    elif event.get("type") != "user" or any(event.get(name) for name in _ASIDE):
        return ""
    parts = [text_of(block) for block in blocks_of(content) if block.get("type") == "text"]
    written = [part for part in parts if not (_TAGGED.fullmatch(part) or part.startswith(_TOLD))]
    return "\n".join(filter(None, written)).strip()


def _taken_back(events: _Events) -> set[str]:
    """The `uuid`s of lines that the user went back behind and wrote another for, and of all that hangs on them."""
    places = [(str(event.get("parentUuid") or ""), str(event.get("uuid") or "-")) for event in events]
    typed = [place for place, event in zip(places, events, strict=True) if place[0] and _typed(event)]
    newest = dict(typed)
    gone = {own for parent, own in typed if newest[parent] != own}
    for parent, own in places:
        gone |= {own} if parent in gone else set()
    return gone - {"-"}


def _read_codex(lines: Iterable[Line], into: Transcript) -> None:
    """~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl, `{timestamp, type, payload}` a line; before September 2025 the
    payload is the line itself. What codex puts before the user's words (its environment, its instructions) comes as
    user messages in angle brackets and is in the raw lines only. Tokens are reported again where only the account's
    limits have changed."""
    counted = None
    for event in objects(lines, into):
        into.take_time(event.get("timestamp"))
        kind, item = event.get("type"), as_dict(event.get("payload", event))
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
    """What the screen showed. The user's words come twice, as an item too; tokens come only here: input holds what was
    cached, output the reasoning."""
    words = text_of(item.get("message"))
    if item.get("type") == "user_message" and words.strip() and not into.waits(words):
        into.query(words)
    used = as_dict(as_dict(item.get("info")).get("last_token_usage"))
    if item.get("type") == "token_count" and used:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        sent, cached, written, reasoning = (count(used.get(name)) for name in names)
        into.used(Usage(max(0, sent - cached), cached, 0, max(0, written - reasoning), reasoning))


def _codex_item(item: dict[str, Any], into: Transcript) -> None:
    kind, text = item.get("type"), text_of(item.get("content"))
    if kind == "message" and item.get("role") == "user":
        parts = [text_of(block).strip() for block in blocks_of(item.get("content"))]
        own = [part for part in parts if not part.startswith("<") and not part.endswith("</INSTRUCTIONS>")]
        if any(own) and not into.waits("\n".join(own)):
            into.query("\n".join(own))
    elif kind == "message" and item.get("role") == "assistant":
        into.answer(text)
    elif kind == "reasoning":
        into.answer("", reasoning=text_of(item.get("summary")))
    elif kind in _CALLS:
        given = item.get("arguments", item.get("input", item.get("action")))
        name = str(item.get("name") or _CALLS[kind])
        into.call(str(item.get("call_id") or item.get("id") or f"line {into.line}"), name, _parsed(given))
    elif kind in _RESULTS:
        output = _parsed(item.get("output"))
        failed = as_dict(as_dict(output).get("metadata")).get("exit_code") not in (None, 0)
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
        else:  # a name is an entry of the tree too: what comes next hangs on it
            into.title = text_of(event.get("name")) if event.get("type") == "session_info" else into.title
            entries.append(event | {"line": into.line})
    for entry in _branch(entries):
        into.line = entry["line"]
        into.take_time(entry.get("timestamp"))
        if entry.get("type") == "message":
            _pi_message(as_dict(entry.get("message")), into)


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
        if used := as_dict(message.get("usage")):
            cost = as_dict(used.get("cost")).get("total")
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
    """.aider.chat.history.md: `#### ` opens the user's lines, `> ` those of aider itself, both end with two spaces; the
    rest is the model's. The chats of one file, each under `# aider chat started at TIME`, become one session."""
    whole = list(lines)
    into.lines = [(number, text) for number, text in whole if text.strip()]
    texts = [text.rstrip("\r") for _, text in whole]
    end = "  " if any(text.startswith(_TYPED) and text.endswith("  ") for text in texts) else ""
    query, answer, was_typed = list[str](), list[str](), False
    for text in [*texts, _CHAT]:  # another chat would end what is open
        typed, own = (text.startswith(start) and text.endswith(end) for start in (_TYPED, _OWN))
        spent = _SPENT.match(text) if own else None
        if text.startswith(_CHAT) or spent or (typed and not was_typed):
            answered = "\n".join(answer).strip()
            if query and (answered or not query[0].startswith("/")):  # without an answer: not a turn
                into.query("\n".join(query))
            if answered:
                into.answer(answered)
            query, answer = [], []
        was_typed = typed
        if text.startswith(_CHAT):
            into.take_time(text.removeprefix(_CHAT).strip())
        elif typed:
            query.append(text.removeprefix(_TYPED).rstrip())
        elif spent:
            sent, got = (round(float(n.rstrip("k")) * (1000 if n[-1:] == "k" else 1)) for n in spent.groups()[:2])
            into.used(Usage(sent, output=got), cost=float(spent[3]) if spent[3] else None)
        elif own:
            found = _MODEL.match(text)
            into.model = found[1] if found else into.model
        else:
            answer.append(text)


def detect_format(head: str) -> tuple[str, Callable[[Iterable[Line], Transcript], None]] | None:
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
