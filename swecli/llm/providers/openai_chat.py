"""The wire of OpenAI's chat completions, used by most services and all local servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from swecli.llm.answer import (
    Answer,
    joined_text,
    objects_in,
    parse_cost,
    parse_usage,
    typed_field,
)
from swecli.llm.native import NativeModel, safe_call_id
from swecli.llm.signed_thoughts import SignedThoughts
from swecli.models.api_message import data_url, images_of
from swecli.models.message import ApiMessage, ModelRequest
from swecli.values import dataclass

_CLOSING_TAGS = {
    "<think>": "</think>",
    "<thought>": "</thought>",  # Gemini
    "[THINK]": "[/THINK]",  # Mistral
}
_INTERRUPTED_ANSWER = {"role": "assistant", "content": "(Interrupted.)"}
# as OpenAI names the protocol that its current models need for tools
_NEEDS_RESPONSES = re.compile(
    r"\bv1/responses\b|\bresponses api\b|unsupported_api_for_model|"
    r"not accessible via the /chat/completions",
    re.IGNORECASE,
)
_UNREADABLE_CALL = ("MALFORMED_", "UNEXPECTED_TOOL_CALL")  # of Google's finish reasons
_THOUGHTS_FIELDS = ("reasoning_content", "reasoning")
_SENT_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name")


@dataclass(frozen=True, slots=True)
class CallPart:
    """A piece of a tool call. `index` is the service's, or its position in the chunk; the rest is "" if not sent."""

    index: int
    id: str
    name: str
    arguments: str  # JSON, or a part of it
    signature: Any  # Google's `extra_content`, to be sent back with the call; None without one

    @classmethod
    def parse(cls, call: Mapping[str, Any], position: int) -> CallPart:
        """Read one call of a chunk."""
        function = typed_field(call, "function", dict)
        index = call.get("index")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some local servers send an object instead of a string
            arguments = json.dumps(arguments, ensure_ascii=False)
        return cls(
            index=index if isinstance(index, int) else position,
            id=str(call.get("id") or ""),
            name=str(function.get("name") or ""),
            arguments=str(arguments or ""),
            signature=call.get("extra_content"),
        )


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """What one chunk adds to the answer; what the service did not send, or sent as another type, is empty."""

    thoughts: str
    thoughts_field: str  # by which they came, and go back; "" without any
    details: list[dict[str, Any]]  # OpenRouter's `reasoning_details`
    signed: list[dict[str, Any]]  # of litellm, also as a proxy: pieces of `thinking_blocks`
    items: list[dict[str, Any]]  # the same for models of OpenAI: `reasoning_items`
    text_signatures: list[Any]  # the same for Google: of the text, those of calls are in their ids
    text: str
    thinking: str  # Mistral: parts of the content
    refusal: str
    calls: list[CallPart]

    @classmethod
    def parse(cls, delta: Mapping[str, Any]) -> ChatDelta:
        """Read a chunk's `delta`, or the `message` of a whole answer."""
        # of a service that sends both, one is enough
        thoughts_field = next(
            (name for name in _THOUGHTS_FIELDS if typed_field(delta, name, str)), ""
        )
        of_service = typed_field(delta, "provider_specific_fields", dict)
        return cls(
            thoughts=typed_field(delta, thoughts_field, str),
            thoughts_field=thoughts_field,
            details=objects_in(delta, "reasoning_details"),
            signed=objects_in(delta, "thinking_blocks"),
            items=objects_in(delta, "reasoning_items"),
            text_signatures=typed_field(of_service, "thought_signatures", list),
            text=_text_in(delta, "content"),
            thinking="".join(_text_in(part, "thinking") for part in objects_in(delta, "content")),
            refusal=typed_field(delta, "refusal", str),
            calls=_call_parts(delta),
        )


def _call_parts(delta: Mapping[str, Any]) -> list[CallPart]:
    calls = typed_field(delta, "tool_calls", list)
    parts = [
        CallPart.parse(call, position)
        for position, call in enumerate(calls)
        if isinstance(call, dict)
    ]
    only_function = typed_field(delta, "function_call", dict)  # before there were tools
    if only_function:
        parts.append(CallPart.parse({"function": only_function}, 0))
    return parts


