"""The wire of Google's Gemini API."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from swecli.llm.answer import STOPS, Answer, parse_usage
from swecli.llm.json_fields import objects_in, rebuilt, typed_field
from swecli.llm.wire import Wire, split_system
from swecli.models.api_message import calls_of, images_of
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec

# what Google's page on JSON Schema lists; it refuses or ignores other keywords
_KEYWORDS = frozenset((
    "$defs", "$ref", "$id", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
    "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
))  # fmt: skip
_VERSION_AT_END = re.compile(r"/v1\w*$")


class _GeminiAnswer(Answer):
    """An answer in parts; each event has some. A signature belongs to the part that it comes with."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[JsonObject] = []  # without thoughts

    def read(self, event: JsonObject) -> None:
        candidate = next(iter(objects_in(event, "candidates")), {})
        if not candidate:
            self.unknown_event = event
        for part in objects_in(typed_field(candidate, "content", dict), "parts"):
            self._add_part(part)
        self.usage = parse_usage(event.get("usageMetadata")) or self.usage
        if reason := candidate.get("finishReason"):
            self._end(str(reason), typed_field(candidate, "finishMessage", str))
        if typed_field(event, "promptFeedback", dict).get("blockReason"):
            self.finish_reason = "content_filter"

    def blocks(self) -> list[Any]:
        """Return the parts in order if one of them has a signature or an id, else []."""
        is_opaque = any(
            "thoughtSignature" in part or _call_in(part).get("id") for part in self._parts
        )
        return self._parts if is_opaque else []

    def _add_part(self, part: JsonObject) -> None:
        text = typed_field(part, "text", str)
        if part.get("thought") is True:
            self.add(reasoning=text)
            if "thoughtSignature" in part:
                self._parts.append(part)
            return
        self.add(text=text)
        if call := _call_in(part):
            arguments = json.dumps(typed_field(call, "args", dict), ensure_ascii=False)
            name = str(call.get("name") or "")
            self.add_call(len(self._parts), str(call.get("id") or ""), name, arguments)
        last = self._parts[-1] if self._parts else {}
        if last.keys() == {"text"} and part.keys() == {"text"}:
            last["text"] += text
        elif part != {"text": ""}:
            self._parts.append(dict(part))

    def _end(self, reason: str, message: str) -> None:
        """End the answer; a failure of Google's, such as a call that it could not read, is an error."""
        self.finish_reason = reason.lower()
        if self.finish_reason == "stop" and self.has_call:
            self.finish_reason = "tool_calls"
        if self.finish_reason not in STOPS:
            words = f"{reason}: {message}" if message else reason
            self.unknown_event = {"error": {"message": words}}
            self.finish_reason = "error"


class Gemini(Wire):
    """A model behind `:streamGenerateContent`."""

    answer_type = _GeminiAnswer
    dialect = "gemini"
    sends_ids = False

    @property
    def path(self) -> str:  # type: ignore[override]  # it has the model's name, and the version that the address lacks
        version = "" if _VERSION_AT_END.search(self.endpoint.address) else "/v1beta"
        return f"{version}/models/{self.endpoint.model}:streamGenerateContent?alt=sse"

    def request_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the body with changing fields last, so that the service can cache its prefix."""
        settings: JsonObject = {"maxOutputTokens": limit}
        if self.profile.thinking != "none":
            level = self.level_fields(request, limit).get("generationConfig", {})
            settings["thinkingConfig"] = {
                "includeThoughts": True,
                **level.get("thinkingConfig", {}),
            }
        if request.schema is not None and self.profile.schemas:
            settings["responseMimeType"] = "application/json"
            settings["responseJsonSchema"] = rebuilt(request.schema, _subset)
        body: JsonObject = {"generationConfig": settings}
        if request.tools:
            body["tools"] = [
                {"functionDeclarations": [_declaration(spec) for spec in request.tools]}
            ]
            if not request.may_call:
                body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
        body |= self.endpoint.extra_body
        system, others = split_system(request)
        texts = [{"text": text} for text in system]
        if texts and self.profile.system_role:
            body["systemInstruction"] = {"parts": texts}
        contents = self._contents(others)
        if texts and not self.profile.system_role:
            contents[0]["parts"] = [*texts, *contents[0]["parts"]]
        body["contents"] = contents
        return body

    def _contents(self, messages: Sequence[ApiMessage]) -> list[JsonObject]:
        """Convert messages; the results of one answer's calls are one message."""
        contents: list[JsonObject] = []
        calls: dict[str, JsonObject] = {}  # the service's, by our ids
        last_role = ""
        for message in messages:
            if message["role"] == "assistant":
                parts = self._answer_parts(message)
                contents.append({"role": "model", "parts": parts})
                service_calls = [call for part in parts if (call := _call_in(part))]
                ids = [call["id"] for call in calls_of(message)]
                calls |= dict(zip(ids, service_calls, strict=False))
            elif message["role"] == "tool":
                result = _result(calls.get(message["tool_call_id"], {}), message["content"])
                if last_role == "tool":
                    contents[-1]["parts"].append(result)
                else:
                    contents.append({"role": "user", "parts": [result]})
            else:
                contents.append({"role": "user", "parts": _user_parts(message)})
            last_role = message["role"]
        return contents

    def _answer_parts(self, message: ApiMessage) -> list[JsonObject]:
        """Return the parts of an answer: as they came, or made of its text and calls. The first call of an answer
        without a signature, of another model, refused or lost on the way, gets the one that Google gives for that."""
        parts = [dict(part) for part in self.blocks_to_return(message)]
        if not parts:
            parts = [*_text_parts(message), *_call_parts(message)]
        is_signed = any("thoughtSignature" in part for part in parts)
        first_call = next((part for part in parts if "functionCall" in part), None)
        if first_call is not None and self.profile.filler and not is_signed:
            first_call["thoughtSignature"] = self.profile.filler
        return parts or [{"text": " "}]


def _call_in(part: JsonMapping) -> JsonObject:
    return typed_field(part, "functionCall", dict)


def _declaration(spec: ToolSpec) -> JsonObject:
    return {
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": rebuilt(spec.parameters, _subset),
    }


def _subset(fields: JsonObject) -> JsonObject:
    """Return an object of a schema with the keywords that Google knows."""
    if "const" in fields:
        fields["enum"] = [fields["const"]]
    return {name: inner for name, inner in fields.items() if name in _KEYWORDS}


def _text_parts(message: ApiMessage) -> list[JsonObject]:
    text = message.get("content")
    return [{"text": text}] if text else []


def _call_parts(message: ApiMessage) -> list[JsonObject]:
    functions = [call["function"] for call in calls_of(message)]
    return [
        {"functionCall": {"name": function["name"], "args": json.loads(function["arguments"])}}
        for function in functions
    ]


def _user_parts(message: ApiMessage) -> list[JsonObject]:
    images = [
        {"inlineData": {"mimeType": image["media_type"], "data": image["data"]}}
        for image in images_of(message)
    ]
    return [*images, *_text_parts(message)] or [{"text": " "}]  # a message without parts is refused


def _result(call: JsonMapping, text: str) -> JsonObject:
    """Return the result of a call, with the id that the service gave it, if it did."""
    result: JsonObject = {"name": call.get("name", "unknown"), "response": {"output": text}}
    if call.get("id"):
        result["id"] = call["id"]
    return {"functionResponse": result}
