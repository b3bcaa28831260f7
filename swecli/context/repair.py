"""Repairs a history so that every provider accepts it: no outgoing request goes without."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import cast

from swecli.models.api_message import (
    BLOCKS,
    NOTES,
    ApiCall,
    ApiMessage,
    AssistantMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from swecli.models.json_value import Json, JsonObject
from swecli.models.message import INTERRUPTED_RESULT, MALFORMED
from swecli.text import join_surrogates
from swecli.values import dataclass

_INTERRUPTED_REPLY = "(This was interrupted before an answer was given.)"
_EARLIER_LEFT_OUT = "(The conversation before this point is not included.)"
_GO_ON = "(Go on.)"
_EMPTY_TEXT = "(no text)"

# The same characters hidden behind JSON escapes inside the text of a call's arguments.
_BAD_ESCAPE = re.compile(r"\\u(0000|[dD][89a-fA-F])")
_BAD_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_MAX_ID = 40
# litellm's mark before Gemini's signature in a call's id; litellm strips both for other services.
SIGNED = "__thought__"


# A message from anywhere: nothing about it is certain.
RawMessage = Mapping[str, Json]


def _clean_text(text: str) -> str:
    """Return the text as valid UTF-8: NUL removed, surrogates joined or replaced."""
    return join_surrogates(text.replace("\0", ""))


def normalize(messages: Iterable[RawMessage]) -> list[ApiMessage]:
    """Return a history that every provider accepts. The input, in about the shape of `ChatMessage.to_api`, is not
    changed; a valid one is returned equal.

    One system message comes first, then a user message; roles alternate; each assistant message has text or calls; call
    ids are unique; each call is followed, in order, by its own result or a stub; a result without a call is dropped;
    arguments are a JSON object as text; all text is valid UTF-8. The output for a message depends only on earlier
    messages and its own results, so a longer history has the same prefix."""
    history = _History()
    for message in messages:
        history.add(_clean(message))
    return [*_merge_system(history.system), *history.messages]


@dataclass(slots=True)
class _History:
    system: list[SystemMessage] = field(default_factory=list)
    messages: list[ApiMessage] = field(default_factory=list)
    used_ids: set[str] = field(default_factory=set)
    copies: dict[str, int] = field(default_factory=dict)  # uses of an id, if there are several
    # Original id → the stubs under it that have no result yet.
    unanswered: dict[str, list[ToolMessage]] = field(default_factory=dict)

    def add(self, message: JsonObject) -> None:
        role = message.get("role")
        if role == "tool":
            self._add_result(message)
        elif role == "assistant":
            self._add_assistant(message)
        elif role in ("system", "developer") and not self.messages:
            self.system.append(cast("SystemMessage", message | {"role": "system"}))
        else:
            self._add_user(_without(message, "tool_calls", "tool_call_id") | {"role": "user"})

    def _last_role(self) -> str:
        return self.messages[-1]["role"] if self.messages else ""

    def _add_user(self, message: JsonObject) -> None:
        if _is_blank(message.get("content")) and not message.get(NOTES):
            message = message | {"content": _EMPTY_TEXT}
        if self._last_role() == "user":
            self.messages.append({"role": "assistant", "content": _INTERRUPTED_REPLY})
        self.messages.append(cast("UserMessage", message))

    def _add_assistant(self, message: JsonObject) -> None:
        calls = message.get("tool_calls") or []
        message = _without(message, "tool_calls", "tool_call_id")
        if _is_blank(message.get("content")):
            if not calls and not message.get(BLOCKS):
                return
            message = message | {"content": None if calls else ""}
        if self._last_role() in ("", "assistant"):
            stub = _GO_ON if self.messages else _EARLIER_LEFT_OUT
            self.messages.append({"role": "user", "content": stub})
        reply = cast("AssistantMessage", message)
        self.messages.append(reply)
        stubs: dict[str, list[ToolMessage]] = {}
        for call in calls:
            valid_call = self._normalize_call(call)
            reply.setdefault("tool_calls", []).append(valid_call)
            result: ToolMessage = {
                "role": "tool",
                "tool_call_id": valid_call["id"],
                "content": INTERRUPTED_RESULT,
            }
            self.messages.append(result)
            stubs.setdefault(call["id"], []).append(result)
        # Results under an id that is used again belong to the newer call.
        self.unanswered.update(stubs)

    def _normalize_call(self, call: JsonObject) -> ApiCall:
        function = call["function"]
        name = _BAD_NAME.sub("_", function["name"])[:_MAX_NAME] or "unknown"
        arguments = _normalize_arguments(function["arguments"])
        valid_call = {
            **call,
            "id": self._unique_id(call["id"]),
            "type": "function",
            "function": {**function, "name": name, "arguments": arguments},
        }
        return cast("ApiCall", valid_call)

    def _unique_id(self, given_id: str) -> str:
        # an id with a signature is kept: the service that made it needs it
        valid = given_id if SIGNED in given_id else _BAD_NAME.sub("_", given_id)[:_MAX_ID] or "call"
        unique = valid
        while unique in self.used_ids:
            self.copies[valid] = self.copies.get(valid, 1) + 1
            suffix = f"-{self.copies[valid]}"
            unique = valid[: _MAX_ID - len(suffix)] + suffix
        self.used_ids.add(unique)
        return unique

    def _add_result(self, message: JsonObject) -> None:
        stubs = self.unanswered.get(str(message.get("tool_call_id") or ""))
        if not stubs:
            return
        result = stubs.pop(0)
        fields = _without(message, "role", "content", "tool_calls", "tool_call_id")
        result["content"] = message.get("content") or ""
        result.update(cast("ToolMessage", fields))


def _merge_system(messages: list[SystemMessage]) -> list[SystemMessage]:
    if len(messages) < 2:
        return messages
    texts = [message["content"] for message in messages if not _is_blank(message["content"])]
    merged: SystemMessage = {**messages[0], "content": "\n\n".join(texts)}
    return [merged]


def _is_blank(content: str | None) -> bool:
    return not (content or "").strip()


def _normalize_arguments(text: str) -> str:
    """Return the text of a JSON object; any other text becomes the value of one field."""
    text = text or "{}"
    try:
        value = json.loads(text, parse_constant=int)  # NaN and Infinity are not JSON
        cleaned = _clean(value) if _BAD_ESCAPE.search(text) else value
        if isinstance(value, dict):
            return text if cleaned == value else _to_json(cleaned)
    except (ValueError, RecursionError):  # not JSON, or nested too deep
        pass
    return _to_json({MALFORMED: text})


def _to_json(value: JsonObject) -> str:
    return _clean_text(json.dumps(value, ensure_ascii=False, default=str))


def _without(message: JsonObject, *keys: str) -> JsonObject:
    return {key: value for key, value in message.items() if key not in keys}


def _clean(value: Json) -> Json:
    """Return a copy with `_clean_text` applied to all strings."""
    if isinstance(value, str):
        return value if value.isascii() and "\x00" not in value else _clean_text(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
