"""A model on a wire of our own: one request, its stream read, joined and ended. The wires fill in the protocol."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from swecli.llm import errors
from swecli.llm.downgrade import lesson_of
from swecli.llm.endpoints import Endpoint
from swecli.llm.gathered import SHOWN, Gathered, Reader
from swecli.llm.http import load_httpx, posting, refusal_of
from swecli.llm.keys import with_key
from swecli.llm.learned import LearnedFacts
from swecli.llm.price_table import cost_of
from swecli.llm.profile import Profile
from swecli.llm.retry import watched
from swecli.llm.sse import EventReader, TooLong
from swecli.models.errors import AnswerUsedUp, FeatureRefused, ProviderError, Unavailable
from swecli.models.message import ApiMessage, Blocks, ModelChunk, ModelRequest, StopReason, Usage

NO_TOOLS = "You have no tools in this conversation: answer in text only."
_JOIN_SECONDS = 0.03
_PLAIN_ENDINGS = ("stop", "end_turn", "stop_sequence", "eos", "eos_token")
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


class _Asked(NamedTuple):
    """A request that was sent, and what reads its answer."""

    body: dict[str, Any]
    reading: Reader
    task: asyncio.Task[None]


class Native(ABC):
    """One model at one endpoint."""

    path = ""
    warm = staticmethod(load_httpx)
    stops: Mapping[str, StopReason] = {}

    def __init__(self, endpoint: Endpoint, profile: Profile, facts: LearnedFacts | None = None) -> None:
        self.name, self.endpoint, self.profile = endpoint.name, endpoint, profile
        self._facts = facts
        self._unproved: list[tuple[str, Any, str]] = []  # learned, and not yet borne out by an answer
        self._renewed = False  # whether the key's command was run again without an answer since
        self._unwanted: set[str] = set()  # opaque parts that the service did not take back
        self._ahead: _Asked | None = None

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """What the service wants beside the body: its key."""

    @abstractmethod
    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request as the service takes it; the same request gives the same bytes."""

    @abstractmethod
    def reader(self, out: Gathered) -> Reader:
        """What reads one answer."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece; one attempt. The last chunk carries usage, cost and `stop`.

        Raises:
            ProviderError: one of its kinds, at any point; Unavailable also for a stream that ends without saying
                that it ended, and for an answer with nothing in it.
        """
        return watched(self._chunks(request), self.endpoint)

    async def send_ahead(self, request: ModelRequest) -> None:
        """Send a request before anybody reads its answer, and come back when its last byte is written, or when it
        failed: the next `stream` goes on with it if it is asked for the same, and drops it if not."""
        self._ahead = self._begin(request)
        written = asyncio.create_task(self._ahead.reading.out.written.wait())
        await asyncio.wait({written, self._ahead.task}, return_when=asyncio.FIRST_COMPLETED)
        written.cancel()

    def _begin(self, request: ModelRequest) -> _Asked:
        out = Gathered()
        body, reading = self.body(request), self.reader(out)
        task = asyncio.create_task(self._ask(request, body, reading))
        task.add_done_callback(lambda _: out.came.set())
        return _Asked(body, reading, task)

    async def _chunks(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The first piece is handed on at once, later ones joined: at most one chunk in 30 ms."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.body != self.body(request):
            ahead.task.cancel()
            ahead = None
        asked = ahead or self._begin(request)
        body, reading, asking = asked.body, asked.reading, asked.task
        out = reading.out
        try:
            while not asking.done():
                await out.came.wait()
                out.came.clear()
                if out.began:
                    for chunk in out.take():
                        yield chunk
                await asyncio.wait({asking}, timeout=_JOIN_SECONDS)
            for chunk in out.take():
                yield chunk
            await asking
            yield self._last(body, reading)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _ask(self, request: ModelRequest, body: dict[str, Any], reading: Reader) -> None:
        """Send the request and read the whole answer. Raises ProviderError."""
        out, at = reading.out, await with_key(self.endpoint)
        self.endpoint = at
        url = f"{at.address.rstrip('/')}{self.path}"
        try:
            async with posting(url, to_bytes(body), self.headers(), at.first_byte, out.written) as response:
                if response.status_code != 200:
                    words = await refusal_of(response)
                    raise self._refused(request, body, response, words)
                out.began = True
                out.came.set()
                await self._read(response, reading)
        except ProviderError:
            raise
        except TooLong as error:
            raise ProviderError(f"{at.address} sent {error}.", "Ask for less, or choose another model.") from None
        except Exception as error:  # noqa: BLE001  # whatever the transport raises becomes a line for the user
            raise errors.by_transport(error, at, answering=out.began) from error

    async def _read(self, response: Any, reading: Reader) -> None:
        events, found = EventReader(), 0
        async for piece in response.aiter_raw():
            for data in events.feed(piece):
                found += 1
                self._event(data, reading)
            reading.out.came.set()
        for data in events.end():
            found += 1
            self._event(data, reading)
        if not found:
            self._whole(events.stray, reading)

    def _event(self, data: bytes, reading: Reader) -> None:
        if data.strip() == b"[DONE]":
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            words = "sent something that is no answer: " + self._excerpt(data)
            raise Unavailable(f"{self.endpoint.address} {words}", "Try again.", tries=errors.CUT_TRIES)
        if event.get("error"):
            raise errors.by_event(event["error"], self.endpoint)
        reading.take(event)

    def _whole(self, stray: bytes, reading: Reader) -> None:
        """An answer without events: a whole JSON body, or something that is none."""
        try:
            body = json.loads(stray)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict) and body.get("error"):
            raise errors.by_event(body["error"], self.endpoint)
        if isinstance(body, dict):
            reading.whole(body)
            return
        came = f": {self._excerpt(stray)}" if stray else "."
        hint = "Try again; is the address that of a model's service?"
        raise Unavailable(f"{self.endpoint.address} sent no answer{came}", hint, tries=errors.EMPTY_TRIES)

    def _last(self, body: dict[str, Any], reading: Reader) -> ModelChunk:
        """The last chunk. Raises ProviderError where the answer did not end, or holds nothing."""
        out, at = reading.out, self.endpoint.address
        if out.ending is None and out.answered:
            raise Unavailable(f"{at} cut its answer off.", "Try again.", tries=errors.CUT_TRIES)
        if out.ending is None:
            raise Unavailable(f"{at} sent no answer.", "Try again.", tries=errors.EMPTY_TRIES)
        stop = self.stops.get(out.ending, "stop")
        if not out.answered:
            self._nothing(stop, out.thoughts)
        self._proved()
        known = out.ending in self.stops or out.ending in _PLAIN_ENDINGS
        note = "" if known else f"{at} ended the answer with {errors.one_line(out.ending, SHOWN)!r}"
        kept = self._kept(body, reading)
        return ModelChunk(usage=out.usage, cost=self._cost(out.usage), stop=stop, blocks=kept, note=note)

    def _nothing(self, stop: StopReason, thoughts: str) -> None:
        """Raises ProviderError: an answer that ended has nothing in it."""
        at = self.endpoint.address
        if stop in ("content_filter", "refusal"):
            raise ProviderError(f"{at} withheld the answer (content filter).", "Say it in other words.")
        if stop == "length":
            raise AnswerUsedUp(f"{at} used up the answer's length before it began to answer.", "Raise max_tokens.")
        if stop in ("stop", "tool_calls"):
            came = f" with thoughts only: {errors.one_line(thoughts, SHOWN)}" if thoughts.strip() else "."
            raise Unavailable(f"{at} sent an empty answer{came}", "Try again.", tries=errors.EMPTY_TRIES)

    def _kept(self, body: Mapping[str, Any], reading: Reader) -> Blocks | None:
        content = reading.blocks()
        if not content:
            return None
        return {"origin": self.endpoint.origin, "prefix": self.prefix(body), "content": content}

    def prefix(self, body: Mapping[str, Any]) -> str:
        """A hash of what an answer was made from: opaque parts may be bound to it. "" where nothing is bound."""
        return ""

    def opaque(self, message: ApiMessage) -> list[Any]:
        """What an assistant message must come back with, as it came; nothing where it is of another origin."""
        blocks = message.get("blocks")
        if not blocks or self.profile.think_back == "never" or blocks.get("origin") != self.endpoint.origin:
            return []
        return [] if _fingerprint(blocks) in self._unwanted else list(blocks["content"])

    def taken(self, request: ModelRequest) -> ModelRequest:
        """The request as a model takes it that takes no tools: what was called and what came of it is text then."""
        if self.profile.tools or not request.tools:
            return request
        messages = [_as_text(message) for message in request.messages]
        if messages and messages[0]["role"] == "system":
            messages[0] = messages[0] | {"content": f"{messages[0]['content']}\n\n{NO_TOOLS}"}
        return replace(request, messages=messages, tools=[])

    def _refused(self, request: ModelRequest, body: dict[str, Any], response: Any, words: bytes) -> ProviderError:
        """The error for a status other than 200; what it teaches of the model is taken at once."""
        at, status = self.endpoint, int(response.status_code)
        error = errors.by_answer(status, response.headers, words, at)
        if status == 401 and at.key_command and not self._renewed:  # the key may have run out: one more is printed
            self.endpoint, self._renewed = replace(at, key=None), True
            return FeatureRefused("", status=status)
        if status not in (400, 422):
            return error
        param, text = errors.param_in(words)
        lesson = lesson_of(at.model, body, self.profile.limit_name, param, text, at.extra_body)
        if lesson is None or getattr(self.profile, lesson.field, None) == lesson.value is not None:
            return error
        if lesson.field == "blocks":
            self._unwanted |= {_fingerprint(m["blocks"]) for m in request.messages if m.get("blocks")}
            return FeatureRefused(lesson.notice, status=status)
        off = lesson.field.startswith("off.")
        change = {"off": frozenset([lesson.field[4:]])} if off else {lesson.field: lesson.value}
        self.profile = self.profile.layered(change, "learned")
        self._unproved.append((lesson.field, lesson.value, text))
        return FeatureRefused(lesson.notice, status=status)

    def _proved(self) -> None:
        """An answer came: what was learned on the way to it is true, and the key good."""
        self._renewed = False
        for field_name, value, words in self._unproved:
            if self._facts is not None:
                self._facts.learn(self.endpoint.origin, field_name, value, words)
        self._unproved.clear()

    def _cost(self, usage: Usage | None) -> float | None:
        return None if usage is None else cost_of(usage, self.profile.price)

    def _excerpt(self, data: bytes) -> str:
        return errors.one_line(data[:1000].decode("utf-8", "replace"), SHOWN)


def to_bytes(body: Mapping[str, Any]) -> bytes:
    """A body as it is sent: compact JSON in UTF-8."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _as_text(message: ApiMessage) -> ApiMessage:
    """A message of a model that calls tools, for one that takes none."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"(Result:)\n{message['content']}"}
    calls = message.get("tool_calls") or ()
    lines = [f"(Called {call['function']['name']} with {call['function']['arguments']})" for call in calls]
    text = message.get("content") or ""
    return {"role": message["role"], "content": "\n".join([*([text] if text else []), *lines])}


def _fingerprint(blocks: Blocks) -> str:
    return hashlib.sha256(to_bytes(blocks)).hexdigest()


def plain_id(call_id: str) -> str:
    """The id itself where every provider takes it, else a short one that is always the same for it."""
    if _ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
