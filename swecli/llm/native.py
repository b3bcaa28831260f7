"""Base class of the native wires: send one request, stream its answer, classify how it ended."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import EXCERPT_CHARS, STOPS, Answer, EventReader
from swecli.llm.endpoints import Endpoint
from swecli.llm.http import load_httpx, open_post
from swecli.llm.key_command import run_key_command
from swecli.llm.learned_facts import LearnedFacts
from swecli.llm.price_table import cost_of
from swecli.llm.profile import Profile
from swecli.llm.refusals import BLOCKS, Lesson, lesson_from_refusal
from swecli.models.api_message import Blocks, blocks_of, calls_of, images_of, with_fields
from swecli.models.errors import (
    OutputLimitReached,
    ProviderError,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.message import ApiMessage, ModelChunk, ModelRequest, StopReason

_NO_TOOLS = "You have no tools in this conversation: answer in text only."
_JOIN_SECONDS = 0.03
# OpenRouter answers 404, llama.cpp 500 if its chat template fails
_TEACHING = (400, 404, 422, 500)
_END_SECONDS = 1.0  # wait for the response to close, so that its connection is reused
_MAX_ERROR_BYTES = 1 << 16
# what a service did, and the requests that are made in all
_NO_ANSWER = ("sent no answer", errors.EMPTY_TRIES)
_CUT_OFF = ("cut its answer off", errors.CUT_TRIES)
_BROKEN_OFF = (None, "error", "network_error", "insufficient_system_resource", "abort")
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NINE = re.compile(r"[A-Za-z0-9]{9}")


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request that was sent, its answer, and the task that reads it."""

    body: dict[str, Any]
    answer: Answer
    reading: asyncio.Task[None]


