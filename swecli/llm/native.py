"""A model at an endpoint: send one request, stream its answer, classify how it ended."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.llm import errors
from swecli.llm.answer import EXCERPT_CHARS, STOPS, Answer
from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import cost_of
from swecli.llm.profile import Profile
from swecli.llm.wire import Wire, to_bytes
from swecli.models.api_message import Blocks, blocks_of
from swecli.models.errors import (
    AuthFailed,
    OutputLimitReached,
    ProviderError,
    RequestRefused,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.models.message import ModelChunk, ModelRequest, StopReason
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.llm.refusals import Lesson

_JOIN_SECONDS = 0.03
_SLICE_SECONDS = 1.0  # in which silence is counted
# OpenRouter answers 404, llama.cpp 500 if its chat template fails
_INFORMATIVE_STATUSES = (400, 404, 422, 500)
_END_SECONDS = 1.0  # wait for the response to close, so that its connection is reused
# finish reasons of answers that did not end by themselves
_INCOMPLETE_REASONS = (None, "error", "network_error", "insufficient_system_resource", "abort")


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request that was sent, its answer, and the task that reads it."""

    wire: Wire
    request: ModelRequest
    body: JsonObject
    answer: Answer
    reading: asyncio.Task[None]


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """What is known of a model: its profile, and the opaque blocks that its service refused."""

    profile: Profile
    rejected: frozenset[bytes] = frozenset()


