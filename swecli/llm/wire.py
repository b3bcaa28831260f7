"""A protocol for asking a model: what a request looks like, where it goes, and which blocks go back with it."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import EXCERPT_CHARS, Answer, EventReader
from swecli.llm.endpoints import Endpoint
from swecli.llm.http import load_httpx, open_post
from swecli.llm.json_fields import rebuilt
from swecli.llm.profile import Profile, WireName
from swecli.llm.services import Dialect
from swecli.models.api_message import (
    BLOCKS,
    ApiCall,
    blocks_of,
    calls_of,
    images_of,
    with_fields,
    without_fields,
)
from swecli.models.errors import Unavailable
from swecli.models.json_value import Json, JsonMapping, JsonObject
from swecli.models.message import ApiMessage, ModelRequest

_NO_TOOLS = "You have no tools in this conversation: answer in text only."
_MAX_ERROR_BYTES = 1 << 16
# call ids: what every service accepts, and what Mistral wants
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")


class Wire(ABC):
    """One protocol, with what is known of the model at the moment: `rejected` are opaque blocks that the service has
    refused."""

    path: str
    answer_type: type[Answer]
    dialect: Dialect | None = (
        None  # how a thinking level is sent; None: as the model's service wants it
    )
    blocks_are_answers = True  # and not fields beside its text and calls
    sends_ids = True  # of calls
    headers: Mapping[str, str] = {}
    warm = staticmethod(partial(load_httpx, with_backend=True))

    def __init__(
        self, endpoint: Endpoint, profile: Profile, rejected: Collection[bytes] = ()
    ) -> None:
        self.endpoint = endpoint
        self.profile = profile
        self.rejected = rejected

    @property
    def origin(self) -> str:
        """Identify where opaque blocks come from: they go back to there alone."""
        return self.endpoint.origin

    def other_wire(self, status: int | None, words: str) -> WireName | None:
        """Return the wire over which a refused request has to be sent, None for no other."""
        return None

    @abstractmethod
    def request_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the request in the service's format, for an answer of at most `limit` tokens."""

    def thinking(self, level: str, limit: int) -> JsonObject:
        """Return the fields of a request that ask for a thinking level, {} if it is "" or cannot be asked for. `limit`
        is the longest answer in tokens."""
        if not level:
            return {}
        # late: only with a level
        from swecli.llm.thinking import thinking_fields

        return thinking_fields(self.dialect or self.profile.dialect, self.profile, level, limit)

    def thinking_sent(self, level: str, limit: int) -> JsonObject:
        """Return the same without what the model has refused, as a request has them."""
        fields = self.thinking(level, limit)
        fields |= {name: self.endpoint.extra_body.get(name, fields[name]) for name in fields}
        return self._without_refused(fields)

    def level_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        """Return the fields for the level that the user chose; without one the model decides."""
        return self.thinking(request.thinking or self.endpoint.thinking, limit)

    def body(self, request: ModelRequest) -> JsonObject:
        """Return the request body; equal requests give equal bytes (prompt caching depends on it)."""
        limit = request.max_tokens or self.profile.reserve()
        if self.profile.max_output:
            limit = min(limit, self.profile.max_output)
        fields = self.request_fields(self._adapt_request(request), limit)
        if "tools" in fields:
            fields["tools"] = without_names(fields["tools"], self.profile.off)
        return self._without_refused(fields)

    def _without_refused(self, fields: JsonObject) -> JsonObject:
        """Return the fields without those that the model has refused; one inside of another (`thinking.display`) takes
        that with it if nothing else is in it."""
        for path in self.profile.off:
            holder, _, name = path.rpartition(".")
            if not holder:
                fields.pop(name, None)
            elif isinstance(fields.get(holder), dict):
                fields[holder] = {
                    key: value for key, value in fields[holder].items() if key != name
                }
                if not fields[holder]:
                    del fields[holder]
        return fields

    def prefix(self, request: ModelRequest) -> str:
        """Return a hash of what the answer to a request follows, "" if its blocks are not bound to that."""
        if self.profile.think_back != "bound":
            return ""
        beginning = self._hash_of_tools(request)
        for message in self._adapt_request(request).messages:
            beginning.update(_to_hashed(message))
        return beginning.hexdigest()

    def _hash_of_tools(self, request: ModelRequest) -> hashlib._Hash:
        tools = [spec.to_api() for spec in request.tools]
        return hashlib.sha256(_to_hashed(without_names(tools, self.profile.off)))

    def blocks_to_return(self, message: ApiMessage) -> list[JsonObject]:
        """Return the opaque blocks to send back with an assistant message, [] if they are of another origin or the
        message was changed since."""
        blocks = blocks_of(message)
        if not blocks or self.profile.think_back == "never" or blocks.get("origin") != self.origin:
            return []
        if self.rejected and to_bytes(blocks) in self.rejected:
            return []
        if self.blocks_are_answers:
            answer = self.hash_of_answer(message.get("content"), calls_of(message))
            if blocks.get("answer") != answer:  # a part of it was shortened since
                return []
        return [dict(block) for block in blocks["content"]]

    def hash_of_answer(self, text: str | None, calls: Iterable[ApiCall]) -> str:
        """Return a hash of an answer's text and calls."""
        ids_and_functions = [[self.sends_ids and call["id"], call["function"]] for call in calls]
        answer = [(text or "").strip(), ids_and_functions]
        return hashlib.sha256(_to_hashed(answer)).hexdigest()

    def _adapt_request(self, request: ModelRequest) -> ModelRequest:
        """Remove answers of which nothing can be sent, blocks that are bound to another beginning, and images for a
        model without vision; turn tool calls and results into text for one without tools."""
        messages = [message for message in request.messages if not self._is_empty(message)]
        if not self.profile.images:
            messages = [
                with_fields(message, {"images": []}) if images_of(message) else message
                for message in messages
            ]
        if self.profile.think_back == "bound":
            messages = self._without_unbound(messages, self._hash_of_tools(request))
        if self.profile.tools or not request.tools:
            return replace(request, messages=messages)
        messages = [_flatten_tool_message(message) for message in messages]
        if messages and messages[0]["role"] == "system":
            text = f"{messages[0]['content']}\n\n{_NO_TOOLS}"
            messages[0] = {"role": "system", "content": text}
        return replace(request, messages=messages, tools=[])

    def _without_unbound(
        self, messages: Iterable[ApiMessage], beginning: hashlib._Hash
    ) -> list[ApiMessage]:
        """Return the messages without blocks that came behind another beginning: the service takes them back only
        behind the same one."""
        bound: list[ApiMessage] = []
        for message in messages:
            blocks = blocks_of(message)
            is_bound = blocks and blocks.get("prefix") == beginning.hexdigest()
            if blocks and not (is_bound and self.blocks_to_return(message)):
                message = without_fields(message, BLOCKS)
            beginning.update(_to_hashed(message))
            bound.append(message)
        return bound

    def _is_empty(self, message: ApiMessage) -> bool:
        """Return whether an answer has nothing that can be sent here: only blocks of another service."""
        if message["role"] != "assistant" or message.get("content") or calls_of(message):
            return False
        return not self.blocks_to_return(message)

    async def exchange(self, body: JsonMapping, answer: Answer) -> None:
        """Send the body and read the response into `answer`. Raises Refusal, ProviderError and transport errors."""
        endpoint = self.endpoint
        url = f"{endpoint.address.rstrip('/')}{self.path}"
        headers = {**self.headers, **endpoint.headers}
        if endpoint.key:
            is_bearer = endpoint.auth == "bearer"
            name = "authorization" if is_bearer else endpoint.auth
            headers[name] = f"Bearer {endpoint.key}" if is_bearer else endpoint.key
        async with open_post(url, to_bytes(body), headers, answer.request_sent) as response:
            if not response.is_success:
                text = endpoint.mask((await _read_error(response)).decode("utf-8", "replace"))
                raise errors.Refusal(int(response.status_code), response.headers, text, endpoint)
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
                answer.read_complete(
                    self._parse_object(received, "sent no answer", errors.TRIES_IF_EMPTY)
                )

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

    def _parse_object(self, data: bytes, problem: str, tries: int) -> JsonObject:
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


def split_system(request: ModelRequest) -> tuple[list[str], list[ApiMessage]]:
    """Return the texts of a request's system messages, and its other messages."""
    texts: list[str] = []
    others: list[ApiMessage] = []
    for message in request.messages:
        if message["role"] == "system":
            texts.append(message["content"])
        else:
            others.append(message)
    return texts, others


async def _read_error(response: Any) -> bytes:
    """Return the body of an error response, or its beginning if it is longer than an error is."""
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _MAX_ERROR_BYTES:
            break
    return read


def without_names(value: Json, names: Collection[str]) -> Json:
    """Return a deep copy of a JSON value without the fields of these names, at any depth."""
    return rebuilt(
        value, lambda fields: {name: fields[name] for name in fields if name not in names}
    )


def to_bytes(value: Any) -> bytes:
    """Serialize a JSON value as compact UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _to_hashed(value: Any) -> bytes:
    """Serialize a JSON value in one way, whatever the order of its fields is."""
    return json.dumps(value, sort_keys=True).encode()


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
