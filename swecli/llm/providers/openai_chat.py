"""The wire of OpenAI's chat completions, used by most services and all local servers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from swecli.llm.answer import Answer, parse_cost, parse_usage
from swecli.llm.json_fields import joined_text, objects_in, typed_field
from swecli.llm.profile import WireName
from swecli.llm.wire import Wire, safe_call_id
from swecli.models.api_message import data_url, images_of
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.models.message import ApiMessage, ModelRequest

_CLOSING_TAGS = {
    "<think>": "</think>",
    "<mm:think>": "</mm:think>",  # MiniMax M3
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
_THOUGHTS_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_IN_CONTENT = "thoughts in content"  # of a message's blocks: no field of the service's
# opaque thoughts: OpenRouter's; litellm's, also as a proxy, of Anthropic's models and of OpenAI's
_OBJECT_FIELDS = ("reasoning_details", "thinking_blocks", "reasoning_items")
_SENT_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name")


class LeadingThoughts:
    """Separates the thoughts that a model writes in one of _CLOSING_TAGS before its answer."""

    def __init__(self) -> None:
        self.pending = ""  # text that may be a part of a tag
        # of the thoughts that are being read, "" outside of them; None: no tag was looked for with success
        self._closing_tag: str | None = None

    def feed(self, text: str, *, is_last: bool = False) -> tuple[str, str]:
        """Return the thoughts and the text that are now known to be such; with `is_last` nothing is held back."""
        text = self.pending + text
        self.pending = ""
        if self._closing_tag is None:
            beginning = text.lstrip()
            opening_tag = next((tag for tag in _CLOSING_TAGS if beginning.startswith(tag)), "")
            if opening_tag:
                text = beginning.removeprefix(opening_tag)
            elif not is_last and any(tag.startswith(beginning) for tag in _CLOSING_TAGS):
                self.pending = text
                return "", ""
            self._closing_tag = _CLOSING_TAGS.get(opening_tag, "")
        if not self._closing_tag:
            return "", text

        thoughts, closing_tag, answer = text.partition(self._closing_tag)
        if closing_tag:
            self._closing_tag = ""
            return thoughts, answer.lstrip("\n")
        if not is_last:  # the end may be the start of the closing tag
            end = max(0, len(thoughts) - len(self._closing_tag))
            self.pending = thoughts[end:]
            thoughts = thoughts[:end]
        return thoughts, ""


class ChatAnswer(Answer):
    """An answer in chat completion deltas, in all formats that servers send."""

    def __init__(self) -> None:
        super().__init__()
        self._leading_thoughts = LeadingThoughts()
        self._thoughts: dict[str, list[str]] = {}  # by the field that they came in
        self._thoughts_in_content: list[str] = []
        self._pieces: dict[str, list[JsonObject]] = {name: [] for name in _OBJECT_FIELDS}
        self._text_signatures: list[Any] = []
        self._signatures: list[Any] = []  # of each call that has a name, None without one

    def read(self, event: JsonObject) -> None:
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
        self._add_delta(typed_field(choice, "message" if is_whole else "delta", dict))
        reason = choice.get("finish_reason")
        if reason and reason != "null":  # a text in each chunk, of DashScope and gateways to it
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
        fields: JsonObject = {}
        has_named_call = bool(self._signatures)
        if has_named_call:
            fields |= {name: "".join(pieces) for name, pieces in self._thoughts.items()}
            if self._thoughts_in_content:
                fields[_IN_CONTENT] = "".join(self._thoughts_in_content)
        pieces = self._pieces
        if pieces["reasoning_details"]:
            fields.pop("reasoning", None)  # these say the same, and more
        thoughts = _joined(pieces["thinking_blocks"])
        objects = {
            "reasoning_details": _joined(pieces["reasoning_details"], only_with_index=True),
            # one without signature is only shown
            "thinking_blocks": [block for block in thoughts if _is_whole(block)],
            "reasoning_items": pieces["reasoning_items"],
        }
        fields |= {name: value for name, value in objects.items() if value}
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

    def _add_delta(self, delta: JsonMapping) -> None:
        """Add a chunk's `delta`, or the `message` of a whole answer."""
        # of a service that sends both, one is enough
        field = next((name for name in _THOUGHTS_FIELDS if typed_field(delta, name, str)), "")
        if field:
            self.add(reasoning=delta[field])
            self._thoughts.setdefault(field, []).append(delta[field])
        else:
            self.add(reasoning=joined_text(delta, "reasoning_details", "text"))
        for name, pieces in self._pieces.items():
            pieces += objects_in(delta, name)
        of_google = typed_field(delta, "provider_specific_fields", dict)
        self._text_signatures += typed_field(of_google, "thought_signatures", list)
        self._add_text(_text_in(delta, "content"))
        thinking = "".join(_text_in(part, "thinking") for part in objects_in(delta, "content"))
        self.add(reasoning=thinking, refusal=typed_field(delta, "refusal", str))
        if thinking:
            self._thoughts_in_content.append(thinking)
        for position, call in enumerate(typed_field(delta, "tool_calls", list)):
            if isinstance(call, dict):
                self._add_call(call, position)
        only_function = typed_field(delta, "function_call", dict)  # before there were tools
        if only_function:
            self._add_call({"function": only_function}, 0)

    def _add_call(self, call: JsonMapping, position: int) -> None:
        """Add a piece of a call; `position` is its index if the service names none."""
        function = typed_field(call, "function", dict)
        index = call.get("index")
        if isinstance(index, str) and index.isdecimal():
            index = int(index)
        name = str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some local servers send an object instead of a string
            arguments = json.dumps(arguments, ensure_ascii=False)
        if name:
            self._signatures.append(call.get("extra_content"))
        self.add_call(
            index if isinstance(index, int) else position,
            str(call.get("id") or ""),
            name,
            str(arguments or ""),
        )

    def _add_text(self, text: str, *, is_last: bool = False) -> None:
        thoughts, answer = self._leading_thoughts.feed(text, is_last=is_last)
        self.add(reasoning=thoughts, text=answer)


