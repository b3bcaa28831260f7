"""Messages, tool calls and results, and the requests and replies of models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal, get_args

from swecli.models.api_message import BLOCKS as BLOCKS
from swecli.models.api_message import IMAGES as IMAGES
from swecli.models.api_message import ApiCall, AssistantMessage, ToolMessage, UserMessage
from swecli.models.api_message import ApiMessage as ApiMessage
from swecli.models.api_message import Blocks as Blocks
from swecli.models.api_message import Image as Image
from swecli.models.json_value import Json, JsonObject
from swecli.models.notes import Note, with_notes
from swecli.values import dataclass

# The heading after the part of the system message that is the same in all epochs; a cache mark is set here.
HEAD_OPENS = "\n\n# What is known in this session"

UNCHANGED = "[Unchanged: "  # prefix of the line that replaces a result equal to an earlier one
STEER = "steer"
GOAL = "goal"
INTERRUPTED_RESULT = (
    "Interrupted before a result was recorded. Effects may exist: check before repeating it."
)

_DisplayKind = Literal["text", "diff", "code", "table"]
Purpose = Literal[
    "turn", "reflect", "condense", "review", "verify", "task", "title", "try", "aside"
]
# pause: the service continues the same reply on request; window_full: the answer reached the end of the window
StopReason = Literal[
    "stop", "tool_calls", "length", "content_filter", "refusal", "pause", "window_full"
]
# what became of a tool call that stands in the text of an answer; "": there is none, or it was not looked for
WrittenCall = Literal["", "run", "shown"]
MALFORMED = "malformed_arguments"
"""The only field of a call's arguments that are no JSON object: their text."""
# whose words a result holds: a program's or swecli's own, those of the workspace's files, or a web page's
Origin = Literal["tool", "repository", "web"]


class CallStatus(StrEnum):
    """How a tool call ended."""

    RUNNING = "running"  # not yet, as far as the store knows
    FINISHED = "finished"
    FAILED = "failed"
    REFUSED = "refused"  # by a rule, by the user, or because nobody could be asked: it did nothing
    CANCELLED = "cancelled"  # stopped by the user
    INTERRUPTED = "interrupted"  # its turn or the program ended before its result was stored


class Role(StrEnum):
    """The author of a message. Tool results are stored in their `ToolCall`, so no stored message has the tool role."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call reads, changes and runs, as its tool says: nothing is concluded from a tool's name. Paths are
    relative to the workspace. A call that failed or was refused has none of these effects."""

    read: tuple[str, ...] = ()  # files whose text the result shows
    changed: tuple[str, ...] = ()  # files that are written or removed
    ran: str = ""  # the command line
    job: int = 0  # the number of the background command that it started, 0 for none
    todo: tuple[dict[str, str], ...] | None = (
        None  # the new to-do list: text and status of each step
    )
    origin: Origin = "tool"

    @classmethod
    def from_json(cls, value: Json) -> Effects:
        """Return the effects that `to_json` wrote; None is no effects. Raises TypeError or ValueError."""
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise TypeError("the effects of a call are not an object")
        todo = value.get("todo")
        origin = value.get("origin", "tool")
        if origin not in get_args(Origin):
            raise ValueError(f"{origin!r:.80} is no origin of a result")
        return cls(
            read=_texts(value.get("read", [])),
            changed=_texts(value.get("changed", [])),
            ran=str(value.get("ran", "")),
            job=int(value.get("job", 0)),
            todo=None if todo is None else tuple(_read_step(step) for step in todo),
            origin=origin,
        )

    def to_json(self) -> JsonObject | None:
        """Return the effects as JSON values without what is not set; None if nothing is."""
        empty = asdict(Effects())
        return {name: value for name, value in asdict(self).items() if value != empty[name]} or None


def _texts(values: Json) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError("the files of a call are not a list")
    return tuple(str(value) for value in values)


def _read_step(step: Json) -> dict[str, str]:
    if not isinstance(step, dict):
        raise TypeError("a step of a to-do list is not an object")
    return {"text": str(step.get("text", "")), "status": str(step.get("status", "pending"))}


