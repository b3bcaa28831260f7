"""A model on a wire of our own: one request, its stream read, joined and ended. The wires fill in the protocol."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import EXCERPT_CHARS, Answer, AnswerTooLong, EventReader
from swecli.llm.endpoints import Endpoint
from swecli.llm.http import open_post, read_error_body, run_key_command, warm_up
from swecli.llm.price_table import cost_of
from swecli.llm.profile import LearnedFacts, Profile, fact_from_refusal
from swecli.llm.reply import with_timeouts
from swecli.models.errors import AnswerUsedUp, FeatureRefused, ProviderError, Unavailable
from swecli.models.message import IMAGES, ApiMessage, ModelChunk, ModelRequest, StopReason

_NO_TOOLS = "You have no tools in this conversation: answer in text only."
_JOIN_SECONDS = 0.03
_END_SECONDS = 1.0  # for the connection to end, so that it is used again
_COUNT_SECONDS = 5.0  # for what comes behind an answer's ending: what it took
_PLAIN_ENDINGS = ("stop", "end_turn", "stop_sequence", "eos", "eos_token")
_ID, _NINE = re.compile(r"[A-Za-z0-9_-]{1,40}"), re.compile(r"[A-Za-z0-9]{9}")
_PendingAnswer = tuple[dict[str, Any], Answer, asyncio.Task[None]]  # the body that was sent, and what reads its answer


class NativeModel(ABC):
    """One model at one endpoint."""

    path: str
    answer: type[Answer]
    stops: Mapping[str, StopReason]
    warm = staticmethod(warm_up)

    def __init__(self, endpoint: Endpoint, profile: Profile, facts: LearnedFacts | None = None) -> None:
        self.name, self.endpoint, self.profile = endpoint.name, endpoint, profile
        self._facts = facts
        self._unconfirmed: list[tuple[str, Any, str]] = []  # learned, and not yet borne out by an answer
        self._key_renewed = False  # whether the key's command was run again without an answer since
        self._rejected_blocks: set[bytes] = set()  # opaque parts that the service did not take back
        self._prefetched: _PendingAnswer | None = None

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """What the service wants beside the body: its key."""

    @abstractmethod
    def fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """The request as the service takes it, for an answer of at most `limit` tokens."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """What is sent: the same request gives the same bytes."""
        tokens = request.max_tokens or self.profile.reserve(self.endpoint.max_tokens)
        fields = self.fields(self._adapt_request(request), min(tokens, self.profile.max_output or tokens))
        return {name: value for name, value in fields.items() if name not in self.profile.off}

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Answer one request, piece by piece; one attempt. The last chunk carries usage, cost and `stop`. Raises
        ProviderError at any point: Unavailable also for an answer that has no end, or nothing in it."""
        return with_timeouts(self._chunks(request), self.endpoint)

    async def send_ahead(self, request: ModelRequest) -> None:
        """Send a request before anybody reads its answer, and come back when its last byte is written, or when it
        failed: the next `stream` goes on with it if it is asked for the same, and drops it if not."""
        self._prefetched = self._start_request(request)
        await self._prefetched[1].request_sent.wait()

    def _start_request(self, request: ModelRequest) -> _PendingAnswer:
        body, answer = self.body(request), self.answer()
        task = asyncio.create_task(self._run_request(request, body, answer))
        task.add_done_callback(lambda _: answer.data_arrived.set())
        task.add_done_callback(lambda _: answer.request_sent.set())
        return body, answer, task

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """The first piece is handed on at once, later ones joined: at most one chunk in 30 ms."""
        ahead, self._prefetched = self._prefetched, None
        if ahead is not None and ahead[0] != self.body(request):
            ahead[2].cancel()
            ahead = None
        body, answer, asking = ahead or self._start_request(request)
        try:
            await answer.request_sent.wait()
            yield ModelChunk()  # from here on the clocks run
            last = None
            while not (asking.done() or answer.finished):
                if answer.finish_reason and last is None:
                    last = asyncio.get_running_loop().call_later(_COUNT_SECONDS, asking.cancel)
                await answer.data_arrived.wait()
                answer.data_arrived.clear()
                for chunk in answer.pop_chunks():
                    yield chunk
                await asyncio.wait({asking}, timeout=_JOIN_SECONDS)
            if answer.finished:
                await asyncio.wait({asking}, timeout=_END_SECONDS)
            for chunk in answer.pop_chunks():
                yield chunk
            if not (answer.finished or answer.finish_reason):
                await asking
            yield self._final_chunk(body, answer)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _run_request(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        """Send the request and read the whole answer. Raises ProviderError."""
        try:
            if self.endpoint.key is None and self.endpoint.key_command:
                self.endpoint = replace(self.endpoint, key=await run_key_command(self.endpoint.key_command))
            await self.exchange(request, body, answer)
        except ProviderError:
            raise
        except AnswerTooLong as error:
            at = self.endpoint.address
            raise ProviderError(f"{at} sent {error}.", "Ask for less, or choose another model.") from None
        except Exception as error:  # noqa: BLE001  # whatever the transport raises becomes a line for the user
            raise self.to_provider_error(error, answering=answer.response_started) from error

    async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        """Send the body and read what comes. Raises ProviderError, TooLong, and whatever the transport raises."""
        at = self.endpoint
        url = f"{at.address.rstrip('/')}{self.path}"
        async with open_post(url, _to_bytes(body), self.headers(), answer.request_sent) as response:
            if not response.is_success:
                refusal = (await read_error_body(response)).decode("utf-8", "replace")
                raise self._refusal_error(request, body, response, refusal)
            answer.response_started = True
            answer.data_arrived.set()
            events, found = EventReader(), 0
            async for piece in response.aiter_bytes():
                found += self._read_events(events.feed(piece), answer)
                answer.data_arrived.set()
            if not found + self._read_events(events.end(), answer):
                data_arrived = b"\n".join(events.non_event_lines)
                packed = response.headers.get("content-encoding")
                problem = f"sent no answer (content-encoding {packed})" if packed else "sent no answer"
                answer.read_complete(self._parse_object(data_arrived, problem, errors.EMPTY_TRIES))

    def to_provider_error(self, error: Exception, *, answering: bool) -> ProviderError:
        """One of our errors for what the transport raised; `answering`: the answer had begun."""
        return errors.error_for_transport(error, self.endpoint, answering=answering)

    def _read_events(self, found: list[bytes], answer: Answer) -> int:
        for data in found:
            if data.strip() == b"[DONE]":
                answer.finished = True
            elif data.strip() != b"null":
                answer.read(self._parse_object(data, "sent something that is not an answer", errors.CUT_TRIES))
        return len(found)

    def _parse_object(self, data: bytes, problem: str, tries: int) -> dict[str, Any]:
        """The JSON object that came. Raises ProviderError where it is none, or holds an error."""
        try:
            value = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            data_arrived = (
                f": {errors.one_line(data[:1000].decode('utf-8', 'replace'), EXCERPT_CHARS)}" if data else "."
            )
            hint = "Try again; is the address that of a model's service?"
            raise Unavailable(f"{self.endpoint.address} {problem}{data_arrived}", hint, tries=tries)
        if failed := errors.error_for_event(value, self.endpoint):
            raise failed
        return value

    def _final_chunk(self, body: dict[str, Any], answer: Answer) -> ModelChunk:
        """The last chunk. Raises ProviderError where the answer did not end, or holds nothing."""
        at = self.endpoint.address
        if answer.finish_reason in (None, "error"):
            what, tries = (
                ("cut its answer off", errors.CUT_TRIES)
                if answer.has_content
                else ("sent no answer", errors.EMPTY_TRIES)
            )
            raise Unavailable(f"{at} {what}.", "Try again.", tries=tries)
        stop = self.stops.get(answer.finish_reason, "stop")
        if not answer.has_content and stop in ("content_filter", "refusal"):
            raise ProviderError(f"{at} withheld the answer (content filter).", "Rephrase the request.")
        if not answer.has_content and stop == "length":
            raise AnswerUsedUp(f"{at} reached the length limit before it began to answer.", "Raise max_tokens.")
        if not answer.has_content and stop in ("stop", "tool_calls"):
            reasoning_start = errors.one_line(answer.reasoning_start, EXCERPT_CHARS)
            data_arrived = f" with reasoning only: {reasoning_start}" if reasoning_start else "."
            raise Unavailable(f"{at} sent an empty answer{data_arrived}", "Try again.", tries=errors.EMPTY_TRIES)
        self._key_renewed = False  # the key is good, and what was learned on the way to the answer is true
        while self._unconfirmed:
            fact = self._unconfirmed.pop(0)
            if self._facts is not None:
                self._facts.learn(self.endpoint.origin, *fact)
        known = answer.finish_reason in self.stops or answer.finish_reason in _PLAIN_ENDINGS
        note = "" if known else f"{at} ended the answer with {errors.one_line(answer.finish_reason, EXCERPT_CHARS)!r}"
        cost = cost_of(answer.usage, self.profile.price) if answer.usage else None
        content = [] if self.profile.think_back == "never" else answer.blocks()
        kept = {"origin": self.endpoint.origin, "prefix": self.prefix(body), "content": content} if content else None
        return ModelChunk(usage=answer.usage, cost=cost, stop=stop, blocks=kept, note=note)

    def prefix(self, body: Mapping[str, Any]) -> str:
        """A hash of what an answer was made from: opaque parts may be bound to it. "" where nothing is bound."""
        return ""

    def opaque(self, message: ApiMessage) -> list[Any]:
        """What an assistant message must come back with, as it came; nothing where it is of another origin."""
        blocks = message.get("blocks")
        if not blocks or self.profile.think_back == "never" or blocks.get("origin") != self.endpoint.origin:
            return []
        return [] if self._rejected_blocks and _to_bytes(blocks) in self._rejected_blocks else list(blocks["content"])

    def _adapt_request(self, request: ModelRequest) -> ModelRequest:
        """The request as a model takes it that takes no pictures: they are left out; and as one takes it that takes no
        tools: what was called and what came of it is text then."""
        if not self.profile.images:
            request = replace(request, messages=[m | {IMAGES: ()} if IMAGES in m else m for m in request.messages])
        if self.profile.tools or not request.tools:
            return request
        messages = [_flatten_tool_message(message) for message in request.messages]
        if messages and messages[0]["role"] == "system":
            messages[0] = messages[0] | {"content": f"{messages[0]['content']}\n\n{_NO_TOOLS}"}
        return replace(request, messages=messages, tools=[])

    def _refusal_error(self, request: ModelRequest, body: dict[str, Any], response: Any, text: str) -> ProviderError:
        """The error for a status that is none of success; what it teaches of the model is taken at once."""
        at, status = self.endpoint, int(response.status_code)
        error = self.with_renewed_key(errors.error_for_response(status, response.headers, text, at))
        if status not in (400, 422, 500):  # llama.cpp's own word for what a chat template does not take
            return error
        words, param = errors.parse_error_body(text)
        lesson = fact_from_refusal(at.model, body, self.profile.limit_name, param, words, at.extra_body)
        if lesson is None or lesson.field in [field for field, _, _ in self._unconfirmed]:
            return error  # also where both names of the answer's length are refused in turn
        if getattr(self.profile, lesson.field, None) == lesson.value is not None:
            return error
        if lesson.field == "blocks":
            self._rejected_blocks |= {_to_bytes(m["blocks"]) for m in request.messages if m.get("blocks")}
            return FeatureRefused(lesson.notice, error.message, status=status)
        off = lesson.field.startswith("off.")
        change = {"off": frozenset([lesson.field[4:]])} if off else {lesson.field: lesson.value}
        self.profile = self.profile.layered(change, "learned")
        self._unconfirmed.append((lesson.field, lesson.value, words))
        return FeatureRefused(lesson.notice, error.message, status=status)

    def with_renewed_key(self, error: ProviderError) -> ProviderError:
        """The error, or after the first 401 one that asks again: the key's command prints another key then."""
        if error.status != 401 or not self.endpoint.key_command or self._key_renewed:
            return error
        self.endpoint, self._key_renewed = replace(self.endpoint, key=None), True
        return FeatureRefused("", error.message, status=401)


def _to_bytes(body: Mapping[str, Any]) -> bytes:
    """A body as it is sent: compact JSON in UTF-8."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _flatten_tool_message(message: ApiMessage) -> ApiMessage:
    """A message of a model that calls tools, for one that takes none."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"(Result:)\n{message['content']}"}
    calls = message.get("tool_calls") or ()
    lines = [f"(Called {call['function']['name']} with {call['function']['arguments']})" for call in calls]
    text = message.get("content") or ""
    content = "\n".join([*([text] if text else []), *lines])
    return {"role": message["role"], "content": content, IMAGES: message.get(IMAGES, ())}


def safe_call_id(call_id: str, *, nine: bool = False) -> str:
    """The id itself where every provider takes it, else a short one that is always the same for it; `nine`: one of
    nine letters and digits."""
    if (_NINE if nine else _ID).fullmatch(call_id):
        return call_id
    short = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return short[:9] if nine else f"call_{short}"
