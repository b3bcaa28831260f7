"""What is read of an answer while it streams: the pieces that came, and what reads them from a service's events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from swecli.llm.sse import TooLong
from swecli.models.message import CallDelta, ModelChunk, Usage

LONGEST_ANSWER = 16 << 20
SHOWN = 80  # characters of thoughts and excerpts in an error


@dataclass(slots=True)
class Gathered:
    """What came of an answer: the pieces that were not handed on yet, and how it ended, in the service's words.
    `written` is set when the request has left whole, `came` when there is something to take."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[tuple[int, str, str, list[str]]] = field(default_factory=list)
    usage: Usage | None = None
    ending: str | None = None
    began: bool = False
    answered: bool = False
    thoughts: str = ""
    size: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)
    written: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, *, text: str = "", reasoning: str = "", refusal: str = "") -> None:
        """Pieces of the answer. Raises TooLong for more than any answer has."""
        for piece, where in ((text, self.text), (reasoning, self.reasoning), (refusal, self.refusal)):
            if piece:
                where.append(piece)
                self._grow(len(piece))
        self.answered = self.answered or bool(refusal or text and not text.isspace())
        if reasoning and len(self.thoughts) < SHOWN:
            self.thoughts += reasoning[:SHOWN]

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """A piece of a call; those without id and name are joined with the one before."""
        self.answered = True
        self._grow(len(arguments) + len(name))
        if self.calls and not call_id and not name and self.calls[-1][0] == index:
            self.calls[-1][3].append(arguments)
        else:
            self.calls.append((index, call_id, name, [arguments]))

    def take(self) -> list[ModelChunk]:
        """The pieces so far as few chunks; they are handed on now."""
        text, reasoning, refusal = ("".join(parts) for parts in (self.text, self.reasoning, self.refusal))
        found = [ModelChunk(text=text, reasoning=reasoning, refusal=refusal)] if text or reasoning or refusal else []
        found += [ModelChunk(call=CallDelta(index, one, name, "".join(a))) for index, one, name, a in self.calls]
        for parts in (self.text, self.reasoning, self.refusal, self.calls):
            parts.clear()
        return found or [ModelChunk(alive=True)]

    def _grow(self, size: int) -> None:
        self.size += size
        if self.size > LONGEST_ANSWER:
            raise TooLong(f"an answer of more than {LONGEST_ANSWER >> 20} MiB")


class Reader(ABC):
    """Reads the events of one answer into `out`."""

    def __init__(self, out: Gathered) -> None:
        self.out = out

    @abstractmethod
    def take(self, event: dict[str, Any]) -> None:
        """One event. Raises ProviderError for one that says that the service failed."""

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> None:
        """An answer that came in one piece although a stream was asked for."""

    def blocks(self) -> list[Any]:
        """What must come back to the service as it is; nothing when nothing of it is opaque."""
        return []
