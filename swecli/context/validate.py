"""Makes any history legal: the one validator every outgoing request goes through."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from swecli.models.message import INTERRUPTED_RESULT, ApiMessage

INTERRUPTED_REPLY = "(This was interrupted before an answer was given.)"
EARLIER_LEFT_OUT = "(The conversation before this point is not included.)"
GO_ON = "(Go on.)"
EMPTY_TEXT = "(no text)"
_MALFORMED = "malformed_arguments"

_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")
# The same characters hidden behind JSON escapes inside the text of a call's arguments.
_BAD_ESCAPE = re.compile(r"\\u(0000|[dD][89a-fA-F])")
_BAD_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_MAX_ID = 40
# How litellm marks the part of a call's id that holds Gemini's signature; it takes it off for other services.
SIGNED = "__thought__"


def clean_text(text: str) -> str:
    """The text as valid UTF-8 for any provider: no NUL, a replacement character for each lone surrogate."""
    return _BAD_TEXT.sub(lambda m: "" if m[0] == "\x00" else "\ufffd", text)


def legal(messages: list[ApiMessage]) -> list[ApiMessage]:
    """The same history as every provider takes it, of messages in the shape of `ChatMessage.to_api`. The input is not
    changed; a legal one comes out equal.

    One system message, first; then a user message; no two messages of one side in a row; each assistant message says or
    calls something; ids of calls are unique; each call is answered right behind its message, in order, by its own
    result or a stub; a result without a call is dropped; arguments are a JSON object as text; all text is valid UTF-8.
    What a message becomes depends only on those before it and its own results: a longer history begins the same."""
    history = _History()
    for message in messages:
        history.add(_clean(message))
    return [*_one_system(history.system), *history.messages]


@dataclass(slots=True)
class _History:
    system: list[ApiMessage] = field(default_factory=list)
    messages: list[ApiMessage] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    copies: dict[str, int] = field(default_factory=dict)
    # Id as it was given → the stubs under it that still wait for a result.
    waiting: dict[str, list[ApiMessage]] = field(default_factory=dict)

    def add(self, message: ApiMessage) -> None:
        role = message.get("role")
        if role == "tool":
            self._take_result(message)
        elif role == "assistant":
            self._add_assistant(message)
        elif role in ("system", "developer") and not self.messages:
            self.system.append(message | {"role": "system"})
        else:
            self._add_user(_without(message, "tool_calls", "tool_call_id") | {"role": "user"})

    def _last_role(self) -> str:
        return str(self.messages[-1]["role"]) if self.messages else ""

    def _add_user(self, message: ApiMessage) -> None:
        if _blank(message.get("content")):
            message = message | {"content": EMPTY_TEXT}
        if self._last_role() == "user":
            self.messages.append({"role": "assistant", "content": INTERRUPTED_REPLY})
        self.messages.append(message)

    def _add_assistant(self, message: ApiMessage) -> None:
        calls = message.get("tool_calls") or []
        message = _without(message, "tool_calls", "tool_call_id")
        if _blank(message.get("content")):
            if not calls:
                return
            message = message | {"content": None}
        if self._last_role() in ("", "assistant"):
            stub = GO_ON if self.messages else EARLIER_LEFT_OUT
            self.messages.append({"role": "user", "content": stub})
        self.messages.append(message)
        fresh: dict[str, list[ApiMessage]] = {}
        for call in calls:
            made = self._call(call)
            message.setdefault("tool_calls", []).append(made)
            self.messages.append({"role": "tool", "tool_call_id": made["id"], "content": INTERRUPTED_RESULT})
            fresh.setdefault(call["id"], []).append(self.messages[-1])
        # A new call under an old id: from here on results under it are the new one's.
        self.waiting.update(fresh)

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        name = _BAD_NAME.sub("_", function["name"])[:_MAX_NAME] or "unknown"
        fixed = {"function": function | {"name": name, "arguments": _arguments(function["arguments"])}}
        return {**call, "id": self._unique(call["id"]), "type": "function", **fixed}

    def _unique(self, given: str) -> str:
        # ids that carry a signature stay whole: the service that made them needs it
        name = base = given if SIGNED in given else _BAD_NAME.sub("_", given)[:_MAX_ID] or "call"
        while name in self.used:
            self.copies[base] = self.copies.get(base, 1) + 1
            tail = f"-{self.copies[base]}"
            name = base[: _MAX_ID - len(tail)] + tail
        self.used.add(name)
        return name

    def _take_result(self, message: ApiMessage) -> None:
        if stubs := self.waiting.get(str(message.get("tool_call_id") or "")):
            result = stubs.pop(0)
            found = {"content": message.get("content") or "", "tool_call_id": result["tool_call_id"]}
            result.clear()
            result.update(_without(message, "tool_calls") | found)


def _one_system(found: list[ApiMessage]) -> list[ApiMessage]:
    if len(found) < 2:
        return found
    return [found[0] | {"content": "\n\n".join(m["content"] for m in found if not _blank(m["content"]))}]


def _blank(content: str | None) -> bool:
    return not (content or "").strip()


def _arguments(text: str) -> str:
    """The arguments as the text of a JSON object; what is none is kept as one field's text."""
    text = text or "{}"
    try:
        value = json.loads(text, parse_constant=int)  # NaN and Infinity are no JSON
        cleaned = _clean(value) if _BAD_ESCAPE.search(text) else value
        if isinstance(value, dict):
            return text if cleaned == value else _dump(cleaned)
    except (ValueError, RecursionError):  # no JSON, or nested deeper than any tool asks for
        pass
    return _dump({_MALFORMED: text})


def _dump(value: dict[str, Any]) -> str:
    return clean_text(json.dumps(value, ensure_ascii=False, default=str))


def _without(message: ApiMessage, *keys: str) -> ApiMessage:
    return {key: value for key, value in message.items() if key not in keys}


def _clean(value: Any) -> Any:
    """A copy with all text cleaned; text that is clean already is the same object."""
    if isinstance(value, str):
        return value if value.isascii() and "\x00" not in value else clean_text(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
