"""Decode a streaming answer: server-sent events, text and call deltas, and usage counts."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from swecli.llm.masking import KeyFilter
from swecli.llm.price_table import token_count
from swecli.models.errors import ProviderError
from swecli.models.message import CallDelta, ModelChunk, StopReason, Usage
from swecli.values import dataclass

MAX_EVENT_BYTES = 4 << 20
_MAX_ANSWER_BYTES = 16 << 20
EXCERPT_CHARS = 80  # in error messages
# how services name the ends of an answer
STOPS: Mapping[str, StopReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), "length"),
    **dict.fromkeys(("content_filter", "sensitive"), "content_filter"),
    **dict.fromkeys(("pause_turn", "compaction"), "pause"),
    **dict.fromkeys(("model_length", "model_context_window_exceeded"), "window_full"),
    "refusal": "refusal",
}
_BOM = b"\xef\xbb\xbf"
Kind = TypeVar("Kind")


class EventReader:
    """Parse server-sent events from byte chunks split anywhere. `non_event_lines` collects other lines (a JSON
    body, a web page)."""

    def __init__(self) -> None:
        self.non_event_lines: list[bytes] = []
        self._incomplete_line: list[bytes] = []  # its pieces
        self._size = 0  # of all that is kept, in bytes
        self._event_data: list[bytes] = []  # the `data` lines of an event that has not ended

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that this piece completes. Raises ProviderError for one that is too long."""
        self._incomplete_line.append(piece)
        self._size += len(piece)
        if self._size > MAX_EVENT_BYTES:
            raise _too_long("an event", MAX_EVENT_BYTES)
        return self._read_lines() if b"\n" in piece or b"\r" in piece else []

    def end(self) -> list[bytes]:
        """Return the data of a last event without its closing empty line."""
        self._incomplete_line.append(b"\n\n")
        return self._read_lines()

    def _read_lines(self) -> list[bytes]:
        lines = b"".join(self._incomplete_line).splitlines(keepends=True)
        # the \n of a \r\n may arrive with the next piece
        self._incomplete_line = [b"" if lines[-1].endswith(b"\n") else lines.pop()]
        events: list[bytes] = []
        for line in lines:
            data = self._read_line(line.rstrip(b"\r\n").removeprefix(_BOM))
            if data:
                events.append(data)
        buffered = [*self._incomplete_line, *self._event_data, *self.non_event_lines]
        self._size = sum(map(len, buffered))
        return events

    def _read_line(self, line: bytes) -> bytes:
        """Process one line; return the data of the event that it completes, b"" if it completes none."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        pending = self._event_data
        # some servers send the next object without an empty line before it
        may_follow = bool(pending) and pending[-1].endswith(b"}")
        begins_next = name == b"data" and may_follow and value[:1] in (b"{", b"[")
        if not line or begins_next:
            self._event_data = [value] if line else []
            return b"\n".join(pending)
        if name == b"data":
            pending.append(value)
        elif name == b"error":  # older llama.cpp servers send `error: {...}`
            pending.append(b'{"error":%b}' % value)
        elif name not in (b"", b"event", b"id", b"retry"):
            self.non_event_lines.append(line)
        return b""


@dataclass(slots=True)
class _CallPieces:
    """What has arrived of a tool call since the last chunk."""

    index: int
    id: str
    name: str
    arguments: list[str]


class Answer(ABC):
    """Accumulates one streaming answer; each wire implements `read`. `finish_reason` is the service's word; `size` is
    its characters so far; `finished` means that no more events belong to it. Events: `request_sent`, and `data_arrived`
    when chunks can be popped."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.cost: float | None = None  # in US dollars, if the service reports it
        self.finish_reason: str | None = None
        self.response_started = False
        self.has_content = False
        self.has_call = False
        self.finished = False
        self.has_schema = False  # whether the answer has to follow one
        self.reasoning_start = ""  # for error messages
        # the last event of no known kind: it may say why the answer ends
        self.unknown_event: dict[str, Any] = {}
        self.data_arrived = asyncio.Event()
        self.request_sent = asyncio.Event()
        self.size = 0
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._new_calls: list[_CallPieces] = []
        self._filters: dict[str, KeyFilter] = {}

    def hide_key(self, key: str) -> None:
        """Mask this key in text, reasoning and refusal. Not in calls: the model may edit a file of keys."""
        self._filters = {name: KeyFilter(key) for name in self._texts}

    @abstractmethod
    def read(self, event: dict[str, Any]) -> None:
        """Process one event. Raises ProviderError for an answer that is too long."""

    def read_complete(self, event: dict[str, Any]) -> None:
        """Process an answer sent as one JSON object instead of a stream. Raises as `read`."""
        self.read(event)

    @abstractmethod
    def blocks(self) -> list[Any]:
        """Return the opaque blocks that must be sent back unchanged, [] for none."""

    def add(self, *, text: str = "", reasoning: str = "", refusal: str = "") -> None:
        """Append text deltas. Raises as `read`."""
        for name, piece in (("text", text), ("reasoning", reasoning), ("refusal", refusal)):
            if piece:
                self._texts[name].append(piece)
                self._count_size(len(piece))
        self.has_content = self.has_content or bool(refusal or text and not text.isspace())
        if reasoning and len(self.reasoning_start) < EXCERPT_CHARS:
            self.reasoning_start += reasoning[:EXCERPT_CHARS]

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """Append a tool call delta; one without id and name is merged into the previous one."""
        self.has_content = self.has_call = True
        self._count_size(len(arguments) + len(name))
        continues = not call_id and not name
        if continues and self._new_calls and self._new_calls[-1].index == index:
            self._new_calls[-1].arguments.append(arguments)
        else:
            self._new_calls.append(_CallPieces(index, call_id, name, [arguments]))

    def pop_chunks(self, *, is_last: bool = False) -> list[ModelChunk]:
        """Return and clear the deltas so far, merged into as few chunks as possible."""
        texts: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        for name, key_filter in self._filters.items():
            texts[name] = key_filter.feed(texts[name], is_last=is_last)
        chunks = [ModelChunk(**texts)] if any(texts.values()) else []
        for call in self._new_calls:
            delta = CallDelta(call.index, call.id, call.name, "".join(call.arguments))
            chunks.append(ModelChunk(call=delta))
        for parts in self._texts.values():
            parts.clear()
        self._new_calls.clear()
        return chunks or [ModelChunk()]

    def _count_size(self, size: int) -> None:
        self.size += size
        if self.size > _MAX_ANSWER_BYTES:
            raise _too_long("an answer", _MAX_ANSWER_BYTES)