@dataclass(slots=True)
class ToolCall:
    """A tool call requested by the model, with its decision and result.

    `result` is the text sent to the model (None: not recorded yet). `error` says for people what went wrong, None if
    nothing did; what became of the call is its `status`. `approved` is None if no approval was needed; `decision` is
    who decided ("mode", "rule", "user", "session", "headless", "hook"), `reason` what the user typed: why it was
    refused, or the answer to its question. `duration_ms` is wall time; `tokens` is the size of `result` in its
    message's `encoding`. `effects` is what the call does if it is permitted and succeeds.
    """

    id: str
    name: str
    parameters: JsonObject = field(default_factory=dict)
    result: str | None = None
    status: CallStatus = CallStatus.RUNNING
    error: str | None = None
    approved: bool | None = None
    decision: str = ""
    reason: str = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    tokens: int | None = None
    effects: Effects = Effects()
    ended_jobs: tuple[str, ...] = ()  # names of background commands whose end `result` tells

    def to_api(self) -> ApiCall:
        """Return the call in the OpenAI format, its arguments in the order in which the model wrote them."""
        arguments = json.dumps(self.parameters, ensure_ascii=False)
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": arguments},
        }

    def interrupt(self) -> None:
        """End a call that has no result: nobody knows what it has done."""
        self.result = INTERRUPTED_RESULT
        self.status = CallStatus.INTERRUPTED
        self.error = "interrupted"

    def result_message(self) -> ToolMessage:
        """Return the tool message with the result; an unfinished call reports that it was interrupted."""
        text = self.result if self.result is not None else INTERRUPTED_RESULT
        return {"role": "tool", "tool_call_id": self.id, "content": text}


@dataclass(slots=True)
class ChatMessage:
    """A stored message.

    `content` is what the user typed or the model answered; `sent`, if set, is sent to the model instead (the query with
    its @files), and `notes` follow it. `interaction` counts from 1 within the session. `status` is "partial" for an
    incomplete answer, "steer" for a line the user added to a running turn, and "goal" for a query that swecli made: its
    `content` is the line that set the goal. `goal` is the id of the goal that a query's turn works to, "" for none.
    `tokens` is the size of `sent_text` in `encoding`, None until counted. `blocks` is opaque content of the provider,
    `images` the images sent by the user.
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
    notes: list[Note] = field(default_factory=list)
    ended_jobs: tuple[str, ...] = ()  # names of background commands whose end `sent` tells
    goal: str = ""

    @property
    def sent_text(self) -> str:
        """The text as the model reads it, notes included."""
        return with_notes(self.content if self.sent is None else self.sent, self.notes)

    @property
    def is_query(self) -> bool:
        """Whether this is a user message that begins an interaction."""
        return self.role is Role.USER and self.status != STEER

    @property
    def is_own_words(self) -> bool:
        """Whether this is a query in the user's own words."""
        return self.is_query and self.status != GOAL

    @property
    def is_answer(self) -> bool:
        """Whether this is an answer of the model that ends a turn: complete, and without calls."""
        return self.role is Role.ASSISTANT and not self.tool_calls and self.status == "complete"

    def to_api(self) -> list[ApiMessage]:
        """Return the message in the OpenAI format, followed by the results of its calls in order."""
        content = self.content if self.sent is None else self.sent
        if self.role is Role.ASSISTANT:
            return [self._reply(content), *(call.result_message() for call in self.tool_calls)]
        if self.role is Role.SYSTEM:
            return [{"role": "system", "content": content}]
        query: UserMessage = {"role": "user", "content": content}
        if self.notes:
            query["notes"] = self.notes
        if self.images:
            query["images"] = self.images
        return [query]

    def _reply(self, content: str) -> AssistantMessage:
        reply: AssistantMessage = {"role": "assistant", "content": content}
        if self.tool_calls:
            reply["content"] = content or None
            reply["tool_calls"] = [call.to_api() for call in self.tool_calls]
        if self.blocks:
            reply["blocks"] = self.blocks
        return reply


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a tool is offered besides an ordinary turn, and what must be there for it to be of use. In tasks and
    reviews only read-only tools are offered unasked."""

    in_small_windows: bool = False  # there every description counts
    in_tasks: bool = True
    in_reviews: bool = True
    # strategies: more than the prompt has room for; diagnostics, search: configured
    needs: Literal["", "strategies", "skills", "diagnostics", "search"] = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to the model. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    offer: Offer = Offer()

    def to_api(self) -> JsonObject:
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    def to_json(self) -> JsonObject:
        """Return the specification with its offer, as it is bundled with the package."""
        return {**self.to_api(), "offer": asdict(self.offer)}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> ToolSpec:
        """Return the specification that `to_json` wrote."""
        return cls(**value["function"], offer=Offer(**value["offer"]))


@dataclass(frozen=True, slots=True)
class TextChange:
    """A file's text before and after a change."""

    path: str  # absolute
    old: str | None  # None: the file does not exist
    new: str


