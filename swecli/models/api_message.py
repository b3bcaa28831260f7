"""Messages as they are sent to models, in the OpenAI chat format."""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict, cast

from swecli.models.json_value import JsonObject
from swecli.models.notes import Note, with_notes

# Names of fields that never reach a service as they are.
KEY: Final = "_key"  # addresses a message in edits
BLOCKS: Final = "blocks"
IMAGES: Final = "images"
NOTES: Final = "notes"


class Image(TypedDict):
    """A picture that the user sent."""

    name: str  # as the user wrote it
    label: str  # its text form: [image 640x480]
    media_type: str
    data: str  # base64


class Blocks(TypedDict):
    """Opaque content of a reply, which goes back to the service that sent it."""

    origin: str  # the model
    prefix: str  # hash of the messages before it
    content: list[JsonObject]


class FunctionCall(TypedDict):
    name: str
    arguments: str  # the text of a JSON object


class ApiCall(TypedDict):
    """A tool call of the model's."""

    id: str
    type: Literal["function"]
    function: FunctionCall


class SystemMessage(TypedDict):
    role: Literal["system"]
    content: str
    _key: NotRequired[str]


class UserMessage(TypedDict):
    role: Literal["user"]
    content: str
    notes: NotRequired[list[Note]]  # sent behind the content, see `text_of`
    images: NotRequired[list[Image]]
    _key: NotRequired[str]


class AssistantMessage(TypedDict):
    role: Literal["assistant"]
    content: str | None  # None if there are only calls
    tool_calls: NotRequired[list[ApiCall]]
    blocks: NotRequired[Blocks]
    _key: NotRequired[str]


class ToolMessage(TypedDict):
    role: Literal["tool"]
    tool_call_id: str
    content: str
    _key: NotRequired[str]


ApiMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class MessageFields(TypedDict, total=False):
    """Some fields of a message, to replace those that it has."""

    content: str | None
    tool_calls: list[ApiCall]
    blocks: Blocks
    images: list[Image]
    notes: list[Note]
    _key: str


def calls_of(message: ApiMessage) -> list[ApiCall]:
    """Return the calls of a message; only an assistant's has any."""
    return message.get("tool_calls", []) if message["role"] == "assistant" else []


def notes_of(message: ApiMessage) -> list[Note]:
    """Return the notes of a message; only a user's has any."""
    return message.get("notes", []) if message["role"] == "user" else []


def text_of(message: ApiMessage) -> str:
    """Return the text of a message as a model reads it: a query with its notes; "" if it has only calls."""
    return with_notes(message.get("content") or "", notes_of(message))


def as_sent(message: ApiMessage) -> ApiMessage:
    """Return a message as it goes out: without its key, and with its notes in its text."""
    plain = without_fields(message, KEY, NOTES)
    return with_fields(plain, {"content": text_of(message)}) if notes_of(message) else plain


def images_of(message: ApiMessage) -> list[Image]:
    """Return the pictures of a message; only a user's has any."""
    return message.get("images", []) if message["role"] == "user" else []


def data_url(image: Image) -> str:
    """Return a picture as the address that two of OpenAI's protocols take."""
    return f"data:{image['media_type']};base64,{image['data']}"


def blocks_of(message: ApiMessage) -> Blocks | None:
    """Return the opaque content of a message; only an assistant's has any."""
    return message.get("blocks") if message["role"] == "assistant" else None


def call_id_of(message: ApiMessage) -> str:
    """Return the id of the call that a message is the result of; "" for any other message."""
    return message["tool_call_id"] if message["role"] == "tool" else ""


def with_fields(message: ApiMessage, fields: MessageFields) -> ApiMessage:
    """Return a copy of a message with some fields replaced, which are fields of its role."""
    return cast("ApiMessage", {**message, **fields})


def without_fields(message: ApiMessage, *names: str) -> ApiMessage:
    """Return a copy of a message without some fields, which are optional in its role."""
    return cast("ApiMessage", {name: value for name, value in message.items() if name not in names})
