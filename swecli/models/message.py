"""What is said in a session: messages, and the tool calls an assistant message carries."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

# One message as every provider boundary takes it: the OpenAI chat shape, a plain dict.
ApiMessage = dict[str, Any]

# Ends the part of the system message that is the same in all epochs: a provider's cache may end there.
HEAD_OPENS = "\n\n# What is known in this session"

# Opens the line that stands for a result which an earlier call has brought already.
UNCHANGED = "[Unchanged: "

STEER = "steer"
INTERRUPTED_RESULT = "Interrupted before a result was recorded. Effects may exist: check before repeating it."


class Role(StrEnum):
    """Who speaks. Tool results live in the `ToolCall` they answer, so no stored message has a tool role."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class ToolCall:
    """One call the model asked for, with everything that became of it.

    `result` is the text the model was told (None: none recorded yet); `error` is set when the call failed;
    `approved` is None where nobody had to be asked; `decision` says who decided ("mode", "rule", "user",
    "session", "headless") and `reason` what the user said with a no. `duration_ms` is wall time,
    `tokens` the size of `result`, counted by the table of its message's `encoding`.
    """

    id: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    result: str | None = None
    error: str | None = None
    approved: bool | None = None
    decision: str = ""
    reason: str = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    tokens: int | None = None

    def to_api(self) -> ApiMessage:
        """The call as it stands inside an assistant message; arguments are canonical JSON text."""
        arguments = json.dumps(self.parameters, ensure_ascii=False, sort_keys=True)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}

    def result_message(self) -> ApiMessage:
        """The tool message that answers this call; a call that never finished says so."""
        text = self.result if self.result is not None else INTERRUPTED_RESULT
        return {"role": Role.TOOL.value, "tool_call_id": self.id, "content": text}


@dataclass(slots=True)
class ChatMessage:
    """One stored message.

    `content` is what was typed or answered; `sent` is what the model was sent in its place, where that differs
    (the query with its @files and turn notes). `interaction` counts from 1 within the session. `status` is
    "partial" for an answer that was cut off, "steer" for a line that the user put into a running turn. `tokens` is the
    size of the text as it is sent, None until counted, by the table that `encoding` names.
    """

    role: Role
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    id: int | None = None
    interaction: int = 0
    sent: str | None = None
    reasoning: str = ""
    tokens: int | None = None
    is_summary: bool = False
    status: str = "complete"
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    encoding: str = ""

    @property
    def opens(self) -> bool:
        """Whether an interaction begins with it."""
        return self.role is Role.USER and self.status != STEER

    def to_api(self) -> list[ApiMessage]:
        """The messages a provider is sent for this one: itself, then one result per call, in order."""
        content = self.content if self.sent is None else self.sent
        if not self.tool_calls:
            return [{"role": self.role.value, "content": content}]
        calls = [call.to_api() for call in self.tool_calls]
        head: ApiMessage = {"role": self.role.value, "content": content or None, "tool_calls": calls}
        return [head, *(call.result_message() for call in self.tool_calls)]
