"""An answer while it streams: bytes to events, what the events bring, and the service's counts as our five buckets."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from swecli.models.message import CallDelta, ModelChunk, Usage

MAX_EVENT_BYTES, _MAX_ANSWER_BYTES = 4 << 20, 16 << 20
EXCERPT_CHARS = 80  # characters of thoughts and excerpts in an error
_MAX_NON_EVENT_BYTES = 1 << 20  # of a body that is not an event stream
_BOM = b"\xef\xbb\xbf"
_MAX = 2**53


class AnswerTooLong(ValueError):
    """An event or an answer is larger than any answer of a model."""


class EventReader:
    """Gives the data of each whole event, wherever the bytes were split. `stray` are the lines of what came and is no
    event stream: a JSON body, a web page."""

    def __init__(self) -> None:
        self.non_event_lines: list[bytes] = []
        self._rest: list[bytes] = []  # the beginning of a line
        self._size = 0
        self._data: list[bytes] = []
        self._began = False
        self._non_event_size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that this piece completes. Raises TooLong."""
        self._rest.append(piece)
        self._size += len(piece)
        if self._size > MAX_EVENT_BYTES:
            raise AnswerTooLong(f"an event of more than {MAX_EVENT_BYTES >> 20} MiB")
        return self._lines() if b"\n" in piece or b"\r" in piece else []

    def end(self) -> list[bytes]:
        """The data of an event whose closing empty line never came."""
        self._rest.append(b"\n\n")
        return self._lines()

    def _lines(self) -> list[bytes]:
        text = b"".join(self._rest)
        lines = (text if self._began else text.removeprefix(_BOM)).splitlines(keepends=True)
        # behind a carriage return the other half of a line end may come with the next piece
        self._rest, self._began = [b"" if lines[-1].endswith(b"\n") else lines.pop()], True
        found = [data for line in lines if (data := self._line(line.rstrip(b"\r\n"))) is not None]
        self._size = len(self._rest[0]) + sum(map(len, self._data))
        return found

    def _line(self, line: bytes) -> bytes | None:
        """The data of the event that this line ends."""
        if not line:
            data, self._data = b"\n".join(self._data), []
            return data or None
        name, _, value = line.partition(b":")
        if name == b"data":
            value, before = value.removeprefix(b" "), self._data
            if before and before[-1].endswith(b"}") and value[:1] in (b"{", b"["):  # no empty line stands between
                self._data = [value]
                return b"\n".join(before)
            before.append(value)
        elif name == b"error":  # older llama.cpp servers: an error object as a field of its own
            self._data.append(b'{"error":%b}' % value)
        elif name not in (b"", b"event", b"id", b"retry") and self._non_event_size < _MAX_NON_EVENT_BYTES:
            self.non_event_lines.append(line)
            self._non_event_size += len(line)
        return None


class Answer(ABC):
    """One answer while it comes: a wire reads its events into it. `ending` is how it ended, in the service's words;
    `over` is set when nothing more belongs to it, `written` when the request has left whole, `came` when there is
    something to take."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self.response_started = self.has_content = self.finished = False
        self.reasoning_start = ""  # the beginning of them
        self.data_arrived, self.request_sent = asyncio.Event(), asyncio.Event()
        self._size = 0
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._deltas: list[tuple[int, str, str, list[str]]] = []

    @abstractmethod
    def read(self, event: dict[str, Any]) -> None:
        """One event. Raises TooLong."""

    def read_complete(self, event: dict[str, Any]) -> None:
        """An answer that came in one piece although a stream was asked for. Raises TooLong."""
        self.read(event)

    @abstractmethod
    def blocks(self) -> list[Any]:
        """What must come back to the service as it is; nothing where nothing is opaque."""

    def add(self, *, text: str = "", reasoning: str = "", refusal: str = "") -> None:
        """Pieces of the answer. Raises TooLong for more than any answer has."""
        for piece, where in zip((text, reasoning, refusal), self._texts.values(), strict=True):
            if piece:
                where.append(piece)
                self._count_size(len(piece))
        self.has_content = self.has_content or bool(refusal or text and not text.isspace())
        if reasoning and len(self.reasoning_start) < EXCERPT_CHARS:
            self.reasoning_start += reasoning[:EXCERPT_CHARS]

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """A piece of a call; those without id and name are joined with the one before."""
        self.has_content = True
        self._count_size(len(arguments) + len(name))
        if self._deltas and not call_id and not name and self._deltas[-1][0] == index:
            self._deltas[-1][3].append(arguments)
        else:
            self._deltas.append((index, call_id, name, [arguments]))

    def pop_chunks(self) -> list[ModelChunk]:
        """The pieces so far as few chunks; they are handed on now."""
        texts: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        found = [ModelChunk(**texts)] if any(texts.values()) else []
        found += [ModelChunk(call=CallDelta(index, one, name, "".join(a))) for index, one, name, a in self._deltas]
        for parts in self._texts.values():
            parts.clear()
        self._deltas.clear()
        return found or [ModelChunk()]

    def _count_size(self, size: int) -> None:
        self._size += size
        if self._size > _MAX_ANSWER_BYTES:
            raise AnswerTooLong(f"an answer of more than {_MAX_ANSWER_BYTES >> 20} MiB")


def dict_field(block: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object in a field of it, an empty one for none."""
    part = block.get(name)
    return part if isinstance(part, dict) else {}


def text_field(block: Mapping[str, Any], name: str) -> str:
    """The text in a field of it, "" for none."""
    text = block.get(name)
    return text if isinstance(text, str) else ""


def openai_usage(reported: Any) -> Usage | None:
    """Buckets out of the OpenAI shape and litellm's, whose prompt count holds what was read from and written to the
    cache, and whose completion count holds the reasoning; None where nothing was counted (all zero)."""
    prompt, completion = _first_count(reported, "prompt_tokens"), _first_count(reported, "completion_tokens")
    if prompt == completion == 0:
        return None
    details, made = reported.get("prompt_tokens_details"), reported.get("completion_tokens_details")
    hits = _first_count(reported, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    read = min(max(_first_count(details, "cached_tokens"), hits), prompt)
    request_sent = max(
        _first_count(reported, "cache_creation_input_tokens"), _first_count(details, "cache_write_tokens")
    )
    write = min(request_sent, prompt - read)
    reasoning = min(_first_count(made, "reasoning_tokens"), completion)
    return Usage(prompt - read - write, read, write, completion - reasoning, reasoning)


def anthropic_usage(reported: Any) -> Usage | None:
    """Buckets out of Anthropic's shape, whose input count leaves out what was read from and written to the cache."""
    read, write = (
        _first_count(reported, "cache_read_input_tokens"),
        _first_count(reported, "cache_creation_input_tokens"),
    )
    usage = Usage(_first_count(reported, "input_tokens"), read, write, _first_count(reported, "output_tokens"))
    return usage if usage.prompt else None


def _first_count(holder: Any, *names: str) -> int:
    """The first of the numbers that is not 0."""
    for name in names if isinstance(holder, Mapping) else ():
        value = holder.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return min(int(value), _MAX)
    return 0
