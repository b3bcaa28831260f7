"""Base class of the native wires: send one request, stream its answer, classify how it ended."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from swecli.llm import errors
from swecli.llm.answer import EXCERPT_CHARS, STOPS, Answer, EventReader
from swecli.llm.endpoints import Endpoint
from swecli.llm.http import load_httpx, open_post
from swecli.llm.price_table import cost_of
from swecli.llm.profile import Profile
from swecli.models.api_message import Blocks, blocks_of, calls_of, images_of, with_fields
from swecli.models.errors import (
    OutputLimitReached,
    ProviderError,
    RequestRefused,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.message import ApiMessage, ModelChunk, ModelRequest, StopReason
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.llm.refusals import Lesson

_NO_TOOLS = "You have no tools in this conversation: answer in text only."
_JOIN_SECONDS = 0.03
_SLICE_SECONDS = 1.0  # in which silence is counted
# OpenRouter answers 404, llama.cpp 500 if its chat template fails
_INFORMATIVE_STATUSES = (400, 404, 422, 500)
_END_SECONDS = 1.0  # wait for the response to close, so that its connection is reused
_MAX_ERROR_BYTES = 1 << 16
# what a service did, and the requests that are made in all
_ANSWERED_NOTHING = ("sent no answer", errors.TRIES_IF_EMPTY)
_BROKE_OFF = ("cut its answer off", errors.TRIES_IF_BROKEN_OFF)
# finish reasons of answers that did not end by themselves
_INCOMPLETE_REASONS = (None, "error", "network_error", "insufficient_system_resource", "abort")
# call ids: what every service accepts, and what Mistral wants
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")


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
    answer_type: type[Answer]
    headers: Mapping[str, str] = {}
    warm = staticmethod(partial(load_httpx, with_backend=True))

    def __init__(
        self, endpoint: Endpoint, profile: Profile, learned: dict[str, Any] | None = None
    ) -> None:
        self.name = endpoint.name
        self.endpoint = endpoint
        self.profile = profile
        self._learned = (
            {} if learned is None else learned
        )  # fields of the profile, for this session
        # fields of the profile that refusals changed, and no successful answer has confirmed
        self._unconfirmed: dict[str, Any] = {}
        # the profile and the rejected blocks before a guess that is not confirmed
        self._before_guess: tuple[Profile, frozenset[bytes]] | None = None
        self._key_renewed = False  # the key command was rerun, and no answer succeeded since
        self._has_probed_again = False
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
    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the request in the service's format, for an answer of at most `limit` tokens."""

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        """Return the fields of a request that ask for a thinking level, {} if it cannot be asked for. `limit` is the
        longest answer in tokens."""
        return {}

    def thinking_sent(self, level: str, limit: int) -> dict[str, Any]:
        """Return the same without what the model has refused, as a request has them."""
        fields = self.thinking_fields(level, limit)
        fields |= {name: self.endpoint.extra_body.get(name, fields[name]) for name in fields}
        for path in self.profile.off:
            _leave_out(fields, path)
        return fields

    def thinking(self, request: ModelRequest, limit: int) -> dict[str, Any]:
        """Return the fields for the level that the user chose; without one the model decides."""
        level = request.thinking or self.endpoint.thinking
        return self.thinking_fields(level, limit) if level else {}

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request body; equal requests give equal bytes (prompt caching depends on it)."""
        limit = request.max_tokens or self.profile.reserve()
        if self.profile.max_output:
            limit = min(limit, self.profile.max_output)
        fields = self.request_fields(self._adapt_request(request), limit)
        if "tools" in fields:
            fields["tools"] = without_fields(fields["tools"], self.profile.off)
        for path in self.profile.off:
            _leave_out(fields, path)
        return fields

    async def send_early(self, request: ModelRequest) -> None:
        """Send a request now and return when its last byte is written or it failed. The next `stream` call reads this
        answer if it is given the same request, and cancels it otherwise."""
        self._prefetched = self._start_request(request)
        await self._prefetched.answer.request_sent.wait()

    def _start_request(self, request: ModelRequest) -> _Exchange:
        body = self.body(request)
        answer = self.answer_type()
        answer.has_schema = request.schema is not None
        reading = asyncio.create_task(self._run_request(request, body, answer))
        reading.add_done_callback(lambda _: answer.data_arrived.set())
        reading.add_done_callback(lambda _: answer.request_sent.set())
        return _Exchange(body, answer, reading)

    def _take_prefetched(self, request: ModelRequest) -> _Exchange | None:
        """Return what was sent early for this request, None if that was nothing or another request."""
        prefetched = self._prefetched
        self._prefetched = None
        if prefetched is not None and prefetched.body != self.body(request):
            prefetched.reading.cancel()
            return None
        return prefetched

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request, without retries: the first piece at once, later ones merged, at most one
        chunk every 30 ms. The last chunk has usage, cost and `stop`. Raises ProviderError at any point; Unavailable
        also for a stalled, empty or incomplete answer."""
        exchange = self._take_prefetched(request) or self._start_request(request)
        answer = exchange.answer
        reading = exchange.reading
        try:
            await answer.request_sent.wait()
            yield ModelChunk()
            silence = 0.0  # seconds without content in which this process ran
            last_state: tuple[int, str | None] | None = None  # None: nothing has been looked at
            while not (reading.done() or answer.finished):
                state = (answer.size, answer.finish_reason)
                if state != last_state:
                    silence = 0.0
                    last_state = state
                silence += await self._wait_for_data(answer, silence, "tools" in exchange.body)
                for chunk in answer.pop_chunks():
                    yield chunk
                await asyncio.wait({reading}, timeout=_JOIN_SECONDS)
                silence += _JOIN_SECONDS
            if answer.finished:
                await asyncio.wait({reading}, timeout=_END_SECONDS)
            for chunk in answer.pop_chunks(is_last=True):
                yield chunk
            if not (answer.finished or answer.finish_reason):
                await reading
            final_chunk = self._final_chunk(exchange.body, answer)
            await self._probe_again()
            yield final_chunk
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _probe_again(self) -> None:
        """Ask a local server for the window once more, after the first answer: some load a model with its first
        request, and cannot say before with which window."""
        is_probed = self.profile.origins.get("window") == "probe"
        if self._has_probed_again or not is_probed:
            return
        self._has_probed_again = True
        probed = await asyncio.to_thread(self.endpoint.probe)
        self.profile = self.profile.layered({"window": probed.get("window")}, "probe")

    async def _wait_for_data(self, answer: Answer, silence: float, has_tools: bool) -> float:
        """Wait for the next bytes of an answer; `silence` are the seconds since the request or the last content. Some
        servers send nothing until a call is complete. Returns the seconds that it took. Raises Unavailable on a stall;
        after the finish reason, the answer counts as finished."""
        endpoint = self.endpoint
        limit = endpoint.first_byte
        problem = "sent no data"
        if answer.size:
            may_be_composing = has_tools and not answer.has_call
            limit = endpoint.before_call if may_be_composing else endpoint.quiet
            problem = "stopped in its answer and sent no data"
        seconds = limit
        if endpoint.first_token - silence < limit:  # only keep-alives come
            limit = endpoint.first_token - silence
            seconds = endpoint.first_token
            problem = "sent no text of an answer"
        if answer.finish_reason:  # some send it with every delta
            limit = endpoint.after_finish - silence
        waited = await _wait_awake(answer.data_arrived, limit)
        if waited is not None:
            answer.data_arrived.clear()
            return waited
        if not answer.finish_reason:
            hint = "It may have been billed. Try again, or choose another model with -m."
            raise Unavailable(f"{endpoint.address} {problem} for {seconds:g} s.", hint, tries=1)
        answer.finished = True
        return limit

    async def _run_request(
        self, request: ModelRequest, body: dict[str, Any], answer: Answer
    ) -> None:
        """Send the request and read the whole answer. Raises ProviderError."""
        try:
            if self.endpoint.key is None and self.endpoint.key_command:
                # late: most keys are in the environment
                from swecli.llm.key_command import run_key_command

                key = await run_key_command(self.endpoint.key_command)
                self.endpoint = replace(self.endpoint, key=key)
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
        endpoint = self.endpoint
        url = f"{endpoint.address.rstrip('/')}{self.path}"
        headers = {**self.headers, **endpoint.headers}
        if endpoint.key:
            is_bearer = endpoint.auth == "bearer"
            name = "authorization" if is_bearer else endpoint.auth
            headers[name] = f"Bearer {endpoint.key}" if is_bearer else endpoint.key
        async with open_post(url, _to_bytes(body), headers, answer.request_sent) as response:
            if not response.is_success:
                text = endpoint.mask((await _read_error(response)).decode("utf-8", "replace"))
                failed = errors.error_for_response(
                    int(response.status_code), response.headers, text, endpoint
                )
                raise self._refusal_error(request, body, failed, errors.parse_error_body(text))
            answer.response_started = True
            answer.data_arrived.set()
            events = EventReader()
            event_count = 0
            async for piece in response.aiter_bytes():
                event_count += self._read_events(events.feed(piece), answer)
                answer.data_arrived.set()
            event_count += self._read_events(events.end(), answer)
            if not event_count:
                received = b"\n".join(events.non_event_lines)
                answer.read_complete(self._parse_object(received, *_ANSWERED_NOTHING))

    def to_provider_error(self, error: Exception, *, answering: bool) -> ProviderError:
        """Convert a transport error; `answering` is True if the response had started."""
        return errors.error_for_transport(error, self.endpoint, answering=answering)

    def refusal_text(self, error: Exception) -> str:
        """Return the body of the error response that an exception of `exchange` stands for, "" for none."""
        return ""

    def _read_events(self, events: list[bytes], answer: Answer) -> int:
        """Read events into the answer until one ends it; return how many there are."""
        for data in events:
            if answer.finished:  # what some gateways send after the end belongs to no answer
                break
            if data.strip() == b"[DONE]":
                answer.finished = True
            elif data.strip() != b"null":
                problem = "sent something that is not an answer"
                answer.read(self._parse_object(data, problem, errors.TRIES_IF_BROKEN_OFF))
        return len(events)

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
        finish_reason = answer.finish_reason
        if finish_reason in _INCOMPLETE_REASONS:
            finish_reason = self._check_end(answer)
        stop = STOPS.get(str(finish_reason), "stop")
        if not answer.has_content:
            self._check_empty(body, answer, stop)
        self._confirm()
        note = ""
        if finish_reason not in STOPS:
            excerpt = errors.one_line(str(finish_reason), EXCERPT_CHARS)
            note = f"{self.endpoint.address} ended the answer with {excerpt!r}"
        cost = answer.cost
        if cost is None and answer.usage:
            cost = cost_of(answer.usage, self.profile.price)
        blocks = self._blocks_of_answer(body, answer)
        return ModelChunk(usage=answer.usage, cost=cost, stop=stop, blocks=blocks, note=note)

    def _check_end(self, answer: Answer) -> str:
        """Return a finish reason for an answer that is complete and names none. Raises ProviderError for any other that
        did not end by itself."""
        error = errors.error_for_event(answer.unknown_event, self.endpoint, is_last=True)
        if error is not None:
            raise error
        if answer.finish_reason is None and answer.finished and answer.has_content:
            return "no reason"
        problem, tries = _BROKE_OFF if answer.has_content else _ANSWERED_NOTHING
        raise Unavailable(f"{self.endpoint.address} {problem}.", "Try again.", tries=tries)

    def _check_empty(self, body: Mapping[str, Any], answer: Answer, stop: StopReason) -> None:
        """Raise ProviderError for an answer that has neither text nor calls, unless another rule deals with it."""
        address = self.endpoint.address
        if stop in ("content_filter", "refusal"):
            words = f"{address} withheld the answer (content filter)."
            raise ProviderError(words, "Rephrase the request.")
        if stop == "length":
            words = f"{address} reached the length limit before it began to answer."
            raise OutputLimitReached(words, "Raise max_tokens.")
        is_lost = stop == "tool_calls" and "tools" in body  # see `stream_with_retry`
        if is_lost or stop not in ("stop", "tool_calls"):
            return
        thoughts = self.endpoint.mask(answer.reasoning_start)
        excerpt = errors.one_line(thoughts, EXCERPT_CHARS)
        detail = f" with reasoning only: {excerpt}" if excerpt else "."
        if answer.finish_reason not in STOPS:  # for example malformed_function_call
            excerpt = errors.one_line(str(answer.finish_reason), EXCERPT_CHARS)
            detail = f" and ended it with {excerpt!r}."
        words = f"{address} sent an empty answer{detail}"
        raise Unavailable(words, "Try again.", tries=errors.TRIES_IF_EMPTY)

    def _confirm(self) -> None:
        """Keep what earlier refusals revealed: a success confirms it, and the key."""
        self._key_renewed = False
        self._before_guess = None
        self._learned.update(self._unconfirmed)
        self._unconfirmed = {}

    def _blocks_of_answer(self, body: Mapping[str, Any], answer: Answer) -> Blocks | None:
        """Return the answer's opaque blocks with their origin, None if there are none to send back."""
        content = [] if self.profile.think_back == "never" else answer.blocks()
        if not content:
            return None
        return {"origin": self.origin, "prefix": self.prefix_hash(body), "content": content}

    def prefix_hash(self, body: Mapping[str, Any]) -> str:
        """Return a hash of the request's prefix that signed blocks are bound to, "" if they are not."""
        return ""

    def blocks_to_return(self, message: ApiMessage) -> list[Any]:
        """Return the opaque blocks to send back with an assistant message, [] if they are of another origin."""
        blocks = blocks_of(message)
        if not blocks or self.profile.think_back == "never" or blocks.get("origin") != self.origin:
            return []
        if self._rejected_blocks and _to_bytes(blocks) in self._rejected_blocks:
            return []
        return list(blocks["content"])

    def _adapt_request(self, request: ModelRequest) -> ModelRequest:
        """Remove answers of which nothing can be sent, and images for a model without vision; turn tool calls and
        results into text for one without tools."""
        messages = [message for message in request.messages if not self._is_empty(message)]
        if not self.profile.images:
            messages = [
                with_fields(message, {"images": []}) if images_of(message) else message
                for message in messages
            ]
        if self.profile.tools or not request.tools:
            return replace(request, messages=messages)
        messages = [_flatten_tool_message(message) for message in messages]
        if messages and messages[0]["role"] == "system":
            text = f"{messages[0]['content']}\n\n{_NO_TOOLS}"
            messages[0] = {"role": "system", "content": text}
        return replace(request, messages=messages, tools=[])

    def _is_empty(self, message: ApiMessage) -> bool:
        """Return whether an answer has nothing that can be sent here: only blocks of another service."""
        if message["role"] != "assistant" or message.get("content") or calls_of(message):
            return False
        return not self.blocks_to_return(message)

    def _refusal_error(
        self,
        request: ModelRequest,
        body: dict[str, Any],
        error: ProviderError,
        refusal: errors.ErrorBody,
    ) -> ProviderError:
        """Return an UnsupportedFeature if what a refusal reveals about the model, or a newly printed key after the
        first 401 or 403, allow the request to be repeated; else `error`. A web page reveals nothing."""
        status = error.status
        if status in (401, 403) and self.endpoint.key_command and not self._key_renewed:
            self.endpoint = replace(self.endpoint, key=None)
            self._key_renewed = True
            return UnsupportedFeature("", error.message, status=status)
        if self._tries_version(error, refusal):
            reason = f"{self.endpoint.address} is asked: without /v1 there was nothing"
            return UnsupportedFeature(reason, error.message, status=status)
        lesson = self._lesson_from(body, error, refusal)
        if lesson is None or not self._apply(lesson, request):
            return error
        return UnsupportedFeature(lesson.notice, error.message, status=status)

    def _tries_version(self, error: ProviderError, refusal: errors.ErrorBody) -> bool:
        """Add the version to an address of the user's that lacks it, if nothing is there. Returns whether that was
        done."""
        endpoint = self.endpoint
        has_version = re.search(r"/v\d\w*(/|$)", f"{endpoint.address}{self.path}") is not None
        is_own = endpoint.base_url is not None
        is_missing = error.status == 404 and not errors.is_about_model(refusal.words, endpoint)
        if has_version or not (is_own and is_missing):
            return False
        self.endpoint = replace(endpoint, address=f"{endpoint.address.rstrip('/')}/v1")
        return True

    def _apply(self, lesson: Lesson, request: ModelRequest) -> bool:
        """Change the profile by what a refusal reveals. Returns whether the next request will differ."""
        if lesson.is_guess:
            self._before_guess = (self.profile, frozenset(self._rejected_blocks))
        has_fewer_thoughts = lesson.drops_thoughts and self._reject_thoughts(request)
        changed = self.profile.layered(lesson.changes, "learned")
        is_known = lesson.changes.keys() - {"off"} & self._unconfirmed.keys()
        if is_known or replace(changed, origins=self.profile.origins) == self.profile:
            return has_fewer_thoughts
        self.profile = changed
        self._unconfirmed |= lesson.changes
        if changed.off:
            self._unconfirmed["off"] = changed.off
        return True

    def _reject_thoughts(self, request: ModelRequest) -> bool:
        """Send the thoughts of this request no more. Returns whether there are any."""
        blocks_of_request = [
            _to_bytes(blocks) for message in request.messages if (blocks := blocks_of(message))
        ]
        is_new = not self._rejected_blocks.issuperset(blocks_of_request)
        self._rejected_blocks.update(blocks_of_request)
        return is_new

    def _lesson_from(
        self, body: dict[str, Any], error: ProviderError, refusal: errors.ErrorBody
    ) -> Lesson | None:
        """Return what a refusal reveals, None for nothing: then a guess that did not help is taken back."""
        # late: most requests are not refused
        from swecli.llm.refusals import Lesson, lesson_from_refusal

        status = error.status
        endpoint = self.endpoint
        if wire := self.other_wire(status, "" if refusal.is_page else refusal.words):
            protocol = "the Responses API" if wire == "responses" else "chat completions"
            reason = f" ({refusal.words})" if refusal.words else ""
            return Lesson({"wire": wire}, f"{endpoint.model} is asked over {protocol}{reason}")
        if refusal.is_page or status not in _INFORMATIVE_STATUSES:
            return None
        lesson = lesson_from_refusal(
            self.profile, endpoint.model, body, refusal.field, refusal.words
        )
        if self._before_guess is not None and (lesson is None or lesson.is_guess):
            self.profile, rejected = self._before_guess
            self._rejected_blocks = set(rejected)
            self._unconfirmed = {}
            self._before_guess = None
            return None
        if lesson and lesson.is_guess and not isinstance(error, RequestRefused):
            return None
        if lesson and "stream" in lesson.changes.get("off", ()) and status == 500:
            return None  # it is about a stream that broke
        return lesson


