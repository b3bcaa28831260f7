"""The wire of OpenAI's chat completions, used by most services and all local servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from swecli.llm.answer import Answer, parse_cost, parse_usage, typed_field
from swecli.llm.native import NativeModel, safe_call_id
from swecli.models.api_message import images_of
from swecli.models.message import ApiMessage, ModelRequest

_TAGS = {
    "<think>": "</think>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}  # Gemini: thought, Mistral: THINK
_THOUGHTS = ("reasoning_content", "reasoning")
_ANSWERED = {"role": "assistant", "content": "(Interrupted.)"}
# as OpenAI names the protocol that its current models need for tools
_NEEDS_RESPONSES = re.compile(r"\bv1/responses\b|\bresponses api\b", re.IGNORECASE)
_SENT = ("role", "content", "tool_calls", "tool_call_id", "name")


class _ChatAnswer(Answer):
    """An answer in chat completion deltas, in all formats that servers send."""

    def __init__(self) -> None:
        super().__init__()
        self._head = ""  # buffered content
        self._close: str | None = (
            None  # the tag that closes its reasoning, "" in text; None until that is known
        )
        self._thoughts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._signed: list[Any] = []  # the signature of each call

    def read(self, event: dict[str, Any]) -> None:
        """Process a chunk or a `chat.completion` object."""
        choices = [one for one in typed_field(event, "choices", list) if isinstance(one, dict)]
        choice = next((one for one in choices if not one.get("index")), {})
        for usage in (
            choice.get("usage"),
            event.get("usage"),
            typed_field(event, "x_groq", dict).get("usage"),
        ):
            if usage:
                self.usage = parse_usage(usage) or self.usage
                reported = parse_cost(usage)
                self.cost = self.cost if reported is None else reported
        self.unknown = typed_field(choice, "error", dict) or (self.unknown if choice else event)
        # beside the last, empty delta some services repeat the whole message
        is_whole = not choice.get("delta") and not (self.size or self._head)
        self._delta(typed_field(choice, "message" if is_whole else "delta", dict))
        if reason := choice.get("finish_reason"):
            self._content("", last=True)
            self.finish_reason = str(reason).lower()

    def blocks(self) -> list[Any]:
        """Return the reasoning fields to send back; plain reasoning only for answers with calls."""
        kept = {
            "reasoning_content": "".join(self._thoughts) if self._signed else "",
            "reasoning_details": _joined(self._details),
            "extra_content": self._signed if any(self._signed) else (),
        }
        kept = {name: value for name, value in kept.items() if value}
        return [kept] if kept else []

    def _delta(self, delta: Mapping[str, Any]) -> None:
        for name in _THOUGHTS:
            if text := typed_field(delta, name, str):
                self.add(reasoning=text)
                if name == "reasoning_content":  # `reasoning` is sent back as `reasoning_details`
                    self._thoughts.append(text)
                break
        self._details += [
            one for one in typed_field(delta, "reasoning_details", list) if isinstance(one, dict)
        ]
        self._content(_text(delta.get("content")))
        for part in typed_field(delta, "content", list):
            self.add(reasoning=_text(part.get("thinking")) if isinstance(part, dict) else "")
        self.add(refusal=typed_field(delta, "refusal", str))
        legacy = typed_field(delta, "function_call", dict)
        old = [{"index": 0, "function": legacy}] if legacy else []
        for position, call in enumerate([*typed_field(delta, "tool_calls", list), *old]):
            if isinstance(call, dict):
                self._call(call, position)

    def _call(self, call: Mapping[str, Any], position: int) -> None:
        function = typed_field(call, "function", dict)
        index = call.get("index")
        if function.get("name"):
            self._signed.append(call.get("extra_content"))  # Google's signature
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some local servers send an object instead of a string
            arguments = json.dumps(arguments, ensure_ascii=False)
        place = index if isinstance(index, int) else position
        self.add_call(
            place, str(call.get("id") or ""), str(function.get("name") or ""), str(arguments or "")
        )

    def _content(self, text: str, *, last: bool = False) -> None:
        """Append content; a leading section in one of _TAGS is reasoning."""
        self._head += text
        if self._close is None:
            begun = self._head.lstrip()
            opened = next((tag for tag in _TAGS if begun.startswith(tag)), "")
            if not (opened or last) and any(tag.startswith(begun) for tag in _TAGS):
                return
            self._close = _TAGS.get(opened, "")
            self._head = begun[len(opened) :] if opened else self._head
        if self._close:
            reasoning, closed, rest = self._head.partition(self._close)
            # keep back what may be the start of the closing tag
            end = len(reasoning) if closed or last else max(0, len(reasoning) - len(self._close))
            self.add(reasoning=reasoning[:end])
            self._head = rest.lstrip("\n") if closed else reasoning[end:]
            if not closed:
                return
            self._close = ""
        text, self._head = self._head, ""
        self.add(text=text)


class OpenAIChat(NativeModel):
    """A model behind `/chat/completions`."""

    answer = _ChatAnswer
    path = "/chat/completions"

    @property
    def _mistral(self) -> bool:
        """Return True for Mistral's models on any service: they have extra rules."""
        return "stral" in f"{self.endpoint.provider} {self.endpoint.model}".lower()

    def fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the body with changing fields last, so that servers can cache its prefix."""
        profile, at = self.profile, self.endpoint
        body: dict[str, Any] = {
            "model": at.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            profile.limit_name: limit,
            **self._thinking(request.thinking or at.thinking),
        }
        if (
            profile.cache == "marks" and at.api == "openai"
        ):  # OpenRouter marks the last message itself
            body["cache_control"] = {"type": "ephemeral"}
        if request.tools:
            body["tools"] = [spec.to_api() for spec in request.tools]
        if request.schema is not None and profile.schemas:
            named = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        body |= at.extra_body
        body["messages"] = self._messages(request)
        if "stream" in profile.off:
            body.pop("stream_options", None)
        return body

    def other_wire(self, status: int | None, words: str) -> str:
        """Return "responses" if the service asks for that wire."""
        return "responses" if status in (400, 404) and _NEEDS_RESPONSES.search(words) else ""

    def _thinking(self, wish: str) -> dict[str, Any]:
        """Return the fields for a thinking level; none lets the model decide."""
        return {"reasoning_effort": self.profile.effort(wish)} if wish else {}

    def _messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        messages = [self._message(message) for message in request.messages]
        if not self.profile.system_role:
            messages = [m | {"role": "user"} if m["role"] == "system" else m for m in messages]
        if self._mistral:  # requires an assistant message between a tool result and a user message
            for at in range(len(messages) - 1, 0, -1):
                if (messages[at - 1]["role"], messages[at]["role"]) == ("tool", "user"):
                    messages.insert(at, _ANSWERED)
        return (
            _merged(messages) if not (self.profile.system_role and self.profile.tools) else messages
        )

    def _message(self, message: ApiMessage) -> dict[str, Any]:
        given: Mapping[str, Any] = message
        sent: dict[str, Any] = {name: given[name] for name in _SENT if name in given}
        nine = self._mistral
        if "tool_call_id" in sent:
            sent["tool_call_id"] = safe_call_id(sent["tool_call_id"], nine=nine)
        if sent.get("tool_calls"):
            sent["tool_calls"] = [
                call | {"id": safe_call_id(call["id"], nine=nine)} for call in sent["tool_calls"]
            ]
        if "text with calls" in self.profile.off and sent.get("tool_calls"):
            sent["content"] = ""
        if "null content" in self.profile.off:
            sent["content"] = sent["content"] or ""
        if sent["role"] == "assistant" and self.profile.think_back == "with calls":
            sent["reasoning_content"] = ""
        if images := images_of(message):
            urls = (
                {"url": f"data:{image['media_type']};base64,{image['data']}"} for image in images
            )
            text = {"type": "text", "text": message["content"]}
            sent["content"] = [*({"type": "image_url", "image_url": url} for url in urls), text]
        for fields in self.opaque(message):
            sent |= {name: value for name, value in fields.items() if name != "extra_content"}
            for call, more in zip(
                sent.get("tool_calls") or (), fields.get("extra_content", ()), strict=False
            ):
                call |= {"extra_content": more} if more else {}
        return sent


def _merged(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge consecutive messages of one role."""
    out: list[dict[str, Any]] = []
    for message in messages:
        last = out[-1] if out else {}
        plain = all(
            isinstance(m.get("content"), str) and not m.get("tool_calls") for m in (last, message)
        )
        if plain and last.get("role") == message["role"] != "tool":
            out[-1] = last | {"content": f"{last['content']}\n\n{message['content']}"}
        else:
            out.append(message)
    return out


def _joined(details: Sequence[dict[str, Any]]) -> list[Any]:
    """Merge consecutive `reasoning_details` of one type and index."""
    out: list[dict[str, Any]] = []
    for piece in details:
        last = out[-1] if out else {}
        keys = [(one.get("index"), one.get("type"), "data" in one) for one in (last, piece)]
        if keys[0] != keys[1] or not isinstance(piece.get("index"), int) or "data" in piece:
            out.append(dict(piece))
            continue
        for name, value in piece.items():
            if name in ("text", "summary"):
                last[name] = typed_field(last, name, str) + typed_field(piece, name, str)
            elif value is not None:
                last[name] = value
    return out


def _text(value: Any) -> str:
    """Return a string, or the joined text of a list of parts."""
    parts = value if isinstance(value, list) else [{"text": value}]
    return "".join(typed_field(part, "text", str) for part in parts if isinstance(part, dict))
