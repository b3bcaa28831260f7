"""The wire of Google's Gemini API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from swecli.llm.answer import Answer, objects_in, parse_usage, typed_field
from swecli.llm.native import NativeModel
from swecli.models.api_message import calls_of, images_of
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec

_ENDS = {  # by Google's finish reason: any other is a failure
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR"),
        "content_filter",
    ),
}  # fmt: skip
# what Google's page on JSON Schema lists; it refuses or ignores other keywords
_KEYWORDS = frozenset((
    "$defs", "$ref", "$id", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
    "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
))  # fmt: skip
_BY_NAME = ("properties", "$defs")  # keywords that hold schemas by name
# Google's own numbers for the levels, for models that take a number of tokens
_BUDGETS = {"off": 0, "low": 1_024, "medium": 8_192}
_LARGEST_BUDGET = 24_576
_VERSION_AT_END = re.compile(r"/v1\w*$")


class _GeminiAnswer(Answer):
    """An answer in parts; each event has some. A signature belongs to the part that it comes with."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[dict[str, Any]] = []  # without thoughts

    def read(self, event: dict[str, Any]) -> None:
        candidate = next(iter(objects_in(event, "candidates")), {})
        if not candidate:
            self.unknown_event = event
        for part in objects_in(typed_field(candidate, "content", dict), "parts"):
            self._add_part(part)
        self._count(typed_field(event, "usageMetadata", dict))
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

    def _add_part(self, part: dict[str, Any]) -> None:
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
        end = _ENDS.get(reason, "error")
        if end == "stop" and self.has_call:
            end = "tool_calls"
        if end == "error":
            words = f"{reason}: {message}" if message else reason
            self.unknown_event = {"error": {"message": words}}
        self.finish_reason = end

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Read the counts. Those of the prompt include cached tokens; thoughts are beside those of the answer."""
        thoughts = usage.get("thoughtsTokenCount") or 0
        counts = {
            "prompt_tokens": usage.get("promptTokenCount"),
            "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
            "completion_tokens": (usage.get("candidatesTokenCount") or 0) + thoughts,
            "completion_tokens_details": {"reasoning_tokens": thoughts},
        }
        self.usage = parse_usage(counts) or self.usage


class Gemini(NativeModel):
    """A model behind `:streamGenerateContent`."""

    answer_type = _GeminiAnswer

    @property
    def path(self) -> str:  # type: ignore[override]  # it has the model's name, and the version that the address lacks
        version = "" if _VERSION_AT_END.search(self.endpoint.address) else "/v1beta"
        return f"{version}/models/{self.endpoint.model}:streamGenerateContent?alt=sse"

    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the body with changing fields last, so that the service can cache its prefix."""
        settings: dict[str, Any] = {"maxOutputTokens": limit}
        if self.profile.thinking != "none":
            level_fields = self.thinking(request, limit).get("generationConfig", {})
            thoughts_shown = {"includeThoughts": True}
            settings["thinkingConfig"] = {
                **thoughts_shown,
                **level_fields.get("thinkingConfig", {}),
            }
        if request.schema is not None and self.profile.schemas:
            settings["responseMimeType"] = "application/json"
            settings["responseJsonSchema"] = _subset(request.schema)
        body: dict[str, Any] = {"generationConfig": settings}
        if request.tools:
            body["tools"] = [
                {"functionDeclarations": [_declaration(spec) for spec in request.tools]}
            ]
            if not request.may_call:
                body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
        body |= self.endpoint.extra_body
        system = [message for message in request.messages if message["role"] == "system"]
        others = [message for message in request.messages if message["role"] != "system"]
        texts = [{"text": message["content"]} for message in system]
        if texts and self.profile.system_role:
            body["systemInstruction"] = {"parts": texts}
        contents = self._contents(others)
        if texts and not self.profile.system_role:
            contents[0]["parts"] = [*texts, *contents[0]["parts"]]
        body["contents"] = contents
        return body

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        """Return the fields for a thinking level: a number of tokens for models that take one."""
        # late: only with a level
        from swecli.llm.thinking import nearest_level

        if not self.profile.may_think:
            return {}
        word = nearest_level(self.profile.levels, level)
        config: dict[str, Any] = {"thinkingLevel": word} if word else {}
        if self.profile.thinking == "budget":
            budget = int(level) if level.isdecimal() else _BUDGETS.get(level, _LARGEST_BUDGET)
            config = {"thinkingBudget": budget}
        return {"generationConfig": {"thinkingConfig": config}} if config else {}

    def _contents(self, messages: Sequence[ApiMessage]) -> list[dict[str, Any]]:
        """Convert messages; the results of one answer's calls are one message."""
        contents: list[dict[str, Any]] = []
        calls: dict[str, dict[str, Any]] = {}  # the service's, by our ids
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

    def _answer_parts(self, message: ApiMessage) -> list[dict[str, Any]]:
        """Return the parts of an answer: as they came, or made of its text and calls. The first call of an answer
        without a signature, of another model or refused, gets the one that Google gives for that."""
        plain = [*_text_parts(message), *_call_parts(message)]
        returned = [dict(part) for part in self.blocks_to_return(message)]
        if returned and _visible(returned) == _visible(plain):
            return returned
        first_call = next((part for part in plain if "functionCall" in part), None)
        if first_call is not None and self.profile.filler:
            first_call["thoughtSignature"] = self.profile.filler
        return plain or [{"text": " "}]


def _call_in(part: Mapping[str, Any]) -> dict[str, Any]:
    return typed_field(part, "functionCall", dict)


def _declaration(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": _subset(spec.parameters),
    }


def _subset(schema: Any) -> Any:
    """Return a schema with the keywords that Google knows. The keys of `properties` are no keywords."""
    if isinstance(schema, list):
        return [_subset(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    subset: dict[str, Any] = {}
    for name, inner in schema.items():
        if name in _BY_NAME and isinstance(inner, dict):
            subset[name] = {key: _subset(value) for key, value in inner.items()}
        elif name == "const":
            subset["enum"] = [inner]
        elif name in _KEYWORDS:
            subset[name] = _subset(inner)
    return subset


def _text_parts(message: ApiMessage) -> list[dict[str, Any]]:
    text = message.get("content")
    return [{"text": text}] if text else []


def _call_parts(message: ApiMessage) -> list[dict[str, Any]]:
    functions = [call["function"] for call in calls_of(message)]
    return [
        {"functionCall": {"name": function["name"], "args": json.loads(function["arguments"])}}
        for function in functions
    ]


def _user_parts(message: ApiMessage) -> list[dict[str, Any]]:
    images = [
        {"inlineData": {"mimeType": image["media_type"], "data": image["data"]}}
        for image in images_of(message)
    ]
    return [*images, *_text_parts(message)] or [{"text": " "}]  # a message without parts is refused


def _result(call: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the result of a call, with the id that the service gave it, if it did."""
    result: dict[str, Any] = {"name": call.get("name", "unknown"), "response": {"output": text}}
    if call.get("id"):
        result["id"] = call["id"]
    return {"functionResponse": result}


def _visible(parts: Sequence[Mapping[str, Any]]) -> tuple[str, list[Any]]:
    """Return text and calls of parts. A message that was changed since has others than its answer's parts, which then
    no longer belong to it."""
    text = "".join(typed_field(part, "text", str) for part in parts if not part.get("thought"))
    calls = [call for part in parts if (call := _call_in(part))]
    return text, [(call.get("name"), call.get("args") or {}) for call in calls]
