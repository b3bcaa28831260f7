"""What one request shows: the lines the user typed, the calls made for them so far, and what is remembered."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.message import HEAD_OPENS, UNCHANGED, ApiMessage, ModelRequest

# What the product puts behind the user's own words: the contents of @files, shared shell lines, and the turn's notes.
_ATTACHED = re.compile(r"\n\n(?:Contents of what is mentioned above:\n|The user ran `|<turn_notes>\n).*", re.DOTALL)
# Strategies as the head of the system message lists them, and as the notes of a turn list changed ones.
_STRATEGY = re.compile(r"^- (?:Strategy )?\[(P-\d+)\](?: is new:| now reads:)? (.+)$", re.MULTILINE)
_GONE = "no longer applies."
_EXIT_CODE = re.compile(r"(?:stopped: .*\()?exit code (\d+)")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call by name and arguments."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made, with its result as it was sent; None where there is none."""

    call: Call
    result: str | None

    @property
    def exit_code(self) -> int | None:
        """How a command ended; None for other calls, and for one that did not run."""
        line = (self.result or "").partition("\n")[0]
        found = _EXIT_CODE.match(line) if self.call.name == "run_command" else None
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Turn:
    """The running turn: the user's words, line by line, and the calls made so far.

    `tools` are the names of the tools offered; `remembered` are the strategies the request shows, by id.
    """

    lines: tuple[str, ...]
    made: tuple[Made, ...]
    tools: frozenset[str]
    remembered: dict[str, str]


def read_turn(request: ModelRequest) -> Turn:
    """Read a request of the OpenAI chat shape. Total: what has an unexpected shape counts as not being there."""
    messages = request.messages
    opens = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    asked = own_words(messages[opens]) if opens < len(messages) else ""
    lines = tuple(line.strip() for line in asked.splitlines() if line.strip())
    made = calls_in(messages[opens:], results_in(messages))
    return Turn(lines, made, frozenset(spec.name for spec in request.tools), _remembered(messages))


def calls_in(messages: Sequence[ApiMessage], results: dict[str, str]) -> tuple[Made, ...]:
    """The calls of the assistant's messages in order, with their results by the calls' ids."""
    asked = [call for message in messages for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return tuple(_made(call, results) for call in asked)


def results_in(messages: Sequence[ApiMessage]) -> dict[str, str]:
    """Results by call id; one that points at an earlier result is replaced by that."""
    results: dict[str, str] = {}
    for message in messages:
        if message.get("role") == "tool":
            text = text_of(message)
            if text.startswith(UNCHANGED):
                text = next((known for id, known in results.items() if id and id in text), text)
            results[str(message.get("tool_call_id") or "")] = text
    return results


def _made(call: dict[str, Any], results: dict[str, str]) -> Made:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError):
        arguments = None
    known = arguments if isinstance(arguments, dict) else {}
    return Made(Call(str(function.get("name") or ""), known), results.get(str(call.get("id") or "")))


def _remembered(messages: Sequence[ApiMessage]) -> dict[str, str]:
    known: dict[str, str] = {}
    for message in messages:
        for name, text in _STRATEGY.findall(_strategy_list(message)):
            known[name] = text
            if text == _GONE:
                del known[name]
    return known


def _strategy_list(message: ApiMessage) -> str:
    """Where the product itself lists strategies: files and instructions may hold lines that look the same."""
    text = text_of(message)
    if message.get("role") == "system":
        _, opens, head = text.rpartition(HEAD_OPENS)
        return head.partition("<playbook>\n")[2].partition("</playbook>")[0] if opens else ""
    ours = message.get("role") == "user" and text.endswith("</turn_notes>")
    return text.rpartition("<turn_notes>\n")[2] if ours else ""


def own_words(message: ApiMessage) -> str:
    """A user's message without what the product attached to it."""
    text = text_of(message)
    return _ATTACHED.sub("", text).strip() or text.strip()


def text_of(message: ApiMessage) -> str:
    """The text of a message: its content, or that of its text blocks; an image has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))