async def _wait_awake(event: asyncio.Event, limit: float) -> float | None:
    """Wait for an event, at most for `limit` seconds in which this process runs: while it is stopped, or the machine
    sleeps, what arrives lies in the socket and cannot be read. Returns the seconds that it took, None if the event did
    not come."""
    loop = asyncio.get_running_loop()
    waited = 0.0
    while True:
        part = min(_SLICE_SECONDS, limit - waited)
        begun = loop.time()
        try:
            async with asyncio.timeout(part):
                # a limit that has passed ends the wait also if data has arrived
                await asyncio.sleep(0)
                await event.wait()
        except TimeoutError:
            if loop.time() - begun < part + _SLICE_SECONDS:  # else it was stopped meanwhile
                waited += part
            if waited >= limit:
                return None
        else:
            return waited + min(part, loop.time() - begun)


async def _read_error(response: Any) -> bytes:
    """Return the body of an error response, or its beginning if it is longer than an error is."""
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _MAX_ERROR_BYTES:
            break
    return read


def _leave_out(fields: dict[str, Any], path: str) -> None:
    """Remove a field, or one inside of another (`thinking.display`), which goes too if nothing else is in it."""
    holder, _, name = path.rpartition(".")
    if not holder:
        fields.pop(name, None)
    elif isinstance(fields.get(holder), dict):
        fields[holder] = {key: value for key, value in fields[holder].items() if key != name}
        if not fields[holder]:
            del fields[holder]


def without_fields(value: Any, names: Collection[str]) -> Any:
    """Return a deep copy of a JSON value without the fields of these names, at any depth. The keys of a schema's
    `properties` are no fields."""
    if isinstance(value, list):
        return [without_fields(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = {}
    for name, inner in value.items():
        if name == "properties" and isinstance(inner, dict):
            fields[name] = {key: without_fields(content, names) for key, content in inner.items()}
        elif name not in names:
            fields[name] = without_fields(inner, names)
    return fields


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
    accepted = _MISTRAL_ID if nine_characters else _ACCEPTED_ID
    if accepted.fullmatch(call_id):
        return call_id
    short = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return short[:9] if nine_characters else f"call_{short}"
