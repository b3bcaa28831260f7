"""What a strict provider is told to answer, and what it keeps of each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["openai", "anthropic"]


@dataclass(frozen=True)
class Call:
    """One tool call of a reply. `arguments` as a dict, or as raw text to play a model that writes it badly."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def raw(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Tokens:
    """What the service says the request took, in disjoint buckets."""

    input: int | None = None  # None: as many as came, at four bytes a token
    cache_read: int = 0
    cache_write: int = 0
    output: int = 7
    reasoning: int = 0


@dataclass(frozen=True)
class Wire:
    """How the bytes of a good reply are harmed on their way. Offsets count bytes of the body (without framing).

    `cut_at` ends the response there as if it were complete; `broken_at` closes the connection without ending the
    response; `reset_at` resets it; `stall_at` sends nothing more (until the client goes away); `pings_at` sends
    comment pings from there on, for ever. `malformed` replaces the event of that number (from 0) by broken JSON.
    `body` is sent in place of the stream. `split` sends that many bytes at a time, `pause` seconds apart.
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
    """A good answer. `finish` "" picks the right reason, None leaves it (and all that follows it) out.

    `usage` None leaves the numbers out; `piece` is the length of a delta in characters.
    """

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
    """An answer with an error status. `body` None makes the error object the protocol would send."""

    status: int
    message: str = "refused by the script"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass
class Received:
    """One request as it came. `refused` is why it was answered with 4xx; `gone` is set when the client left early."""

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
