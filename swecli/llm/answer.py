"""Decode a streaming answer: server-sent events, text and call deltas, and usage counts."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from swecli.llm.json_fields import number_in, token_count, typed_field
from swecli.llm.masking import KeyFilter
from swecli.llm.reply import ReplyBuilder
from swecli.models.errors import ProviderError
from swecli.models.json_value import JsonObject
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
    # Google's
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("spii", "language", "model_armor"), "content_filter"),
    **dict.fromkeys(("pause_turn", "compaction"), "pause"),
    **dict.fromkeys(("model_length", "model_context_window_exceeded"), "window_full"),
    "refusal": "refusal",
}
# how services name the tokens that came from their caches
_CACHE_READ = (
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "cached_tokens",
    "cachedContentTokenCount",
)
# one of these fields says that the tokens of the prompt include the cached ones; Anthropic's do not
_WITH_CACHE = {"prompt_tokens", "promptTokenCount", "input_tokens_details"}
_BOM = b"\xef\xbb\xbf"


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
        self.has_gone_on = False  # behind a finish reason: some services send one with every delta
        self.has_schema = False  # whether the answer has to follow one
        # the last event of no known kind: it may say why the answer ends
        self.unknown_event: JsonObject = {}
        self.data_arrived = asyncio.Event()
        self.request_sent = asyncio.Event()
        self.size = 0
        self.popped = ReplyBuilder()  # of the chunks
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._new_calls: list[_CallPieces] = []
        self._filters: dict[str, KeyFilter] = {}

    def hide_key(self, key: str) -> None:
        """Mask this key in text, reasoning and refusal. Not in calls: the model may edit a file of keys."""
        self._filters = {name: KeyFilter(key) for name in self._texts}

    @abstractmethod
    def read(self, event: JsonObject) -> None:
        """Process one event. Raises ProviderError for an answer that is too long."""

    def read_complete(self, event: JsonObject) -> None:
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
        texts: JsonObject = {name: "".join(parts) for name, parts in self._texts.items()}
        for name, key_filter in self._filters.items():
            texts[name] = key_filter.feed(texts[name], is_last=is_last)
        chunks = [ModelChunk(**texts)] if any(texts.values()) else []
        for call in self._new_calls:
            delta = CallDelta(call.index, call.id, call.name, "".join(call.arguments))
            chunks.append(ModelChunk(call=delta))
        for parts in self._texts.values():
            parts.clear()
        self._new_calls.clear()
        for chunk in chunks:
            self.popped.add(chunk)
        return chunks or [ModelChunk()]

    def _count_size(self, size: int) -> None:
        self.has_gone_on = self.has_gone_on or self.finish_reason is not None
        self.size += size
        if self.size > _MAX_ANSWER_BYTES:
            raise _too_long("an answer", _MAX_ANSWER_BYTES)


def _too_long(subject: str, max_bytes: int) -> ProviderError:
    hint = "Ask for less, or choose another model."
    return ProviderError(f"The service sent {subject} of more than {max_bytes >> 20} MiB.", hint)


def parse_cost(reported: Any) -> float | None:
    """Return the cost that OpenRouter reports beside the usage, in US dollars; with a key of the upstream service, what
    that service charges too."""
    cost = number_in(reported, "cost")
    if cost is None or not reported.get("is_byok"):
        return cost
    details = typed_field(reported, "cost_details", dict)
    return cost + (number_in(details, "upstream_inference_cost") or 0.0)


def parse_usage(reported: Any) -> Usage | None:
    """Convert usage in the format of any wire. Prompt tokens include cache reads and writes, input tokens do not;
    completion tokens include reasoning. Return None without a count of the request."""
    if not isinstance(reported, Mapping):
        return None
    in_prompt, in_completion = (
        typed_field(reported, f"{old}_tokens_details", dict)
        or typed_field(reported, f"{new}_tokens_details", dict)
        for old, new in (("prompt", "input"), ("completion", "output"))
    )
    cache_read = max(
        token_count(in_prompt, "cached_tokens"),
        token_count(reported, *_CACHE_READ),
    )
    cache_write = max(
        token_count(in_prompt, "cache_write_tokens"),
        token_count(reported, "cache_creation_input_tokens"),
    )
    prompt = token_count(reported, "prompt_tokens", "promptTokenCount", "input_tokens")
    if not _WITH_CACHE & reported.keys():
        prompt += cache_read + cache_write
    if not prompt:
        return None
    thoughts = token_count(reported, "thoughtsTokenCount")  # Google's, beside those of the answer
    completion = thoughts + token_count(
        reported, "completion_tokens", "output_tokens", "candidatesTokenCount"
    )
    reasoning = min(thoughts or token_count(in_completion, "reasoning_tokens"), completion)
    cache_read = min(cache_read, prompt)
    cache_write = min(cache_write, prompt - cache_read)
    return Usage(
        input=prompt - cache_read - cache_write,
        cache_read=cache_read,
        cache_write=cache_write,
        output=completion - reasoning,
        reasoning=reasoning,
    )