class LeadingThoughts:
    """Separates the thoughts that a model writes in one of _TAGS before its answer."""

    def __init__(self) -> None:
        self.pending = ""  # text that may be a part of a tag
        self._is_opening_read = False  # it is known whether the text begins with a tag
        self._closing_tag = ""  # of the thoughts that are being read, "" outside of them

    def feed(self, text: str, *, is_last: bool = False) -> tuple[str, str]:
        """Return the thoughts and the text that are now known to be such; with `is_last` nothing is held back."""
        self.pending += text
        if not self._is_opening_read:
            self._read_opening(is_last=is_last)
        if not self._is_opening_read:
            return "", ""
        thoughts = self._take_thoughts(is_last=is_last) if self._closing_tag else ""
        if self._closing_tag:
            return thoughts, ""
        answer = self.pending
        self.pending = ""
        return thoughts, answer

    def _read_opening(self, *, is_last: bool) -> None:
        beginning = self.pending.lstrip()
        opening_tag = next((tag for tag in _CLOSING_TAGS if beginning.startswith(tag)), "")
        may_open = any(tag.startswith(beginning) for tag in _CLOSING_TAGS)
        if may_open and not opening_tag and not is_last:
            return
        self._is_opening_read = True
        if opening_tag:
            self._closing_tag = _CLOSING_TAGS[opening_tag]
            self.pending = beginning.removeprefix(opening_tag)

    def _take_thoughts(self, *, is_last: bool) -> str:
        thoughts, closing_tag, rest = self.pending.partition(self._closing_tag)
        if closing_tag:
            self._closing_tag = ""
            self.pending = rest.lstrip("\n")
            return thoughts
        end = len(thoughts)
        if not is_last:  # the end may be the start of the closing tag
            end = max(0, end - len(self._closing_tag))
        self.pending = thoughts[end:]
        return thoughts[:end]


class ChatAnswer(Answer):
    """An answer in chat completion deltas, in all formats that servers send."""

    def __init__(self) -> None:
        super().__init__()
        self._leading_thoughts = LeadingThoughts()
        self._thoughts: dict[str, list[str]] = {}  # by the field that they came in
        self._details: list[dict[str, Any]] = []
        self._signed = SignedThoughts()
        self._items: list[dict[str, Any]] = []
        self._text_signatures: list[Any] = []
        self._signatures: list[Any] = []  # of each call that has a name, None without one

    def read(self, event: dict[str, Any]) -> None:
        """Process a chunk or a `chat.completion` object."""
        choices = objects_in(event, "choices")
        choice = next((choice for choice in choices if not choice.get("index")), {})
        groq = typed_field(event, "x_groq", dict)
        for usage in (choice.get("usage"), event.get("usage"), groq.get("usage")):
            self._read_usage(usage)
        if error := typed_field(choice, "error", dict):
            self.unknown_event = error
        elif not choice:
            self.unknown_event = event
        # beside the last, empty delta some services repeat the whole message
        is_whole = not choice.get("delta") and not (self.size or self._leading_thoughts.pending)
        body = typed_field(choice, "message" if is_whole else "delta", dict)
        self._add_delta(ChatDelta.parse(body))
        if reason := choice.get("finish_reason"):
            self._add_text("", is_last=True)
            self.finish_reason = str(reason).lower()
            native = typed_field(
                choice, "native_finish_reason", str
            )  # a router's word is "stop" all the same
            if native.upper().startswith(_UNREADABLE_CALL):
                self.finish_reason = "error"
                self.unknown_event = {"error": {"message": native}}

    def blocks(self) -> list[Any]:
        """Return the reasoning fields to send back; plain reasoning only for answers with calls."""
        fields: dict[str, Any] = {}
        has_named_call = bool(self._signatures)
        if has_named_call:
            fields |= {name: "".join(pieces) for name, pieces in self._thoughts.items()}
        if self._details:
            fields.pop("reasoning", None)  # these say the same, and more
            fields["reasoning_details"] = _joined(self._details)
        if signed := self._signed.blocks():
            fields["thinking_blocks"] = signed
        if self._items:
            fields["reasoning_items"] = self._items
        if self._text_signatures:
            fields["provider_specific_fields"] = {"thought_signatures": self._text_signatures}
        if any(self._signatures):
            fields["extra_content"] = self._signatures
        return [fields] if fields else []

    def _read_usage(self, usage: Any) -> None:
        if not usage:
            return
        self.usage = parse_usage(usage) or self.usage
        cost = parse_cost(usage)
        if cost is not None:
            self.cost = cost

    def _add_delta(self, delta: ChatDelta) -> None:
        self.add(reasoning=delta.thoughts)
        if delta.thoughts:
            self._thoughts.setdefault(delta.thoughts_field, []).append(delta.thoughts)
        self._details += delta.details
        for piece in delta.signed:
            self._signed.add(piece)
        self._items += delta.items
        self._text_signatures += delta.text_signatures
        self._add_text(delta.text)
        self.add(reasoning=delta.thinking, refusal=delta.refusal)
        for call in delta.calls:
            if call.name:
                self._signatures.append(call.signature)
            self.add_call(call.index, call.id, call.name, call.arguments)

    def _add_text(self, text: str, *, is_last: bool = False) -> None:
        thoughts, answer = self._leading_thoughts.feed(text, is_last=is_last)
        self.add(reasoning=thoughts, text=answer)