class NativeModel:
    """One model at one endpoint, asked over the wire that its profile names."""

    def __init__(
        self, endpoint: Endpoint, profile: Profile, learned: JsonObject | None = None
    ) -> None:
        self.name = endpoint.name
        self.endpoint = endpoint
        self._learned = {} if learned is None else learned  # of the profile, for this session
        self._known = _Knowledge(profile)
        self._confirmed = self._known  # by the last successful answer
        self._is_guessing = False  # what was left out last is not confirmed
        self._key_renewed = False  # the key command was rerun, and no answer succeeded since
        self._has_probed_again = False
        self._prefetched: _Exchange | None = None

    @property
    def profile(self) -> Profile:
        """The capabilities as far as they are known."""
        return self._known.profile

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self._known = replace(self._known, profile=profile)

    @property
    def wire(self) -> Wire:
        """The wire as the next request uses it."""
        return _wire_type(self.profile)(self.endpoint, self.profile, self._known.rejected)

    def warm(self) -> None:
        """Import what the first request needs."""
        self.wire.warm()

    def thinking_sent(self, level: str, limit: int) -> JsonObject:
        """Return the fields of a request that ask for a thinking level: see `Wire.thinking_sent`."""
        return self.wire.thinking_sent(level, limit)

    def body(self, request: ModelRequest) -> JsonObject:
        """Return the body of a request: see `Wire.body`."""
        return self.wire.body(request)

    async def send_early(self, request: ModelRequest) -> None:
        """Send a request now and return when its last byte is written or it failed. The next `stream` call reads this
        answer if it is given the same request, and cancels it otherwise."""
        self._prefetched = self._start_request(request)
        await self._prefetched.answer.request_sent.wait()

    def _start_request(self, request: ModelRequest) -> _Exchange:
        wire = self.wire
        body = wire.body(request)
        answer = wire.answer_type()
        answer.has_schema = request.schema is not None
        reading = asyncio.create_task(self._run_request(wire, request, body, answer))
        reading.add_done_callback(lambda _: answer.data_arrived.set())
        reading.add_done_callback(lambda _: answer.request_sent.set())
        return _Exchange(wire, request, body, answer, reading)

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
            final_chunk = self._final_chunk(exchange)
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
        seconds = limit = endpoint.first_byte
        problem = "sent no data"
        if answer.size:
            may_be_composing = has_tools and not answer.has_call
            seconds = limit = endpoint.before_call if may_be_composing else endpoint.quiet
            problem = "stopped in its answer and sent no data"
        if endpoint.first_token - silence < limit:  # only keep-alives come
            limit = endpoint.first_token - silence
            seconds = endpoint.first_token
            problem = "sent no text of an answer"
        if answer.finish_reason and not answer.has_gone_on:
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
        self, wire: Wire, request: ModelRequest, body: JsonObject, answer: Answer
    ) -> None:
        """Send the request and read the whole answer. Raises ProviderError."""
        try:
            if self.endpoint.key is None and self.endpoint.key_command:
                # late: most keys are in the environment
                from swecli.llm.key_command import run_key_command

                key = await run_key_command(self.endpoint.key_command)
                self.endpoint = wire.endpoint = replace(self.endpoint, key=key)
            answer.hide_key(self.endpoint.key or "")
            await wire.exchange(body, answer)
        except ProviderError:
            raise
        except errors.Refusal as refusal:
            raise self._refusal_error(wire, request, body, refusal) from refusal
        except Exception as error:  # any transport failure becomes one line for the user
            is_answering = answer.response_started
            raise errors.error_for_transport(
                error, self.endpoint, answering=is_answering
            ) from error

    def _final_chunk(self, exchange: _Exchange) -> ModelChunk:
        """Build the last chunk. Raises ProviderError if the answer is incomplete or empty."""
        answer = exchange.answer
        finish_reason = answer.finish_reason
        if finish_reason in _INCOMPLETE_REASONS:
            finish_reason = self._check_end(answer)
        stop = STOPS.get(str(finish_reason), "stop")
        if not answer.has_content:
            self._check_empty(exchange.body, answer, stop)
        self._confirm()
        note = ""
        if finish_reason not in STOPS:
            excerpt = errors.one_line(str(finish_reason), EXCERPT_CHARS)
            note = f"{self.endpoint.address} ended the answer with {excerpt!r}"
        cost = answer.cost
        if cost is None and answer.usage:
            cost = cost_of(answer.usage, self.profile.price)
        blocks = self._blocks_of_answer(exchange)
        return ModelChunk(usage=answer.usage, cost=cost, stop=stop, blocks=blocks, note=note)

    def _check_end(self, answer: Answer) -> str:
        """Return a finish reason for an answer that is complete and names none. Raises ProviderError for any other that
        did not end by itself."""
        error = errors.error_for_event(answer.unknown_event, self.endpoint, is_last=True)
        if error is not None:
            raise error
        if answer.finish_reason is None and answer.finished and answer.has_content:
            return "no reason"
        problem = "cut its answer off" if answer.has_content else "sent no answer"
        tries = errors.TRIES_IF_BROKEN_OFF if answer.has_content else errors.TRIES_IF_EMPTY
        raise Unavailable(f"{self.endpoint.address} {problem}.", "Try again.", tries=tries)

    def _check_empty(self, body: JsonMapping, answer: Answer, stop: StopReason) -> None:
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
        thoughts = self.endpoint.mask(answer.popped.build().reasoning)
        excerpt = errors.one_line(thoughts, EXCERPT_CHARS)
        detail = f" with reasoning only: {excerpt}" if excerpt else "."
        if answer.finish_reason not in STOPS:  # for example malformed_function_call
            excerpt = errors.one_line(str(answer.finish_reason), EXCERPT_CHARS)
            detail = f" and ended it with {excerpt!r}."
        words = f"{address} sent an empty answer{detail}"
        raise Unavailable(words, "Try again.", tries=errors.TRIES_IF_EMPTY)

    def _confirm(self) -> None:
        """Keep what earlier refusals revealed: a success confirms it, and the key."""
        self._key_renewed = self._is_guessing = False
        self._confirmed = self._known
        profile = self.profile
        learned = [name for name, layer in profile.origins.items() if layer == "learned"]
        self._learned.update({name: getattr(profile, name) for name in learned})

    def _blocks_of_answer(self, exchange: _Exchange) -> Blocks | None:
        """Return the answer's opaque blocks with their origin, None if there are none to send back."""
        content = [] if self.profile.think_back == "never" else exchange.answer.blocks()
        if not content:
            return None
        wire = exchange.wire
        blocks: Blocks = {
            "origin": wire.origin,
            "prefix": wire.prefix(exchange.request),
            "content": content,
        }
        reply = exchange.answer.popped.build()
        if wire.blocks_are_answers and not reply.malformed:
            calls = [call.to_api() for call in reply.calls]
            blocks["answer"] = wire.hash_of_answer(reply.text or reply.refusal, calls)
        return blocks

    def _refusal_error(
        self, wire: Wire, request: ModelRequest, body: JsonObject, refusal: errors.Refusal
    ) -> ProviderError:
        """Return an UnsupportedFeature if what a refusal reveals about the model, or a newly printed key after the
        first refusal of the key, allow the request to be repeated; else its error. A web page reveals nothing."""
        error = refusal.error
        status = error.status
        is_about_key = isinstance(error, AuthFailed)
        if is_about_key and self.endpoint.key_command and not self._key_renewed:
            self.endpoint = replace(self.endpoint, key=None)
            self._key_renewed = True
            return UnsupportedFeature("", error.message, status=status)
        if self._tries_version(error, wire.path, refusal.body.words):
            reason = f"{self.endpoint.address} is asked: without /v1 there was nothing"
            return UnsupportedFeature(reason, error.message, status=status)
        lesson = self._lesson_from(wire, body, refusal)
        if lesson is None or not self._apply(lesson, request):
            return error
        return UnsupportedFeature(lesson.notice, error.message, status=status)

    def _tries_version(self, error: ProviderError, path: str, words: str) -> bool:
        """Add the version to an address of the user's that lacks it, if nothing is there. Returns whether that was
        done."""
        endpoint = self.endpoint
        has_version = re.search(r"/v\d\w*(/|$)", f"{endpoint.address}{path}") is not None
        is_own = endpoint.base_url is not None
        is_missing = error.status == 404 and not errors.is_about_model(words, endpoint)
        if has_version or not (is_own and is_missing):
            return False
        self.endpoint = replace(endpoint, address=f"{endpoint.address.rstrip('/')}/v1")
        return True

    def _apply(self, lesson: Lesson, request: ModelRequest) -> bool:
        """Change what is known by what a refusal reveals. Returns whether the next request will differ. A field is not
        changed twice before an answer succeeds."""
        before = self._known
        rejected = before.rejected
        if lesson.drops_thoughts:
            rejected |= {to_bytes(blocks) for blocks in map(blocks_of, request.messages) if blocks}
        confirmed = self._confirmed.profile
        is_changed = any(
            getattr(before.profile, name) != getattr(confirmed, name)
            for name in lesson.changes.keys() - {"off"}
        )
        profile = before.profile
        if not is_changed:
            changed = profile.layered(lesson.changes, "learned")
            if replace(changed, origins=profile.origins) != profile:
                profile = changed
        self._known = _Knowledge(profile, rejected)
        self._is_guessing = self._is_guessing or lesson.is_guess
        return self._known != before

    def _lesson_from(self, wire: Wire, body: JsonObject, refusal: errors.Refusal) -> Lesson | None:
        """Return what a refusal reveals, None for nothing: then a guess that did not help is taken back."""
        # late: most requests are not refused
        from swecli.llm.refusals import Lesson, lesson_from_refusal

        status = refusal.error.status
        model = self.endpoint.model
        words = "" if refusal.body.is_page else refusal.body.words
        if other := wire.other_wire(status, words):
            protocol = "the Responses API" if other == "responses" else "chat completions"
            reason = f" ({words})" if words else ""
            return Lesson({"wire": other}, f"{model} is asked over {protocol}{reason}")
        if refusal.body.is_page or status not in _INFORMATIVE_STATUSES:
            return None
        lesson = lesson_from_refusal(self.profile, model, body, refusal.body.field, words)
        if self._is_guessing and (lesson is None or lesson.is_guess):
            self._known = self._confirmed
            self._is_guessing = False
            return None
        if lesson and lesson.is_guess and not isinstance(refusal.error, RequestRefused):
            return None
        if lesson and "stream" in lesson.changes.get("off", ()) and status == 500:
            return None  # it is about a stream that broke
        return lesson


def _wire_type(profile: Profile) -> type[Wire]:
    """Return the class of a profile's wire. Only the one in use is imported."""
    match profile.wire:
        case "chat":
            # late: only the wire in use, as for all
            from swecli.llm.providers.openai_chat import OpenAIChat

            return OpenAIChat
        case "responses":
            # late: as above
            from swecli.llm.providers.responses import Responses

            return Responses
        case "anthropic":
            # late: as above
            from swecli.llm.providers.anthropic import Anthropic

            return Anthropic
        case "gemini":
            # late: as above
            from swecli.llm.providers.gemini import Gemini

            return Gemini
        case "litellm":
            # late: as above
            from swecli.llm.providers.litellm import LiteLLM

            return LiteLLM
        case "litellm's responses":
            # late: as above
            from swecli.llm.providers.litellm import LiteLLMResponses

            return LiteLLMResponses


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