class NativeModel(ABC):
    """One model at one endpoint."""

    wire = "chat"  # or "responses": that of `Profile.wire`
    path: str
    answer: type[Answer]
    key_header = ("authorization", "Bearer ")  # its name, and what precedes the key
    headers: Mapping[str, str] = {}
    warm = staticmethod(partial(load_httpx, with_backend=True))

    def __init__(
        self, endpoint: Endpoint, profile: Profile, facts: LearnedFacts | None = None
    ) -> None:
        self.name = endpoint.name
        self.endpoint = endpoint
        self.profile = profile
        self._facts = facts
        # learned, and not yet confirmed by a successful answer; each with the refusal's words
        self._unconfirmed: list[tuple[Lesson, str]] = []
        self._key_renewed = False  # the key command was rerun, and no answer succeeded since
        self._has_looked_again = False
        self._rejected_blocks: set[bytes] = set()  # opaque blocks that the service refused
        self._prefetched: _Exchange | None = None

    @property
    def origin(self) -> str:
        """Identify where opaque blocks come from: they go back to there alone."""
        return self.endpoint.origin

    def continue_for(self, other: NativeModel) -> None:
        """Take over what the model of another wire has learned, and its key."""
        self._unconfirmed = other._unconfirmed
        self.endpoint = replace(self.endpoint, key=other.endpoint.key)

    def other_wire(self, status: int | None, words: str) -> str:
        """Return the wire over which a refused request has to be sent, "" for none."""
        return ""

    @abstractmethod
    def fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the request in the service's format, for an answer of at most `limit` tokens."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request body; equal requests give equal bytes (prompt caching depends on it)."""
        tokens = request.max_tokens or self.profile.reserve()
        fields = self.fields(
            self._adapt_request(request), min(tokens, self.profile.max_output or tokens)
        )
        if "tools" in fields:
            fields["tools"] = without_fields(fields["tools"], self.profile.off)
        return {name: value for name, value in fields.items() if name not in self.profile.off}

    async def send_ahead(self, request: ModelRequest) -> None:
        """Send a request now and return when its last byte is written or it failed. The next `stream` call reads this
        answer if it is given the same request, and cancels it otherwise."""
        self._prefetched = self._start_request(request)
        await self._prefetched.answer.request_sent.wait()

    def _start_request(self, request: ModelRequest) -> _Exchange:
        body = self.body(request)
        answer = self.answer()
        reading = asyncio.create_task(self._run_request(request, body, answer))
        reading.add_done_callback(lambda _: answer.data_arrived.set())
        reading.add_done_callback(lambda _: answer.request_sent.set())
        return _Exchange(body, answer, reading)

    def _take_prefetched(self, request: ModelRequest) -> _Exchange | None:
        """Return what was sent ahead for this request, None if that was nothing or another request."""
        ahead = self._prefetched
        self._prefetched = None
        if ahead is not None and ahead.body != self.body(request):
            ahead.reading.cancel()
            return None
        return ahead

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request, without retries: the first piece at once, later ones merged, at most one
        chunk every 30 ms. The last chunk has usage, cost and `stop`. Raises ProviderError at any point; Unavailable
        also for a stalled, empty or incomplete answer."""
        asked = self._take_prefetched(request) or self._start_request(request)
        answer = asked.answer
        reading = asked.reading
        try:
            await answer.request_sent.wait()
            yield ModelChunk()
            since = 0.0  # when the last content came
            seen = None
            while not (reading.done() or answer.finished):
                state = (answer.size, answer.finish_reason)
                if state != seen:
                    since = asyncio.get_running_loop().time()
                    seen = state
                await self._wait_for_data(answer, since)
                for chunk in answer.pop_chunks():
                    yield chunk
                await asyncio.wait({reading}, timeout=_JOIN_SECONDS)
            if answer.finished:
                await asyncio.wait({reading}, timeout=_END_SECONDS)
            for chunk in answer.pop_chunks(is_last=True):
                yield chunk
            if not (answer.finished or answer.finish_reason):
                await reading
            last = self._final_chunk(asked.body, answer)
            await self._look_again()
            yield last
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _look_again(self) -> None:
        """Ask a local server for the window once more, after the first answer: some load a model with its first
        request, and cannot say before with which window."""
        is_probed = self.profile.origins.get("window") == "probe"
        if self._has_looked_again or not is_probed:
            return
        self._has_looked_again = True
        known = await asyncio.to_thread(self.endpoint.probe)
        self.profile = self.profile.layered({"window": known.get("window")}, "probe")

    async def _wait_for_data(self, answer: Answer, since: float) -> None:
        """Wait for the next bytes of an answer; `since` is the time of the request or the last content. Raises
        Unavailable on a stall; after the finish reason, the answer counts as finished."""
        at = self.endpoint
        past = asyncio.get_running_loop().time() - since
        limit = at.first_byte
        what = "sent no data"
        if answer.size:
            limit = at.quiet
            what = "stopped in its answer and sent no data"
        seconds = limit
        if at.first_token - past < limit:  # only keep-alives come
            limit = at.first_token - past
            seconds = at.first_token
            what = "sent no text of an answer"
        if answer.finish_reason:  # some send it with every delta
            limit = at.after_finish - past
        try:
            async with asyncio.timeout(limit):
                await asyncio.sleep(
                    0
                )  # a limit that has passed ends the wait also if data has arrived
                await answer.data_arrived.wait()
        except TimeoutError:
            if answer.finish_reason:
                answer.finished = True
                return
            hint = "It may have been billed. Try again, or choose another model with -m."
            raise Unavailable(f"{at.address} {what} for {seconds:g} s.", hint, tries=1) from None
        answer.data_arrived.clear()

    async def _run_request(
        self, request: ModelRequest, body: dict[str, Any], answer: Answer
    ) -> None:
        """Send the request and read the whole answer. Raises ProviderError."""
        try:
            if self.endpoint.key is None and self.endpoint.key_command:
                self.endpoint = replace(
                    self.endpoint, key=await run_key_command(self.endpoint.key_command)
                )
            answer.hide_key(self.endpoint.key or "")
            await self.exchange(request, body, answer)
        except ProviderError:
            raise
        except Exception as error:  # any transport failure becomes one line for the user
            failed = self.to_provider_error(error, answering=answer.response_started)
            if answer.response_started:
                raise failed from error
            refusal = errors.parse_error_body(self.endpoint.mask(self.refusal_text(error)))
            raise self._refusal_error(request, body, failed, refusal) from error

    async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        """Send the body and read the response into `answer`. Raises ProviderError and transport errors."""
        at = self.endpoint
        url = f"{at.address.rstrip('/')}{self.path}"
        key = {self.key_header[0]: self.key_header[1] + at.key} if at.key else {}
        headers = {**self.headers, **at.headers, **key}
        async with open_post(url, _to_bytes(body), headers, answer.request_sent) as response:
            if not response.is_success:
                refusal = at.mask((await _read_error(response)).decode("utf-8", "replace"))
                failed = errors.error_for_response(
                    int(response.status_code), response.headers, refusal, at
                )
                raise self._refusal_error(request, body, failed, errors.parse_error_body(refusal))
            answer.response_started = True
            answer.data_arrived.set()
            events = EventReader()
            found = 0
            async for piece in response.aiter_bytes():
                found += self._read_events(events.feed(piece), answer)
                answer.data_arrived.set()
            found += self._read_events(events.end(), answer)
            if not found:
                received = b"\n".join(events.non_event_lines)
                answer.read_complete(self._parse_object(received, *_NO_ANSWER))

    def to_provider_error(self, error: Exception, *, answering: bool) -> ProviderError:
        """Convert a transport error; `answering` is True if the response had started."""
        return errors.error_for_transport(error, self.endpoint, answering=answering)

    def refusal_text(self, error: Exception) -> str:
        """Return the body of the error response that an exception of `exchange` stands for, "" for none."""
        return ""

    def _read_events(self, found: list[bytes], answer: Answer) -> int:
        """Read events into the answer until one ends it; return how many there are."""
        for data in found:
            if answer.finished:  # what some gateways send after the end belongs to no answer
                break
            if data.strip() == b"[DONE]":
                answer.finished = True
            elif data.strip() != b"null":
                problem = "sent something that is not an answer"
                answer.read(self._parse_object(data, problem, errors.CUT_TRIES))
        return len(found)

    def _parse_object(self, data: bytes, problem: str, tries: int) -> dict[str, Any]:
        """Parse a JSON object. Raises ProviderError if it is not one, or contains an error."""
        try:
            value = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            text = self.endpoint.mask(data[:1000].decode("utf-8", "replace"))
            excerpt = errors.one_line(errors.without_tags(text), EXCERPT_CHARS)
            received = f": {excerpt}" if excerpt else "."
            hint = "Try again; is the address that of a model's service?"
            raise Unavailable(f"{self.endpoint.address} {problem}{received}", hint, tries=tries)
        if failed := errors.error_for_event(value, self.endpoint):
            raise failed
        return value

    def _final_chunk(self, body: dict[str, Any], answer: Answer) -> ModelChunk:
        """Build the last chunk. Raises ProviderError if the answer is incomplete or empty."""
        word = answer.finish_reason
        if word in _BROKEN_OFF:
            word = self._check_cut(answer)
        stop = STOPS.get(str(word), "stop")
        if not answer.has_content:
            self._check_for_nothing(body, answer, stop)
        self._confirm()
        note = ""
        if word not in STOPS:
            shown = errors.one_line(str(word), EXCERPT_CHARS)
            note = f"{self.endpoint.address} ended the answer with {shown!r}"
        cost = answer.cost
        if cost is None and answer.usage:
            cost = cost_of(answer.usage, self.profile.price)
        blocks = self._blocks(body, answer)
        return ModelChunk(usage=answer.usage, cost=cost, stop=stop, blocks=blocks, note=note)

    def _check_cut(self, answer: Answer) -> str:
        """Return the end of an answer that is complete and names none. Raises ProviderError for any other that did not
        end by itself."""
        told = errors.error_for_event(answer.unknown, self.endpoint, is_last=True)
        if told is not None:
            raise told
        if answer.finish_reason is None and answer.finished and answer.has_content:
            return "no reason"
        problem, tries = _CUT_OFF if answer.has_content else _NO_ANSWER
        raise Unavailable(f"{self.endpoint.address} {problem}.", "Try again.", tries=tries)

    def _check_for_nothing(self, body: Mapping[str, Any], answer: Answer, stop: StopReason) -> None:
        """Raise ProviderError for an answer without text and calls, unless another rule deals with it."""
        at = self.endpoint.address
        if stop in ("content_filter", "refusal"):
            words = f"{at} withheld the answer (content filter)."
            raise ProviderError(words, "Rephrase the request.")
        if stop == "length":
            words = f"{at} reached the length limit before it began to answer."
            raise OutputLimitReached(words, "Raise max_tokens.")
        is_lost = stop == "tool_calls" and "tools" in body  # see `stream_with_retry`
        if is_lost or stop not in ("stop", "tool_calls"):
            return
        thoughts = self.endpoint.mask(answer.reasoning_start)
        shown = errors.one_line(thoughts, EXCERPT_CHARS)
        detail = f" with reasoning only: {shown}" if shown else "."
        if answer.finish_reason not in STOPS:  # for example malformed_function_call
            word = errors.one_line(str(answer.finish_reason), EXCERPT_CHARS)
            detail = f" and ended it with {word!r}."
        words = f"{at} sent an empty answer{detail}"
        raise Unavailable(words, "Try again.", tries=errors.EMPTY_TRIES)

    def _confirm(self) -> None:
        """Store what earlier refusals revealed: a success confirms it, and the key."""
        self._key_renewed = False
        for lesson, words in self._unconfirmed:
            if self._facts is not None:
                self._facts.learn(self.endpoint.origin, lesson.field, lesson.value, words)
        self._unconfirmed.clear()

    def _blocks(self, body: Mapping[str, Any], answer: Answer) -> Blocks | None:
        """Return the answer's opaque blocks with their origin, None if there are none to send back."""
        content = [] if self.profile.think_back == "never" else answer.blocks()
        if not content:
            return None
        return {"origin": self.origin, "prefix": self.prefix(body), "content": content}

    def prefix(self, body: Mapping[str, Any]) -> str:
        """Return a hash of the request's prefix that signed blocks are bound to, "" if they are not."""
        return ""

    def opaque(self, message: ApiMessage) -> list[Any]:
        """Return the opaque blocks to send back with an assistant message, [] if they are of another origin."""
        blocks = blocks_of(message)
        if not blocks or self.profile.think_back == "never" or blocks.get("origin") != self.origin:
            return []
        if self._rejected_blocks and _to_bytes(blocks) in self._rejected_blocks:
            return []
        return list(blocks["content"])

    def _adapt_request(self, request: ModelRequest) -> ModelRequest:
        """Remove images for a model without vision, and turn tool calls and results into text for one without tools."""
        if not self.profile.images:
            request = replace(
                request,
                messages=[
                    with_fields(m, {"images": []}) if images_of(m) else m for m in request.messages
                ],
            )
        if self.profile.tools or not request.tools:
            return request
        messages = [_flatten_tool_message(message) for message in request.messages]
        if messages and messages[0]["role"] == "system":
            text = f"{messages[0]['content']}\n\n{_NO_TOOLS}"
            messages[0] = {"role": "system", "content": text}
        return replace(request, messages=messages, tools=[])

    def _refusal_error(
        self,
        request: ModelRequest,
        body: dict[str, Any],
        error: ProviderError,
        refusal: errors.ErrorBody,
    ) -> ProviderError:
        """Return an UnsupportedFeature if what a refusal reveals about the model, or a newly printed key after the
        first 401, allow the request to be repeated; else `error`. A web page reveals nothing."""
        status = error.status
        if status == 401 and self.endpoint.key_command and not self._key_renewed:
            self.endpoint = replace(self.endpoint, key=None)
            self._key_renewed = True
            return UnsupportedFeature("", error.message, status=status)
        lesson = self._lesson(body, status, refusal)
        learned = [earlier.field for earlier, _ in self._unconfirmed]
        if lesson is None or lesson.field in learned:
            return error  # learned already: switching it again would not end
        again = UnsupportedFeature(lesson.notice, error.message, status=status)
        if lesson.field == BLOCKS:
            rejected = [blocks for m in request.messages if (blocks := blocks_of(m))]
            self._rejected_blocks |= {_to_bytes(blocks) for blocks in rejected}
            return again
        if lesson.field.startswith("off."):
            change: dict[str, Any] = {"off": frozenset([lesson.field.removeprefix("off.")])}
        elif getattr(self.profile, lesson.field) == lesson.value:
            return error  # known, and refused all the same
        else:
            change = {lesson.field: lesson.value}
        self.profile = self.profile.layered(change, "learned")
        self._unconfirmed.append((lesson, refusal.words))
        return again

    def _lesson(
        self, body: dict[str, Any], status: int | None, refusal: errors.ErrorBody
    ) -> Lesson | None:
        """Return what a refusal reveals, None for nothing."""
        at = self.endpoint
        if wire := self.other_wire(status, "" if refusal.is_page else refusal.words):
            asked = "the Responses API" if wire == "responses" else "chat completions"
            why = f" ({refusal.words})" if refusal.words else ""
            return Lesson("wire", wire, f"{at.model} is asked over {asked}{why}")
        if refusal.is_page or status not in _TEACHING:
            return None
        lesson = lesson_from_refusal(
            self.profile, at.model, body, refusal.field, refusal.words, at.extra_body
        )
        if lesson and lesson.field == "off.stream" and status == 500:
            return None  # it is about a stream that broke
        return lesson


