"""The requests that Google's Gemini API refuses: fields that it does not know, calls without their results, and calls
of the current turn without the signature that they came with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.strict_provider.common_rules import Refused, need, only_keys
from tests.support.strict_provider.gemini_wire import signature_of

PATH = re.compile(r"/v1beta/models/([^:/]+):(streamGenerateContent|generateContent)")
# what Google's page on thought signatures names for histories of other models
FOREIGN = "skip_thought_signature_validator"
UNKNOWN = 'Invalid JSON payload received. Unknown name "{key}": Cannot find field.'
BODY = {
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
}
SETTINGS = {"maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "seed", "thinkingConfig",
            "responseMimeType", "responseJsonSchema", "responseSchema"}  # fmt: skip
THINKING = {"includeThoughts", "thinkingLevel", "thinkingBudget"}
LEVELS = {"minimal", "low", "medium", "high", "xhigh"}
KEYWORDS = {"$defs", "$ref", "$id", "$anchor", "type", "format", "title", "description", "enum", "items",
            "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties",
            "additionalProperties", "required"}  # fmt: skip
DATA = ("text", "inlineData", "functionCall", "functionResponse")
PART = {*DATA, "thought", "thoughtSignature"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


def model_of(path: str) -> str | None:
    """Return the model that a path names, None for another path."""
    match = PATH.fullmatch(path)
    return match[1] if match else None


def check(body: dict[str, Any], model: str, models: set[str]) -> None:
    """Raise Refused, with the service's status and message, for an invalid body."""
    if model not in models:
        raise Refused(f"models/{model} is not found for API version v1beta.", status=404)
    only_keys(body, BODY, "", UNKNOWN)
    settings = body.get("generationConfig", {})
    only_keys(settings, SETTINGS, "generation_config: ", UNKNOWN)
    need(1 <= settings.get("maxOutputTokens", 1) <= 65_536, "max_output_tokens must be in range")
    thinking = settings.get("thinkingConfig", {})
    only_keys(thinking, THINKING, "generation_config.thinking_config: ", UNKNOWN)
    need(
        not {"thinkingLevel", "thinkingBudget"} <= thinking.keys(),
        "You can only set only one of thinking budget and thinking level.",
    )
    need(thinking.get("thinkingLevel", "low") in LEVELS, "Invalid value at thinking_level")
    for tool in body.get("tools", ()):
        for declaration in tool["functionDeclarations"]:
            need(NAME.fullmatch(declaration["name"]) is not None, "Invalid function name.")
            _schema(declaration["parametersJsonSchema"])
    _history(body["contents"])


def _schema(schema: Any) -> None:
    if not isinstance(schema, dict):
        return
    for name, inner in schema.items():
        need(name in KEYWORDS, UNKNOWN.format(key=name))
        if name in ("properties", "$defs"):
            for value in inner.values():
                _schema(value)
        elif isinstance(inner, list):
            for value in inner:
                _schema(value)
        else:
            _schema(inner)


def _calls(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part["functionCall"] for part in content["parts"] if "functionCall" in part]


def _results(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]


def _history(contents: list[dict[str, Any]]) -> None:
    need(bool(contents), "contents is not specified")
    need(contents[0]["role"] == "user", "Please ensure that the first message is of the user.")
    open_calls: list[dict[str, Any]] = []
    for content in contents:
        need(content["role"] in ("user", "model"), "Please use a valid role: user, model.")
        need(bool(content.get("parts")), "contents.parts must not be empty.")
        for part in content["parts"]:
            _part(part)
        results = _results(content)
        need(
            len(results) == len(open_calls),
            "Please ensure that the number of function response parts is equal to the number of function call parts "
            "of the function call turn.",
        )
        for call, result in zip(open_calls, results, strict=True):
            need(result["name"] == call["name"], "the function response has another name")
            need(result.get("id") == call.get("id"), "the function response has another id")
        open_calls = _calls(content)
    need(not open_calls, "a function call turn comes before a function response turn")
    for content in _current_turn(contents):
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        need(
            first is None or "thoughtSignature" in first,
            "Function call is missing a thought_signature in functionCall parts.",
        )


def _current_turn(contents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages behind the last one of the user."""
    for content in reversed(contents):
        if content["role"] == "user" and not _results(content):
            return
        yield content


def _part(part: dict[str, Any]) -> None:
    only_keys(part, PART, "contents.parts: ", UNKNOWN)
    kinds = [kind for kind in DATA if kind in part]
    need(len(kinds) == 1, "required oneof field 'data' must have one initialized field")
    signature = part.get("thoughtSignature")
    if signature not in (None, FOREIGN):
        need(signature == signature_of(part), "Corrupted thought signature.")
