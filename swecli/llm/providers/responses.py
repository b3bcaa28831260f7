"""The wire of OpenAI's Responses API, which its current models need for tools. The conversation is not stored there:
reasoning comes encrypted and is sent back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import Answer, joined_text, parse_cost, parse_usage, typed_field
from swecli.llm.native import NativeModel, safe_call_id
from swecli.models.api_message import calls_of, data_url, images_of
from swecli.models.message import ApiMessage, ModelRequest

_MIN_OUTPUT = 16  # the service refuses a smaller limit
_NO_SUCH_PATH = (404, 405, 501)
_TEXT_EVENTS = {  # by event type: the text that it extends, and its field in the event that ends it
    "response.output_text": ("text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_summary_text": ("reasoning", "text"),
    "response.reasoning_text": ("reasoning", "text"),
}
_END_EVENTS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _ResponsesAnswer(Answer):
    """An answer in items; each has an index in the output. Text and arguments are taken from the deltas, or from the
    event that ends them if there were none."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, dict[str, Any]] = {}  # finished ones by index
        self._phases: dict[int, str] = {}  # of messages: commentary, or final_answer
        self._last_text = -1  # the index of the last message that has text
        self._calls: set[int] = set()  # the indexes of calls that have begun
        # the parts of which deltas have arrived, by item and kind of text
        self._streamed: dict[tuple[int, str], set[Any]] = {}

    def read(self, event: dict[str, Any]) -> None:
        kind = str(event.get("type"))
        index = event.get("output_index")
        if not isinstance(index, int):
            index = len(self._items)
        family, _, step = kind.rpartition(".")
        has_thoughts = (index, "reasoning") in self._streamed
        if kind == "response.output_item.added":
            item = typed_field(event, "item", dict)
            self._phases[index] = str(item.get("phase") or "")
            self._begin_call(index, item)
        elif kind == "response.output_item.done":
            self._end_item(index, typed_field(event, "item", dict))
        elif family == "response.function_call_arguments":
            field = "arguments" if step == "done" else "delta"
            self._arguments(index, typed_field(event, field, str), step)
        elif family in _TEXT_EVENTS and step in ("delta", "done"):
            name, whole_field = _TEXT_EVENTS[family]
            text = typed_field(event, whole_field if step == "done" else "delta", str)
            part = event.get("summary_index", event.get("content_index"))
            if step == "delta" or part not in self._streamed.get((index, name), ()):
                self._text(index, name, text, part)
        elif kind == "response.reasoning_summary_part.added" and has_thoughts:
            self.add(reasoning="\n\n")
        elif kind in _END_EVENTS:
            self._end(typed_field(event, "response", dict))
        elif kind == "error":
            self._fail(event)
        elif not kind.startswith("response."):
            self.unknown_event = event

    def read_complete(self, event: dict[str, Any]) -> None:
        self.unknown_event = event
        if event.get("object") == "response" or "output" in event:
            self._end(event)

    def blocks(self) -> list[Any]:
        """Return all items in order if one of them has more than text and calls, else []."""
        items = [item for _, item in sorted(self._items.items())]
        returnable = [item for item in items if _can_go_back(item)]
        is_more = any(item.get("type") == "reasoning" or item.get("phase") for item in returnable)
        return returnable if is_more else []

    def _begin_call(self, index: int, item: Mapping[str, Any]) -> None:
        if item.get("type") == "function_call" and index not in self._calls and item.get("name"):
            self._calls.add(index)
            self.add_call(index, str(item.get("call_id") or ""), str(item["name"]), "")

    def _text(self, index: int, name: str, text: str, part: Any = None) -> None:
        if not text:
            return
        self._streamed.setdefault((index, name), set()).add(part)
        if name == "text" and self.has_schema and self._phases.get(index) == "commentary":
            name = "reasoning"  # the answer alone follows the schema
        if name == "text":
            is_next = self._last_text not in (-1, index)
            self._last_text = index
            text = f"\n\n{text}" if is_next else text
        self.add(**{name: text})

    def _arguments(self, index: int, arguments: str, step: str) -> None:
        if index not in self._calls or (step == "done" and (index, "arguments") in self._streamed):
            return
        if arguments:
            self._streamed[index, "arguments"] = set()
            self.add_call(index, "", "", arguments)

    def _end_item(self, index: int, item: dict[str, Any]) -> None:
        """Store a finished item, and add what no earlier event had of it."""
        if index in self._items:
            return
        self._items[index] = item
        self._phases.setdefault(index, str(item.get("phase") or ""))
        if item.get("type") == "function_call":
            self._begin_call(index, item)
            self._arguments(index, typed_field(item, "arguments", str), "done")
        if item.get("type") == "message":
            self._text_if_missing(index, "text", joined_text(item, "content", "text"))
            self._text_if_missing(index, "refusal", joined_text(item, "content", "refusal"))
        if item.get("type") == "reasoning":
            thoughts = joined_text(item, "summary", "text") or joined_text(item, "content", "text")
            self._text_if_missing(index, "reasoning", thoughts)

    def _text_if_missing(self, index: int, name: str, text: str) -> None:
        if (index, name) not in self._streamed:
            self._text(index, name, text)

    def _end(self, response: Mapping[str, Any]) -> None:
        for index, item in enumerate(typed_field(response, "output", list)):
            if isinstance(item, dict):
                self._end_item(index, item)
        self._count(typed_field(response, "usage", dict))
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            self._fail(typed_field(response, "error", dict) or dict(response))
            return
        reason = typed_field(response, "incomplete_details", dict).get("reason")
        self.finish_reason = str(reason or ("tool_calls" if self._calls else "stop"))
        self.finished = True

    def _fail(self, error: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in error.items() if name != "type"}
        self.unknown_event = {"error": fields}
        self.finish_reason = "error"
        self.finished = True

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Read the counts; those of the input include the cached tokens, as in chat completions."""
        counts = {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
            "completion_tokens_details": usage.get("output_tokens_details"),
        }
        self.usage = parse_usage(counts) or self.usage
        self.cost = parse_cost(usage)


class Responses(NativeModel):
    """A model behind `/responses`."""

    wire = "responses"
    answer_type = _ResponsesAnswer

    @property
    def path(self) -> str:  # type: ignore[override]  # Azure has it below a path of its own
        is_resource = self._is_azure and "/openai/v1" not in self.endpoint.address
        return "/openai/v1/responses" if is_resource else "/responses"

    @property
    def _is_azure(self) -> bool:
        return self.endpoint.provider == "azure"

    @property
    def origin(self) -> str:
        return f"{self.endpoint.origin} responses"

    def other_wire(self, status: int | None, words: str) -> str:
        """Return "chat" if a gateway does not have this endpoint; a refusal about the model is none."""
        is_gateway = self.endpoint.base_url is not None
        is_path = status in _NO_SUCH_PATH and not errors.is_about_model(words, self.endpoint)
        return "chat" if is_gateway and is_path else ""

    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the body with changing fields last, so that servers can cache its prefix."""
        endpoint = self.endpoint
        body: dict[str, Any] = {
            "model": endpoint.model,
            "stream": True,
            "store": False,
            "max_output_tokens": max(limit, _MIN_OUTPUT),
            **self._reasoning(request, limit),
        }
        if request.tools:
            body["tools"] = [
                {"type": "function", **spec.to_api()["function"], "strict": False}
                for spec in request.tools
            ]
            if not request.may_call:
                body["tool_choice"] = "none"
        if request.schema is not None and self.profile.schemas:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            body["text"] = {"format": {"type": "json_schema", **schema}}
        body |= endpoint.extra_body
        instructions: list[str] = []
        items: list[dict[str, Any]] = []
        for message in request.messages:
            if message["role"] == "system":
                instructions.append(message["content"])
            else:
                items += self._to_items(message)
        if instructions:
            body["instructions"] = "\n\n".join(instructions)
        body["input"] = items
        return body

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        # late: only with a level
        from swecli.llm.thinking import nearest_level

        effort = nearest_level(self.profile.levels, level)
        return {"reasoning": {"effort": effort}} if effort and self.profile.may_think else {}

    def _reasoning(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the fields about thoughts: the level, and that they come encrypted, with a summary."""
        if self.profile.thinking == "none" and "tools" in self.profile.origins:
            return {}
        fields: dict[str, Any] = {"include": ["reasoning.encrypted_content"]}
        level = self.thinking(request, limit).get("reasoning", {})
        return {**fields, "reasoning": {**level, "summary": "auto"}}

    def _to_items(self, message: ApiMessage) -> list[dict[str, Any]]:
        """Convert one message."""
        if message["role"] == "tool":
            call_id = safe_call_id(message["tool_call_id"])
            return [
                {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            ]
        if message["role"] == "assistant":
            plain = [*_text_items(message), *_call_items(message)]
            blocks = [dict(item) for item in self.blocks_to_return(message)]
            return blocks if _visible_content(blocks) == _visible_content(plain) else plain
        text = {"type": "input_text", "text": message["content"]}
        return [
            {"type": "message", "role": message["role"], "content": [*_image_parts(message), text]}
        ]


def _can_go_back(item: Mapping[str, Any]) -> bool:
    """Return whether an item may be sent back: thoughts only encrypted, or with their text."""
    if item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content") or item.get("content"))


def _text_items(message: ApiMessage) -> list[dict[str, Any]]:
    text = message.get("content")
    return [{"type": "message", "role": "assistant", "content": text}] if text else []


def _call_items(message: ApiMessage) -> list[dict[str, Any]]:
    return [
        {
            "type": "function_call",
            "call_id": safe_call_id(call["id"]),
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
        }
        for call in calls_of(message)
    ]


def _image_parts(message: ApiMessage) -> list[dict[str, Any]]:
    return [
        {"type": "input_image", "detail": "auto", "image_url": data_url(image)}
        for image in images_of(message)
    ]


def _visible_content(items: Iterable[Mapping[str, Any]]) -> tuple[str, list[Any]]:
    """Return the text and the calls of items. A message that was changed since has others than the items of the answer
    it was: these then no longer belong to it."""
    texts: list[str] = []
    calls: list[Any] = []
    for item in items:
        content = item.get("content")
        if item.get("type") == "message" and isinstance(content, str):
            texts.append(content)
        elif item.get("type") == "message":
            texts.append(
                joined_text(item, "content", "text") or joined_text(item, "content", "refusal")
            )
        elif item.get("type") == "function_call":
            calls.append((item.get("call_id"), item.get("name"), _parsed(item.get("arguments"))))
    return "\n\n".join(filter(None, texts)), calls


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments or "{}")
    except (TypeError, ValueError, RecursionError):
        return arguments