async def _read_error(response: Any) -> bytes:
    """Return the body of an error response, or its beginning if it is longer than an error is."""
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _MAX_ERROR_BYTES:
            break
    return read


def without_fields(value: Any, names: Collection[str]) -> Any:
    """Return a deep copy of a JSON value without the fields of these names, at any depth. The keys of a schema's
    `properties` are no fields."""
    if isinstance(value, list):
        return [without_fields(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for name, inner in value.items():
        if name == "properties" and isinstance(inner, dict):
            kept[name] = {key: without_fields(one, names) for key, one in inner.items()}
        elif name not in names:
            kept[name] = without_fields(inner, names)
    return kept


def _to_bytes(body: Mapping[str, Any]) -> bytes:
    """Serialize a body as compact UTF-8 JSON."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _flatten_tool_message(message: ApiMessage) -> ApiMessage:
    """Return a message with its tool calls or result written as text."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"(Result:)\n{message['content']}"}
    calls = [call["function"] for call in calls_of(message)]
    if not calls:
        return message
    lines = [
        message["content"],
        *(f"(Called {call['name']} with {call['arguments']})" for call in calls),
    ]
    return {"role": "assistant", "content": "\n".join(filter(None, lines))}


def safe_call_id(call_id: str, *, nine_characters: bool = False) -> str:
    """Return the id if every provider accepts it, else a short hash of it; with `nine_characters`, nine letters and
    digits, as Mistral wants them."""
    accepted = _NINE if nine_characters else _ID
    if accepted.fullmatch(call_id):
        return call_id
    short = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return short[:9] if nine_characters else f"call_{short}"
