"""What a transcript of another tool becomes: turns, gathered line by line into the value that an import reads."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from swecli.models.message import Usage

Line = tuple[int, str]  # its number in the file, from 1, and its text
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Transcript:
    """A session as another tool wrote it down. Broken lines are named in `skipped`; every line is kept in `lines`."""

    def __init__(self, tool: str, directory: str) -> None:
        self.tool, self.directory = tool, directory
        self.id = self.title = self.model = ""
        self.at = datetime.now(UTC)
        self.line = 0  # the number of the one that is read
        self.skipped: list[str] = []
        self.lines: list[Line] = []
        self._messages: list[dict[str, Any]] = []
        self._turns: list[dict[str, Any]] = []
        self._requests: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._key = ""

    def take_time(self, value: Any) -> None:
        """Go on at that moment: ISO 8601, or milliseconds since 1970. What is neither changes nothing."""
        try:
            at = datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, (int, float)) else _moment(value)
        except (ValueError, OverflowError, OSError, TypeError):
            return
        if not self._turns or at >= self.at:
            self.at = at

    def query(self, text: str) -> None:
        """The user typed something: a turn begins."""
        if self._turns:
            self._turns[-1]["finished_at"] = self.at
        number = len(self._turns) + 1
        self._turns.append({"number": number, "status": "done", "started_at": self.at, "finished_at": self.at})
        self._add("user", text)

    def waits(self, words: str) -> bool:
        """Whether the newest message is the user's, with these words."""
        last = self._messages[-1] if self._messages else {"role": "", "content": ""}
        return last["role"] == "user" and words.strip() in last["content"]

    def answer(self, text: str, *, reasoning: str = "", key: str = "") -> None:
        """The model wrote something. Pieces with the same `key`, one after another, are one message."""
        last = self._messages[-1] if self._messages else {"role": ""}
        if not (key and key == self._key and last["role"] == "assistant"):
            self._add("assistant", "")
        self._key = key
        self.extend(text, reasoning=reasoning)

    def extend(self, text: str = "", *, reasoning: str = "") -> None:
        """The newest message goes on."""
        last = self._messages[-1]
        last["content"] += ("\n\n" if last["content"] and text else "") + text
        last["reasoning"] += ("\n\n" if last["reasoning"] and reasoning else "") + reasoning

    def call(self, call_id: str, name: str, parameters: Any) -> None:
        """The model called a tool: beside the calls that no result came for yet, or in a message of its own."""
        last: dict[str, Any] = self._messages[-1] if self._messages else {"role": ""}
        if last["role"] != "assistant" or any(call["result"] is not None for call in last["tool_calls"]):
            last = self._add("assistant", "")
        given = parameters if isinstance(parameters, dict) else {"input": parameters}
        call = {"id": call_id, "name": name or "unknown", "parameters": given, "result": None, "error": None}
        last["tool_calls"].append(call)
        self._calls[call_id] = call

    def result(self, call_id: str, text: str, *, failed: bool = False) -> None:
        """A tool answered; a result without its call is skipped."""
        call = self._calls.pop(call_id, None)
        if call is None:
            self.skipped.append(f"line {self.line}: a result without its call")
            return
        call["result"], call["error"] = text, ((text.strip().splitlines() or [""])[0] or "failed") if failed else None

    def used(self, usage: Usage, *, model: str = "", cost: float | None = None) -> None:
        """A request to the model took so much."""
        self.model = model or self.model
        turn = max(1, len(self._turns))
        step = sum(request["interaction"] == turn for request in self._requests[-200:]) + 1
        row = {"model": self.model, "purpose": "turn", "interaction": turn, "step": step, "created_at": self.at}
        self._requests.append(row | asdict(usage) | {"cost": cost})

    def _add(self, role: str, text: str) -> dict[str, Any]:
        if not self._turns and role != "user":
            self.query("(the transcript begins here)")
        message: dict[str, Any] = {"role": role, "content": text, "reasoning": "", "tool_calls": []}
        self._messages.append(message | {"interaction": len(self._turns), "created_at": self.at})
        self._key = ""
        return self._messages[-1]

    def archive(self) -> dict[str, Any]:
        """All of it as `import_session` takes it; {} where nobody asked anything."""
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
            "updated_at": self.at,
            "interactions": self._turns,
            "messages": self._messages,
            "requests": self._requests,
        }

    def _session_id(self) -> str:
        """The other tool's own where it is a UUID, else one that the same file gives again."""
        if _UUID.fullmatch(self.id.lower()):
            return self.id.lower()
        content = self.id or sha256("\n".join(text for _, text in self.lines).encode("utf-8", "replace")).hexdigest()
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.tool}:{content}"))


def objects(lines: Iterable[Line], into: Transcript) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that has one on each line; what is none is named and skipped."""
    for number, text in lines:
        if not text.strip():
            continue
        into.line = number
        into.lines.append((number, text))
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            into.skipped.append(f"line {number}: not JSON, perhaps cut off")
            continue
        if isinstance(value, dict):
            yield value
        else:
            into.skipped.append(f"line {number}: not a JSON object")


def text_of(content: Any) -> str:
    """The text of a message or result: a string, or blocks of which those with a text count."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for part in (text_of(block) for block in content) if part)
    if isinstance(content, dict):
        return next((text_of(content[name]) for name in ("text", "content", "output") if content.get(name)), "")
    return ""


def as_dict(value: Any) -> dict[str, Any]:
    """A value if it is an object, else one without fields."""
    return value if isinstance(value, dict) else {}


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a text alone is one."""
    whole = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    return [as_dict(block) for block in whole]


def count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    return max(0, value) if isinstance(value, int) else 0


def _moment(value: str) -> datetime:
    at = datetime.fromisoformat(value)
    return at.astimezone(UTC)  # the first and last days of the calendar have no such time everywhere
