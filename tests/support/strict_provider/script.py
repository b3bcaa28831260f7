"""The replies of a strict provider, and the record of each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["openai", "responses", "anthropic", "gemini"]


@dataclass(frozen=True)
class Call:
    """A tool call of a reply. `arguments` is a dict, or raw text for malformed arguments."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def raw(self) -> str:
        return (
            self.arguments
            if isinstance(self.arguments, str)
            else json.dumps(self.arguments, ensure_ascii=False)
        )


@dataclass(frozen=True)
class Tokens:
    """The token usage of a reply, in disjoint buckets."""

    input: int | None = None  # None: the size of the request, at four bytes per token
    cache_read: int = 0
    cache_write: int = 0
    output: int = 7
    reasoning: int = 0


@dataclass(frozen=True)
class Wire:
    """Faults in the transmission of a reply. Offsets count bytes of the body, without framing.

    `cut_at` ends the response there as if it were complete; `broken_at` closes the connection without ending the
    response; `reset_at` resets it; `stall_at` sends nothing more until the client disconnects; `pings_at` sends
    comment pings from there on. `malformed` replaces the event of that number (from 0) by broken JSON. `body` is
    sent in place of the stream. `split` sends that many bytes at a time, `pause` seconds apart.
    """

    headers: dict[str, str] = field(default_factory=dict)
    split: int = 0
    pause: float = 0.0
    cut_at: int | None = None
    broken_at: int | None = None
    reset_at: int | None = None
    stall_at: int | None = None
    pings_at: int | None = None
    malformed: int | None = None
    body: bytes | None = None
    content_type: str = "text/event-stream"
    status: int = 200


@dataclass(frozen=True)
class Reply:
    """A successful reply. An empty `finish` selects the correct reason, None omits it and all that follows it.
    `usage` None omits the usage; `piece` is the length of a delta in characters."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    usage: Tokens | None = field(default_factory=Tokens)
    finish: str | None = ""
    piece: int = 7
    wire: Wire = field(default_factory=Wire)

    def pieces(self, text: str) -> list[str]:
        return [text[i : i + self.piece] for i in range(0, len(text), self.piece)]

    def call_id(self, number: int, request: int) -> str:
        return self.calls[number].id or f"call_{request}_{number}"


@dataclass(frozen=True)
class Refusal:
    """An error response. With `body` None, the protocol's error object is sent."""

    status: int
    message: str = "refused by the script"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass
class Received:
    """A received request. `refused` is the reason for a 4xx response; `gone` is set when the client disconnects
    early."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    protocol: Protocol | None = None
    body: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    gone: threading.Event = field(default_factory=threading.Event)
    started: threading.Event = field(default_factory=threading.Event)


Answer = Reply | Refusal
Script = list[Answer | Callable[[Received], Answer]] | Callable[[Received], Answer]
