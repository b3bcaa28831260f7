"""The wire of OpenAI's Responses API, which its current models need for tools. The conversation is not stored there:
reasoning comes encrypted and is sent back."""

from __future__ import annotations

from typing import Any

from swecli.llm import errors
from swecli.llm.answer import Answer, parse_cost, parse_usage
from swecli.llm.json_fields import joined_text, typed_field
from swecli.llm.profile import WireName
from swecli.llm.wire import Wire, safe_call_id, split_system
from swecli.models.api_message import calls_of, data_url, images_of
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.models.message import ApiMessage, ModelRequest

_MIN_OUTPUT = 16  # the service refuses a smaller limit
_NO_SUCH_PATH = (404, 405, 501)
_PART_EVENTS = {  # by event type: what it extends, and the field of that in the event that ends it
    "response.output_text": ("text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_summary_text": ("reasoning", "text"),
    "response.reasoning_text": ("reasoning", "text"),
    "response.function_call_arguments": ("arguments", "arguments"),
}
_END_EVENTS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _ResponsesAnswer(Answer):
    """An answer in items; each has an index in the output. Text and arguments are taken from the deltas, or from the
    event that ends them if there were none."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, JsonObject] = {}  # finished ones by index
        self._phases: dict[int, str] = {}  # of messages: commentary, or final_answer
        self._last_text = -1  # the index of the last message that has text
        self._calls: set[int] = set()  # the indexes of calls that have begun
        # the parts of which deltas have arrived, by item and kind of text
        self._streamed: dict[tuple[int, str], set[Any]] = {}

    def read(self, event: JsonObject) -> None:
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
        elif family in _PART_EVENTS and step in ("delta", "done"):
            name, whole_field = _PART_EVENTS[family]
            text = typed_field(event, whole_field if step == "done" else "delta", str)
            part = event.get("summary_index", event.get("content_index"))
            if step == "delta" or part not in self._streamed.get((index, name), ()):
                self._add_part(index, name, text, part)
        elif kind == "response.reasoning_summary_part.added" and has_thoughts:
            self.add(reasoning="\n\n")
        elif kind in _END_EVENTS:
            self._end(typed_field(event, "response", dict))
        elif kind == "error":
            self._fail(event)
        elif not kind.startswith("response."):
            self.unknown_event = event

    def read_complete(self, event: JsonObject) -> None:
        self.unknown_event = event
        if event.get("object") == "response" or "output" in event:
            self._end(event)

    def blocks(self) -> list[Any]:
        """Return all items in order if one of them has more than text and calls, else []."""
        items = [item for _, item in sorted(self._items.items())]
        returnable = [item for item in items if _can_go_back(item)]
        is_more = any(item.get("type") == "reasoning" or item.get("phase") for item in returnable)
        return returnable if is_more else []

    def _begin_call(self, index: int, item: JsonMapping) -> None:
        if item.get("type") == "function_call" and index not in self._calls and item.get("name"):
            self._calls.add(index)
            self.add_call(index, str(item.get("call_id") or ""), str(item["name"]), "")

    def _add_part(self, index: int, name: str, text: str, part: Any = None) -> None:
        """Add a piece of an item: of its text, refusal, reasoning or arguments."""
        if not text or (name == "arguments" and index not in self._calls):
            return
        self._streamed.setdefault((index, name), set()).add(part)
        if name == "arguments":
            self.add_call(index, "", "", text)
            return
        if name == "text" and self.has_schema and self._phases.get(index) == "commentary":
            name = "reasoning"  # the answer alone follows the schema
        if name == "text":
            is_next = self._last_text not in (-1, index)
            self._last_text = index
            text = f"\n\n{text}" if is_next else text
        self.add(**{name: text})

    def _end_item(self, index: int, item: JsonObject) -> None:
        """Store a finished item, and add what no earlier event had of it."""
        if index in self._items:
            return
        self._items[index] = item
        self._phases.setdefault(index, str(item.get("phase") or ""))
        self._begin_call(index, item)
        for name, text in _parts_of(item).items():
            if (index, name) not in self._streamed:
                self._add_part(index, name, text)

    def _end(self, response: JsonMapping) -> None:
        for index, item in enumerate(typed_field(response, "output", list)):
            if isinstance(item, dict):
                self._end_item(index, item)
        usage = response.get("usage")
        self.usage = parse_usage(usage) or self.usage
        self.cost = parse_cost(usage)
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            self._fail(typed_field(response, "error", dict) or dict(response))
            return
        reason = typed_field(response, "incomplete_details", dict).get("reason")
        if response.get("status") == "incomplete":
            reason = reason or "incomplete"
        self.finish_reason = str(reason or ("tool_calls" if self._calls else "stop"))
        self.finished = True

    def _fail(self, error: JsonMapping) -> None:
        fields = {name: value for name, value in error.items() if name != "type"}
        self.unknown_event = {"error": fields}
        self.finish_reason = "error"
        self.finished = True


class Responses(Wire):
    """A model behind `/responses`."""

    dialect = "responses"
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

    def other_wire(self, status: int | None, words: str) -> WireName | None:
        """Return the other one if a gateway does not have this endpoint; a refusal about the model is none."""
        is_gateway = self.endpoint.base_url is not None
        is_path = status in _NO_SUCH_PATH and not errors.is_about_model(words, self.endpoint)
        if not (is_gateway and is_path):
            return None
        return "litellm" if self.endpoint.api == "litellm" else "chat"

    def request_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the body with changing fields last, so that servers can cache its prefix."""
        endpoint = self.endpoint
        body: JsonObject = {
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
        instructions, others = split_system(request)
        if instructions:
            body["instructions"] = "\n\n".join(instructions)
        body["input"] = [item for message in others for item in self._to_items(message)]
        return body

    def _reasoning(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the fields about thoughts: the level, and that they come encrypted, with a summary."""
        if self.profile.thinking == "none" and "tools" in self.profile.origins:
            return {}
        fields: JsonObject = {"include": ["reasoning.encrypted_content"]}
        level = self.level_fields(request, limit).get("reasoning", {})
        return {**fields, "reasoning": {**level, "summary": "auto"}}

    def _to_items(self, message: ApiMessage) -> list[JsonObject]:
        """Convert one message."""
        if message["role"] == "tool":
            call_id = safe_call_id(message["tool_call_id"])
            return [
                {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            ]
        if message["role"] == "assistant":
            blocks = self.blocks_to_return(message)
            return blocks or _plain_items(message)
        text = {"type": "input_text", "text": message["content"]}
        return [
            {"type": "message", "role": message["role"], "content": [*_image_parts(message), text]}
        ]


def _parts_of(item: JsonMapping) -> dict[str, str]:
    """Return what an item consists of: text and refusal, reasoning, or arguments."""
    content = joined_text(item, "content", "text")
    match item.get("type"):
        case "message":
            return {"text": content, "refusal": joined_text(item, "content", "refusal")}
        case "reasoning":
            return {"reasoning": joined_text(item, "summary", "text") or content}
        case "function_call":
            return {"arguments": typed_field(item, "arguments", str)}
    return {}


def _can_go_back(item: JsonMapping) -> bool:
    """Return whether an item may be sent back: thoughts only encrypted, or with their text."""
    if item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content") or item.get("content"))


def _plain_items(message: ApiMessage) -> list[JsonObject]:
    """Return an answer as items that are made of its text and calls."""
    text = message.get("content")
    items: list[JsonObject] = []
    if text:
        items.append({"type": "message", "role": "assistant", "content": text})
    for call in calls_of(message):
        call_id = safe_call_id(call["id"])
        items.append({"type": "function_call", "call_id": call_id, **call["function"]})
    return items


def _image_parts(message: ApiMessage) -> list[JsonObject]:
    return [
        {"type": "input_image", "detail": "auto", "image_url": data_url(image)}
        for image in images_of(message)
    ]
