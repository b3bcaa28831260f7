"""A transcript of another tool, built line by line."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from swecli.models.message import Usage
from swecli.store.session_files.importer import Importer, Line, ReadTranscript

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Transcript:
    """A session of another tool. `lines` holds every line read, `skipped` describes the broken ones."""

    def __init__(self, tool: str, directory: str) -> None:
        self.tool = tool
        self.directory = directory
        self.id = self.title = self.model = ""
        self.time = datetime.now(UTC)
        self.line = 0  # number of the current line
        self.skipped: list[str] = []
        self.lines: list[Line] = []
        self._messages: list[dict[str, Any]] = []
        self._turns: list[dict[str, Any]] = []
        self._requests: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._key = ""

    def parse_json_lines(self, lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON Lines file; lines with anything else are reported and skipped."""
        for number, text in lines:
            if not text.strip():
                continue
            self.line = number
            self.lines.append((number, text))
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                self.skipped.append(f"line {number}: not JSON, perhaps cut off")
                continue
            if isinstance(value, dict):
                yield value
            else:
                self.skipped.append(f"line {number}: not a JSON object")

    def set_time(self, value: Any) -> None:
        """Set the time of what follows, from ISO 8601 or milliseconds since 1970. Invalid or earlier times are
        ignored."""
        try:
            is_number = isinstance(value, (int, float))
            at = (
                datetime.fromtimestamp(value / 1000, UTC)
                if is_number
                else datetime.fromisoformat(value)
            )
            at = at.astimezone(UTC)  # OverflowError on the first and last days of the calendar
        except (ValueError, OverflowError, OSError, TypeError):
            return
        if not self._turns or at >= self.time:
            self.time = at

    def add_query(self, text: str) -> None:
        """Start a turn with the user's text."""
        if self._turns:
            self._turns[-1]["finished_at"] = self.time
        number = len(self._turns) + 1
        self._turns.append(
            {"number": number, "status": "done", "started_at": self.time, "finished_at": self.time}
        )
        self._add("user", text)

    def ends_with_query(self, words: str) -> bool:
        """Return whether the last message is a query that contains these words."""
        last = self._messages[-1] if self._messages else {"role": "", "content": ""}
        return last["role"] == "user" and words.strip() in last["content"]

    def add_answer(self, text: str, *, reasoning: str = "", key: str = "") -> None:
        """Add text of the model. Consecutive pieces with the same `key` become one message."""
        last = self._messages[-1] if self._messages else {"role": ""}
        if not (key and key == self._key and last["role"] == "assistant"):
            self._add("assistant", "")
        self._key = key
        self.append_text(text, reasoning=reasoning)

    def append_text(self, text: str = "", *, reasoning: str = "") -> None:
        """Append to the last message."""
        last = self._messages[-1]
        last["content"] += ("\n\n" if last["content"] and text else "") + text
        last["reasoning"] += ("\n\n" if last["reasoning"] and reasoning else "") + reasoning

    def add_call(self, call_id: str, name: str, parameters: Any) -> None:
        """Add a tool call, to the last message if none of its calls has a result yet, or to a new one."""
        last: dict[str, Any] = self._messages[-1] if self._messages else {"role": ""}
        if last["role"] != "assistant" or any(
            call["result"] is not None for call in last["tool_calls"]
        ):
            last = self._add("assistant", "")
        given = parameters if isinstance(parameters, dict) else {"input": parameters}
        call = {
            "id": call_id,
            "name": name or "unknown",
            "parameters": given,
            "result": None,
            "error": None,
        }
        last["tool_calls"].append(call)
        self._calls[call_id] = call

    def add_result(self, call_id: str, text: str, *, failed: bool = False) -> None:
        """Set the result of a call; a result without a call is skipped."""
        call = self._calls.pop(call_id, None)
        if call is None:
            self.skipped.append(f"line {self.line}: a result without its call")
            return
        call["result"] = text
        if failed:
            first_line, *_ = text.strip().splitlines() or [""]
            call["error"] = first_line or "failed"
        else:
            call["error"] = None

    def add_usage(self, usage: Usage, *, model: str = "", cost: float | None = None) -> None:
        """Add the usage of one request."""
        self.model = model or self.model
        turn = max(1, len(self._turns))
        step = sum(request["interaction"] == turn for request in self._requests[-200:]) + 1
        row = {
            "model": self.model,
            "purpose": "turn",
            "interaction": turn,
            "step": step,
            "created_at": self.time,
        }
        self._requests.append(row | asdict(usage) | {"cost": cost})

    def _add(self, role: str, text: str) -> dict[str, Any]:
        if not self._turns and role != "user":
            self.add_query("(the transcript begins here)")
        message: dict[str, Any] = {"role": role, "content": text, "reasoning": "", "tool_calls": []}
        self._messages.append(message | {"interaction": len(self._turns), "created_at": self.time})
        self._key = ""
        return self._messages[-1]

    def to_archive(self) -> dict[str, Any]:
        """Return the session for `import_session`, or {} if it has no turn."""
        if not self._turns:
            return {}
        costs = [request["cost"] for request in self._requests]
        known = [cost for cost in costs if cost is not None]
        first = self._messages[0]["content"]
        return {
            "id": self._session_id(),
            "directory": self.directory,
            "title": self.title or f"{first.strip()[:60]} ({self.tool})",
            "model": self.model,
            "first_query": first[:200],
            "cost": sum(known) if costs and len(known) == len(costs) else None,
            "created_at": self._turns[0]["started_at"],
            "updated_at": self.time,
            "interactions": self._turns,
            "messages": self._messages,
            "requests": self._requests,
        }

    def _session_id(self) -> str:
        """Return the tool's own id if it is a UUID, else a UUID derived from it or from the content."""
        if _UUID.fullmatch(self.id.lower()):
            return self.id.lower()
        content = (
            self.id
            or sha256(
                "\n".join(text for _, text in self.lines).encode("utf-8", "replace")
            ).hexdigest()
        )
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.tool}:{content}"))


def importer(
    tool: str, recognises: Callable[[str], bool], read: Callable[[Iterable[Line], Transcript], None]
) -> Importer:
    """Return the importer of a tool; `read` adds the turns of a file's lines to a transcript."""

    def read_lines(lines: Iterable[Line], directory: str) -> ReadTranscript:
        transcript = Transcript(tool, directory)
        read(lines, transcript)
        return ReadTranscript(
            transcript.to_archive(), tuple(transcript.lines), tuple(transcript.skipped)
        )

    return Importer(tool, recognises, read_lines)


def first_objects(head: str) -> list[dict[str, Any]]:
    """Return the JSON objects among the first twenty lines of a file."""
    return list(Transcript("", "").parse_json_lines(enumerate(head.splitlines()[:20])))


def text_of(content: Any) -> str:
    """Return the text of a message or result: a string, or the texts of its blocks, one a line."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in (text_of(block) for block in content) if part)
    if isinstance(content, dict):
        return next(
            (text_of(content[name]) for name in ("text", "content", "output") if content.get(name)),
            "",
        )
    return ""


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message; a string becomes one text block."""
    whole = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    return [as_dict(block) for block in whole]


def token_count(value: Any) -> int:
    """Return a token count, 0 if the value is not a positive integer."""
    return max(0, value) if isinstance(value, int) else 0


def usage_of(used: dict[str, Any], *names: str) -> Usage:
    return Usage(*(token_count(used.get(name)) for name in names))