class OpenAIChat(NativeModel):
    """A model behind `/chat/completions`."""

    answer_type = ChatAnswer
    path = "/chat/completions"

    @property
    def _is_mistral(self) -> bool:
        """Whether this is one of Mistral's models, on any service: they have extra rules."""
        return "stral" in f"{self.endpoint.provider} {self.endpoint.model}".lower()

    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the body with changing fields last, so that servers can cache its prefix."""
        profile = self.profile
        endpoint = self.endpoint
        body: dict[str, Any] = {
            "model": endpoint.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            profile.limit_name: limit,
            **self.thinking(request, limit),
        }
        # OpenRouter marks the last message itself
        if profile.cache == "marks" and endpoint.api == "openai":
            body["cache_control"] = {"type": "ephemeral"}
        if request.tools:
            body["tools"] = [spec.to_api() for spec in request.tools]
            # where marks say what is cached, a cached conversation belongs to its choice of tools (Anthropic's page
            # on prompt caching)
            if not request.may_call and profile.cache != "marks":
                body["tool_choice"] = "none"
        if request.schema is not None and profile.schemas:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body |= endpoint.extra_body
        body["messages"] = self._messages(request)
        if "stream" in profile.off:
            body.pop("stream_options", None)
        return body

    def other_wire(self, status: int | None, words: str) -> str:
        """Return "responses" if the service asks for that wire."""
        return "responses" if status in (400, 404) and _NEEDS_RESPONSES.search(words) else ""

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        # late: only with a level
        from swecli.llm.thinking import chat_fields

        profile = self.profile
        if not profile.may_think:
            return {}
        can_be_off = not profile.states_levels
        return chat_fields(profile.dialect, profile.levels, level, can_be_off=can_be_off)

    def _messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        messages = [self._message(message) for message in request.messages]
        if not self.profile.system_role:
            for message in messages:
                if message["role"] == "system":
                    message["role"] = "user"
        if self._is_mistral:
            messages = _with_answers_between(messages)
        if self.profile.system_role and self.profile.tools:
            return messages
        return _merged(messages)

    def _message(self, message: ApiMessage) -> dict[str, Any]:
        given_fields: Mapping[str, Any] = message
        converted: dict[str, Any] = {
            name: given_fields[name] for name in _SENT_FIELDS if name in given_fields
        }
        if "tool_call_id" in converted:
            converted["tool_call_id"] = self._call_id(converted["tool_call_id"])
        if converted.get("tool_calls"):
            converted["tool_calls"] = [
                call | {"id": self._call_id(call["id"])} for call in converted["tool_calls"]
            ]
        if "text with calls" in self.profile.off and converted.get("tool_calls"):
            converted["content"] = ""
        if "null content" in self.profile.off:
            converted["content"] = converted["content"] or ""
        wants_thoughts = bool(self.profile.filler) and self.profile.think_back != "never"
        if converted["role"] == "assistant" and wants_thoughts:
            converted["reasoning_content"] = self.profile.filler
        if images := images_of(message):
            parts = [
                {"type": "image_url", "image_url": {"url": data_url(image)}} for image in images
            ]
            converted["content"] = [*parts, {"type": "text", "text": message["content"]}]
        for fields in self.blocks_to_return(message):
            converted |= {name: value for name, value in fields.items() if name != "extra_content"}
            if converted.get("tool_calls"):
                signatures = fields.get("extra_content", ())
                converted["tool_calls"] = _with_signatures(converted["tool_calls"], signatures)
        return converted

    def _call_id(self, call_id: str) -> str:
        return safe_call_id(call_id, nine_characters=self._is_mistral)


def _with_answers_between(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with an answer between each tool result and a user message behind it, as Mistral wants."""
    separated: list[dict[str, Any]] = []
    for message in messages:
        if separated and separated[-1]["role"] == "tool" and message["role"] == "user":
            separated.append(_INTERRUPTED_ANSWER)
        separated.append(message)
    return separated


def _with_signatures(
    calls: Sequence[dict[str, Any]], signatures: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return the calls, each with the signature at its position, if there is one."""
    signed = list(calls)
    for position, (call, signature) in enumerate(zip(calls, signatures, strict=False)):
        if signature:
            signed[position] = call | {"extra_content": signature}
    return signed


def _merged(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge consecutive messages of one role."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else {}
        is_same_role = last.get("role") == message["role"] != "tool"
        if is_same_role and _is_only_text(last) and _is_only_text(message):
            merged[-1] = last | {"content": f"{last['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def _is_only_text(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("content"), str) and not message.get("tool_calls")


def _joined(details: Sequence[dict[str, Any]]) -> list[Any]:
    """Merge consecutive `reasoning_details` of one type and index."""
    joined: list[dict[str, Any]] = []
    for piece in details:
        last = joined[-1] if joined else {}
        is_same = piece.get("index") == last.get("index") and piece.get("type") == last.get("type")
        has_index = isinstance(piece.get("index"), int)
        if not is_same or not has_index or "data" in piece or "data" in last:
            joined.append(dict(piece))
            continue
        for name, value in piece.items():
            if name in ("text", "summary"):
                last[name] = typed_field(last, name, str) + typed_field(piece, name, str)
            elif value is not None:
                last[name] = value
    return joined


def _text_in(holder: Mapping[str, Any], name: str) -> str:
    """Return a field that is a text, or the joined text of a list of parts."""
    return typed_field(holder, name, str) or joined_text(holder, name, "text")