class OpenAIChat(Wire):
    """A model behind `/chat/completions`."""

    answer_type = ChatAnswer
    blocks_are_answers = False
    path = "/chat/completions"

    @property
    def _is_mistral(self) -> bool:
        """Whether this is one of Mistral's models, on any service: they have extra rules."""
        return "stral" in f"{self.endpoint.provider} {self.endpoint.model}".lower()

    def request_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the body with changing fields last, so that servers can cache its prefix."""
        profile = self.profile
        endpoint = self.endpoint
        body: JsonObject = {
            "model": endpoint.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            profile.limit_name: limit,
            **endpoint.service.fields,
            **self.level_fields(request, limit),
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

    def other_wire(self, status: int | None, words: str) -> WireName | None:
        """Return "responses" if the service asks for that wire."""
        return "responses" if status in (400, 404) and _NEEDS_RESPONSES.search(words) else None

    def _messages(self, request: ModelRequest) -> list[JsonObject]:
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

    def _message(self, message: ApiMessage) -> JsonObject:
        given_fields: JsonMapping = message
        converted: JsonObject = {
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
            converted |= {
                name: value
                for name, value in fields.items()
                if name not in ("extra_content", _IN_CONTENT)
            }
            if _IN_CONTENT in fields:
                converted["content"] = _with_thoughts(fields[_IN_CONTENT], converted["content"])
            if converted.get("tool_calls"):
                signatures = fields.get("extra_content", ())
                converted["tool_calls"] = _with_signatures(converted["tool_calls"], signatures)
        return converted

    def _call_id(self, call_id: str) -> str:
        return safe_call_id(call_id, nine_characters=self._is_mistral)


def _with_answers_between(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages with an answer between each tool result and a user message behind it, as Mistral wants."""
    separated: list[JsonObject] = []
    for message in messages:
        if separated and separated[-1]["role"] == "tool" and message["role"] == "user":
            separated.append(_INTERRUPTED_ANSWER)
        separated.append(message)
    return separated


def _with_thoughts(thoughts: str, text: str | None) -> list[JsonObject]:
    """Return the content of an answer in parts, the thoughts first, as Mistral sends them."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thoughts}]}
    return [thinking, {"type": "text", "text": text}] if text else [thinking]


def _with_signatures(calls: Sequence[JsonObject], signatures: Sequence[Any]) -> list[JsonObject]:
    """Return the calls, each with the signature at its position, if there is one."""
    signed = list(calls)
    for position, (call, signature) in enumerate(zip(calls, signatures, strict=False)):
        if signature:
            signed[position] = call | {"extra_content": signature}
    return signed


def _merged(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Merge consecutive messages of one role."""
    merged: list[JsonObject] = []
    for message in messages:
        last = merged[-1] if merged else {}
        is_same_role = last.get("role") == message["role"] != "tool"
        if is_same_role and _is_only_text(last) and _is_only_text(message):
            merged[-1] = last | {"content": f"{last['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def _is_only_text(message: JsonMapping) -> bool:
    return isinstance(message.get("content"), str) and not message.get("tool_calls")


def _joined(pieces: Sequence[JsonObject], *, only_with_index: bool = False) -> list[JsonObject]:
    """Merge consecutive pieces of one type and index, `only_with_index` if they have one. Data come whole, and a
    signature ends a thought."""
    joined: list[JsonObject] = []
    for piece in pieces:
        last = joined[-1] if joined else {}
        is_same = piece.get("index") == last.get("index") and piece.get("type") == last.get("type")
        may_join = isinstance(piece.get("index"), int) or not only_with_index
        if not (is_same and may_join) or "data" in piece or _is_whole(last):
            joined.append({name: value for name, value in piece.items() if value is not None})
            continue
        for name, value in piece.items():
            if name in ("text", "summary", "thinking"):
                last[name] = typed_field(last, name, str) + typed_field(piece, name, str)
            elif value is not None:
                last[name] = value
    return joined


def _is_whole(thought: JsonMapping) -> bool:
    return bool(thought.get("signature") or thought.get("data"))


def _text_in(holder: JsonMapping, name: str) -> str:
    """Return a field that is a text, or the joined text of a list of parts."""
    return typed_field(holder, name, str) or joined_text(holder, name, "text")