@dataclass(frozen=True, slots=True)
class Display:
    """A tool result for the user, as plain text and data without markup."""

    title: str = ""
    body: str = ""
    kind: _DisplayKind = "text"
    language: str = ""
    change: TextChange | None = None  # what the body is the diff of; None: it is no diff

    def to_json(self) -> JsonObject:
        """Return the display as JSON values. Its diff says what changes; the two texts would only repeat it."""
        return {
            "title": self.title,
            "body": self.body,
            "kind": self.kind,
            "language": self.language,
        }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call. `for_model` is the complete text; it is truncated when it is recorded. `effects` is set
    if the call did something else than its plan said."""

    ok: bool
    for_model: str
    for_user: Display = field(default_factory=Display)
    exit_code: int | None = None
    failed_parts: tuple[
        str, ...
    ] = ()  # as in "curl failed (exit code 7)": of a pipe, before its last program
    cancelled: bool = False
    denied: bool = False
    effects: Effects | None = None
    is_waiting: bool = False  # for something that still runs: the same call may have another result


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request in five disjoint categories; `output` excludes `reasoning`."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def prompt(self) -> int:
        """All tokens sent, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output + self.reasoning


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model. `messages` are in the OpenAI chat format, the system message first.

    `purpose` is "turn" for the user's queries, "aside" for a question beside the conversation, and "review" for the
    loops of a review; the others are requests of swecli itself. `max_tokens` is the reserve. `thinking` is off, low,
    medium, high, max or a number of tokens, "" for the model's default. `marks` are the offsets, in characters, at
    which the system message may be cached. `schema` is the JSON schema of the answer, sent where the service is known
    to support one (None: any text).
    """

    model: str
    messages: list[ApiMessage]
    tools: list[ToolSpec] = field(default_factory=list)
    max_tokens: int | None = None
    purpose: Purpose = "turn"
    thinking: str = ""
    marks: tuple[int, ...] = ()
    schema: JsonObject | None = None

    @property
    def may_call(self) -> bool:
        """Whether the answer may call tools. That to a question beside the conversation is to be a text, although the
        tools are described as in the requests whose cache it uses."""
        return self.purpose != "aside"


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A streamed part of a tool call. Parts with the same `index` belong to one call; append their `arguments`."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """A part of a streamed reply; an empty chunk only shows that the connection is alive. `refusal` is the text of a
    refusal. `blocks`, in the last chunk, is opaque content that must be sent back unchanged. `note` is for the user."""

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
    """A complete reply. `malformed` maps the ids of calls with invalid arguments to the error. `cost` is in US dollars,
    None if the price is unknown. `written_call`: its text was a call, which is now its only one ("run"), or it is a
    text with a call in it, or like one, that is "shown"; "" for neither."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    malformed: dict[str, str] = field(default_factory=dict)
    usage: Usage | None = None
    cost: float | None = None
    stop: StopReason = "stop"
    refusal: str = ""
    blocks: Blocks | None = None
    note: str = ""
    written_call: WrittenCall = ""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A stored request: its model, purpose, usage and cost."""

    model: str
    purpose: Purpose
    interaction: int
    step: int
    usage: Usage
    cost: float | None
    duration_ms: int
    extra: JsonObject = field(default_factory=dict)
