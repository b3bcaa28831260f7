"""Messages and tool calls, what crosses the tools' boundary, and what goes to a model and comes back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

# One message as every provider boundary takes it: the OpenAI chat shape, a plain dict.
ApiMessage = dict[str, Any]

# Ends the part of the system message that is the same in all epochs: a provider's cache may end there.
HEAD_OPENS = "\n\n# What is known in this session"

BLOCKS = "blocks"  # in a message: for the provider that it came from, and for no other
IMAGES = "images"  # in a user message: the pictures that go with its text

UNCHANGED = "[Unchanged: "  # opens the line that stands for a result which an earlier call has brought already
STEER = "steer"
INTERRUPTED_RESULT = "Interrupted before a result was recorded. Effects may exist: check before repeating it."

_DisplayKind = Literal["text", "diff", "code", "table"]
Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = ("ask", "edits", "plan", "auto")
Purpose = Literal["turn", "reflect", "condense", "review", "verify", "task", "title"]
# pause: the service wants to go on with the same reply; window_full: the answer reached the end of the model's window
StopReason = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "pause", "window_full"]
# A picture as it is sent: name, media_type, data in base64, and `label` where only text is shown: [image 640x480].
Image = dict[str, Any]
# What a provider sent that only it can read, with what it belongs to: `origin`, `prefix` (a hash), `content`.
Blocks = dict[str, Any]


class Role(StrEnum):
    """Who speaks. Tool results live in the `ToolCall` they answer, so no stored message has a tool role."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class ToolCall:
    """One call the model asked for, with everything that became of it.

    `result` is the text the model got (None: none recorded yet); `error` is set when the call failed;
    `approved` is None where nobody had to be asked; `decision` says who decided ("mode", "rule", "user",
    "session", "headless") and `reason` the reason the user gave with a no. `duration_ms` is wall time,
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
        """The tool message that answers this call; a call that never finished reports that."""
        text = self.result if self.result is not None else INTERRUPTED_RESULT
        return {"role": Role.TOOL.value, "tool_call_id": self.id, "content": text}


@dataclass(slots=True)
class ChatMessage:
    """One stored message.

    `content` is what was typed or answered; `sent` is what the model was sent in its place, where that differs
    (the query with its @files and turn notes). `interaction` counts from 1 within the session. `status` is
    "partial" for an answer that was cut off, "steer" for a line that the user put into a running turn. `tokens` is the
    size of the text as it is sent, None until counted, by the table that `encoding` names. `blocks` are what the
    provider sent that only it can read, `images` the pictures that the user sent with it.
    """

    role: Role
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    id: int | None = None
    interaction: int = 0
    sent: str | None = None
    reasoning: str = ""
    tokens: int | None = None
    status: str = "complete"
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    encoding: str = ""
    blocks: Blocks | None = None
    images: list[Image] | None = None

    @property
    def is_query(self) -> bool:
        """Whether an interaction begins with it."""
        return self.role is Role.USER and self.status != STEER

    def to_api(self) -> list[ApiMessage]:
        """The messages a provider is sent for this one: itself, then one result per call, in order."""
        content = self.content if self.sent is None else self.sent
        more = {name: value for name in (BLOCKS, IMAGES) if (value := getattr(self, name))}
        if not self.tool_calls:
            return [{"role": self.role.value, "content": content, **more}]
        calls = [call.to_api() for call in self.tool_calls]
        head: ApiMessage = {"role": self.role.value, "content": content or None, "tool_calls": calls, **more}
        return [head, *(call.result_message() for call in self.tool_calls)]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model reads of a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def to_api(self) -> dict[str, Any]:
        """The OpenAI function shape, which litellm takes for every provider."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Display:
    """The face of a result that is for the eye: plain data, drawn by whoever shows it. Never markup."""

    title: str = ""
    body: str = ""
    kind: _DisplayKind = "text"
    language: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call. `for_model` is the whole text; what is too long is capped later, on arrival."""

    ok: bool
    for_model: str
    for_user: Display = field(default_factory=Display)
    exit_code: int | None = None
    cancelled: bool = False
    denied: bool = False


@dataclass(frozen=True, slots=True)
class AskRequest:
    """The question whether a call may run, as its permission kind puts it: `summary` is one line ("Run pytest -q"),
    `preview` shows all of what would happen. `session_label` says what a longer yes would cover; `session_rule` is
    that rule. `project_file` is the file in which a yes for the project is saved ("": none is offered). `why` says,
    where it is not empty, what made this a question although the mode would have let it run.
    """

    call: ToolCall
    question: str
    summary: str
    preview: Display
    session_label: str = ""
    session_rule: str = ""
    why: str = ""
    project_file: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer. `scope` "session" also allows what `AskRequest.session_rule` names, until the program ends; "project"
    also saves that rule in `AskRequest.project_file`."""

    allow: bool
    scope: Literal["once", "session", "project"] = "once"
    reason: str = ""
    by: Literal["user", "rule", "mode", "session", "headless"] = "user"


Ask = Callable[[AskRequest], Awaitable[Decision]]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request in five disjoint buckets. `output` leaves out `reasoning`."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def prompt(self) -> int:
        """All the tokens that were sent, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Everything sent and received."""
        return self.prompt + self.output + self.reasoning


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `messages` are in the OpenAI chat shape, the system message first.

    `purpose` is "turn" for the user's work, "review" for the loops of a review, "reflect", "condense" and "title"
    for the product's own requests. `max_tokens` is the reserve; `thinking` is off, low, medium, high, max
    or a number of tokens, "" for the model's own way; `marks` are where parts of the system message end, in
    characters: a cache may end there.
    """

    model: str
    messages: list[ApiMessage]
    tools: list[ToolSpec] = field(default_factory=list)
    max_tokens: int | None = None
    purpose: Purpose = "turn"
    thinking: str = ""
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. Pieces with one `index` are one call; `arguments` is appended JSON text."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """One piece of a streamed reply; any of the fields may be set. An empty one: a byte came, and nothing to show.
    `refusal`: text in which the model refuses. `blocks`, with the last piece, is what must come back as it is;
    `note` is a line for the user."""

    text: str = ""
    reasoning: str = ""
    call: CallDelta | None = None
    usage: Usage | None = None
    cost: float | None = None
    stop: StopReason | None = None
    refusal: str = ""
    blocks: Blocks | None = None
    note: str = ""


@dataclass(slots=True)
class ModelReply:
    """A whole reply. `malformed` maps a call's id to what is wrong in its arguments, `broken` to their text. `cost` in
    US dollars, None where the price is unknown."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    malformed: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    usage: Usage | None = None
    cost: float | None = None
    stop: StopReason = "stop"
    refusal: str = ""
    blocks: Blocks | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What one request to a model was and cost, as it is stored."""

    model: str
    purpose: Purpose
    interaction: int
    step: int
    usage: Usage
    cost: float | None
    duration_ms: int
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model was chosen and why, in words for the first line on the screen."""

    name: str
    why: str
