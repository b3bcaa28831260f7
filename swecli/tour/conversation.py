"""What a request tells the offline models: the user's own words, the calls so far, the strategies in force; and how
their replies are streamed."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.api_message import calls_of
from swecli.models.message import (
    HEAD_OPENS,
    UNCHANGED,
    ApiMessage,
    CallDelta,
    ModelChunk,
    ModelRequest,
    Usage,
)
from swecli.text import truncate

_PIECE = re.compile(r"\S*\s*\S*\s*")
# Attachments after the user's own words: contents of @files, shared shell lines, the notes of the turn.
_ATTACHMENTS = re.compile(
    r"\n\n(?:Contents of what is mentioned above:\n|The user ran `|<turn_notes>\n).*", re.DOTALL
)
# Strategies as listed in the head of the system message, and changed ones as listed in the notes of a turn.
_STRATEGY = re.compile(r"^- (?:Strategy )?\[(P-\d+)\](?: is new:| now reads:)? (.+)$", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^- Top level: (.*)$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:stopped: .*\()?exit code (\d+)")


def stream_reply(request: ModelRequest, text: str, call: Call | None) -> Iterator[ModelChunk]:
    max_chars = 4 * min(request.max_tokens or 4_096, 4_096)
    shown = truncate(text, max_chars)
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call else ""
    yield from (ModelChunk(text=piece) for piece in _PIECE.findall(shown) if piece)
    if call:
        yield ModelChunk(call=CallDelta(0, f"call_{secrets.token_hex(6)}", call.name, arguments))
    size = sum(
        len(json.dumps(message, default=str, ensure_ascii=False)) for message in request.messages
    )
    usage = Usage(input=-(-size // 4), output=-(-len(shown + arguments) // 4))
    yield ModelChunk(
        usage=usage, cost=0.0, stop="length" if shown != text else "tool_calls" if call else "stop"
    )


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with its result as sent to the model; None before it has one."""

    name: str
    arguments: dict[str, Any]
    result: str | None = None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a command; None for other calls and for a command that did not run."""
        match = _EXIT_CODE.match(self.result or "") if self.name == "run_command" else None
        return int(match[1]) if match else None


def parse_calls(messages: Sequence[ApiMessage], start: int = 0) -> list[Call]:
    """Return the assistant's calls from index `start` on, in order, with their results; one that refers to an earlier
    result is replaced by it."""
    results: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            text = message["content"]
            if text.startswith(UNCHANGED):
                text = next((result for id, result in results.items() if id in text), text)
            results[message["tool_call_id"]] = text
    calls = [
        (call["id"], call["function"]) for message in messages[start:] for call in calls_of(message)
    ]
    return [
        Call(call["name"], json.loads(call["arguments"]), results.get(id)) for id, call in calls
    ]


def parse_strategies(messages: Sequence[ApiMessage]) -> dict[str, str]:
    """Return the strategies in force by id, oldest first."""
    strategies: dict[str, str] = {}
    for message in messages:
        for id, text in _STRATEGY.findall(_strategy_list(message)):
            strategies[id] = text
            if text == "no longer applies.":
                del strategies[id]
    return strategies


def _strategy_list(message: ApiMessage) -> str:
    """Return the list that swecli itself wrote: files and instructions may contain lines that look the same."""
    text = message["content"] or ""
    if message["role"] == "system":
        _, found, head = text.rpartition(HEAD_OPENS)
        return head.partition("<playbook>\n")[2].partition("</playbook>")[0] if found else ""
    has_notes = message["role"] == "user" and text.endswith("</turn_notes>")
    return text.rpartition("<turn_notes>\n")[2] if has_notes else ""


def strip_attachments(message: ApiMessage) -> str:
    """Return the user's own words of a message."""
    text = message["content"] or ""
    return _ATTACHMENTS.sub("", text).strip() or text.strip()


def find_top_level(messages: Sequence[ApiMessage]) -> list[str]:
    """Return the names at the top of the workspace, folders with a slash, as the notes of a turn list them."""
    texts = [
        str(message["content"])
        for message in messages
        if message["role"] == "user" and _TOP_LEVEL.search(str(message["content"]))
    ]
    found = _TOP_LEVEL.search(texts[-1]) if texts else None
    return [name for name in found[1].split(", ") if name] if found else []


def query_start(messages: Sequence[ApiMessage]) -> int:
    """Return the index of the newest message of the user, the number of messages if there is none."""
    asked = [number for number, message in enumerate(messages) if message["role"] == "user"]
    return asked[-1] if asked else len(messages)