def _too_long(subject: str, max_bytes: int) -> ProviderError:
    hint = "Ask for less, or choose another model."
    return ProviderError(f"The service sent {subject} of more than {max_bytes >> 20} MiB.", hint)


def typed_field(block: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind:
    """Return the field if it is of this type, else the type's empty value."""
    value = block.get(name)
    return value if isinstance(value, kind) else kind()


def objects_in(block: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list field, [] if it is no list."""
    return [item for item in typed_field(block, name, list) if isinstance(item, dict)]


def joined_text(block: Mapping[str, Any], name: str, field: str) -> str:
    """Return the joined texts that the objects of a list field have in this field of theirs."""
    return "".join(typed_field(part, field, str) for part in objects_in(block, name))


def parse_cost(reported: Any) -> float | None:
    """Return the cost that OpenRouter reports beside the usage, in US dollars; with a key of the upstream service, what
    that service charges too."""
    reported = reported if isinstance(reported, Mapping) else {}
    cost = _dollars(reported, "cost")
    if cost is None or not reported.get("is_byok"):
        return cost
    return cost + (_dollars(reported.get("cost_details"), "upstream_inference_cost") or 0.0)


def _dollars(holder: Any, name: str) -> float | None:
    """Return the field as an amount, None if it is missing or none that can be true."""
    value = holder.get(name) if isinstance(holder, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def parse_usage(reported: Any) -> Usage | None:
    """Convert usage in the format of OpenAI, litellm or Anthropic. Prompt tokens include cache reads and writes, input
    tokens do not; completion tokens include reasoning. Return None without a count of the request."""
    reported = reported if isinstance(reported, Mapping) else {}
    prompt_details = reported.get("prompt_tokens_details")
    completion_details = reported.get("completion_tokens_details")
    cache_read = max(
        token_count(prompt_details, "cached_tokens"),
        token_count(
            reported, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens"
        ),
    )
    cache_write = max(
        token_count(reported, "cache_creation_input_tokens"),
        token_count(prompt_details, "cache_write_tokens"),
    )
    if "prompt_tokens" in reported:
        prompt = token_count(reported, "prompt_tokens")
    else:
        prompt = token_count(reported, "input_tokens") + cache_read + cache_write
    if not prompt:
        return None
    completion = token_count(reported, "completion_tokens", "output_tokens")
    reasoning = min(token_count(completion_details, "reasoning_tokens"), completion)
    cache_read = min(cache_read, prompt)
    cache_write = min(cache_write, prompt - cache_read)
    return Usage(
        input=prompt - cache_read - cache_write,
        cache_read=cache_read,
        cache_write=cache_write,
        output=completion - reasoning,
        reasoning=reasoning,
    )
