"""The fallback wire: litellm, for services without a native wire. Only this module imports it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import Answer
from swecli.llm.price_table import prepare_environment
from swecli.llm.profile import WireName
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.models.errors import AuthFailed, ProviderError, Unavailable
from swecli.models.json_value import JsonMapping, JsonObject
from swecli.models.message import ModelRequest

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "litellm", "openai", "httpx", "httpcore")
# no retries: ours are counted. Our own timeouts end a wait earlier.
_CALL_SETTINGS = {
    "max_retries": 0,
    "num_retries": 0,
    "timeout": 900.0,
    "allowed_openai_params": ["max_retries", "tools"],
}
# the service keeps nothing of the conversation; litellm leaves out what a service does not know
_NOT_STORED = {"store": False, "include": ["reasoning.encrypted_content"], "drop_params": True}
# the names of litellm's classes, with which its messages begin
_CLASS_NAMES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception)(?:: | - ))+")
# their call ids contain a signature that must be sent back unchanged, and each chunk has a finish reason
_GOOGLE = ("gemini", "vertex_ai", "vertex_ai_beta")


def load_litellm() -> Any:
    """Import and configure litellm: no output, no network. The first call takes 2 to 4 s: run it in background."""
    # reads the environment: litellm does while it is imported
    prepare_environment(os.environ)
    gc.disable()  # saves a second while 2,600 modules are loaded
    try:
        # late: takes seconds; the import lock waits for another thread that is loading it
        import litellm
    finally:
        gc.freeze()  # the next collection would stop all threads for a third of a second
        gc.enable()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # otherwise OPENAI_API_KEY would be sent to any service whose own key is not set
    litellm.openai_key = "none"
    # usage is reported by the provider or unknown; counting it here would load or download tables
    litellm.disable_token_counter = True
    litellm.disable_hf_tokenizer_download = True
    # repetition is legitimate (rules, tables), and the user can interrupt
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    # aiohttp warns on stderr about sessions that cannot be closed
    litellm.disable_aiohttp_transport = True
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # about its own use of pydantic
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic)(\.|$)")
    return litellm


class LiteLLM(OpenAIChat):
    """A model behind litellm, in the format of OpenAI's chat completions."""

    dialect = "litellm"
    warm = staticmethod(load_litellm)

    def body(self, request: ModelRequest) -> JsonObject:
        """Return the arguments of litellm's call without the key."""
        return super().body(request) | {"model": f"{self.endpoint.provider}/{self.endpoint.model}"}

    async def exchange(self, body: JsonMapping, answer: Answer) -> None:
        """Call litellm and read its stream into `answer`. Raises Refusal and ProviderError."""
        # in a thread: the import must not block the screen
        litellm = await asyncio.to_thread(load_litellm)
        try:
            await self._call(litellm, body, answer)
        except Exception as error:  # all of litellm's, and of the clients below it
            raise self.to_error(error, answering=answer.response_started) from error

    async def _call(self, litellm: Any, body: JsonMapping, answer: Answer) -> None:
        endpoint = self.endpoint
        answer.request_sent.set()
        headers = dict(endpoint.headers) or None
        stream = await litellm.acompletion(
            # it modifies schemas in place: those of the body are copies
            **{
                **_CALL_SETTINGS,
                "api_key": endpoint.key,
                "api_base": endpoint.base_url,
                "extra_headers": headers,
                **body,
            }
        )
        if "stream" not in body:
            answer.read_complete(stream.model_dump())
            return
        async with contextlib.aclosing(stream):
            google_reasons: list[str | None] = []
            if endpoint.provider in _GOOGLE:
                google_reasons = await _collect_google_reasons(stream)
            answer.response_started = True
            async for part in stream:
                answer.read(part.model_dump())
                answer.finish_reason = None  # a chunk's value is not final
                answer.data_arrived.set()
        # litellm adds a finish reason to every stream; this is the received one
        finish_reason = getattr(stream, "received_finish_reason", None)
        if finish_reason is None and google_reasons:
            finish_reason = getattr(stream, "intermittent_finish_reason", None)
            finish_reason = finish_reason or google_reasons[-1]
        answer.finish_reason = None if finish_reason is None else str(finish_reason).lower()

    def to_error(self, error: Exception, *, answering: bool) -> ProviderError | errors.Refusal:
        """Return what an exception of litellm's stands for; `answering` is True if the response had started."""
        endpoint = self.endpoint
        chain = errors.exception_chain(error)
        names = {kind.__name__ for link in chain for kind in type(link).__mro__}
        status, headers, text = _response_of(chain)
        text = endpoint.mask(text)
        if status is not None:
            refusal = errors.Refusal(status, headers, text, endpoint)
            return refusal.error if answering else refusal
        transports = [link for link in chain if _is_transport(link)]
        if transports or any(isinstance(link, OSError) for link in chain):
            cause = (transports or chain)[0]
            failed = errors.error_for_transport(cause, endpoint, answering=answering)
            if isinstance(failed, Unavailable) and "RemoteProtocolError" in names and not answering:
                failed.tries = 1  # litellm has retried it already
            return failed
        words = errors.parse_error_body(text).words or type(chain[0]).__name__
        problem = f"{endpoint.name} cannot be used: "
        if "AuthenticationError" in names:
            hint = f"Set the variables this provider needs, usually {endpoint.key_name}."
            if not endpoint.has_own_key_name:
                hint = f"litellm's page on {endpoint.provider} says which login it needs."
            return AuthFailed(f"{problem}{words}", hint)
        missing_module = next((link.name for link in chain if isinstance(link, ImportError)), None)
        if missing_module:
            hint = "litellm needs it for this service: install it beside swecli, or choose another model with -m."
            return ProviderError(f"{problem}{missing_module} is not installed.", hint)
        if answering or "JSONDecodeError" in names:
            return errors.error_in_answer(words, endpoint)
        return ProviderError(f"{problem}{words}", "Check the name and its settings.")

    def other_wire(self, status: int | None, words: str) -> WireName | None:
        has_native = self.endpoint.provider == "azure" and self.endpoint.has_key
        return super().other_wire(status, words) if has_native else None

    def _call_id(self, call_id: str) -> str:
        # Google's contain signatures
        return call_id if self.endpoint.provider in _GOOGLE else super()._call_id(call_id)


class LiteLLMResponses(LiteLLM):
    """A model that litellm asks over OpenAI's Responses: its thoughts come back encrypted, for the next request."""

    def request_fields(self, request: ModelRequest, limit: int) -> JsonObject:
        return {**_NOT_STORED, **super().request_fields(request, limit)}


async def _collect_google_reasons(stream: Any) -> list[str | None]:
    """Return a list that grows by the finish reasons of Google's raw chunks while the stream is read; litellm's parsed
    chunks all have one. [None] if the raw ones cannot be seen."""
    reasons: list[str | None] = []
    if getattr(stream, "completion_stream", None) is None:
        await stream.fetch_stream()
    pieces = stream.completion_stream
    parse = getattr(pieces, "chunk_parser", None)
    if parse is None:
        return [None]

    def parse_and_collect(chunk: JsonObject) -> Any:
        for candidate in chunk.get("candidates") or ():
            if candidate.get("finishReason"):
                reasons.append(candidate["finishReason"])
        if (chunk.get("promptFeedback") or {}).get("blockReason"):
            reasons.append("content_filter")
        return parse(chunk)

    pieces.chunk_parser = parse_and_collect
    return reasons


def _is_transport(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("httpx", "httpcore", "ssl")


def _response_of(chain: list[BaseException]) -> tuple[int | None, Mapping[str, str], str]:
    """Return status, headers and text of the service's answer. Without a response, the text is that of the first error
    below litellm's own, and the status is that of its clients; litellm's own status is often invented."""
    for link in chain:
        response = getattr(link, "response", None)
        if type(link).__name__ != "HTTPStatusError" or response is None:
            continue
        if response.is_stream_consumed:
            return int(response.status_code), response.headers, response.text

    below = [link for link in chain if type(link).__module__ != "litellm.exceptions"]
    text = next((str(link) for link in [*below, *reversed(chain)] if str(link)), "")
    known_status: int | None = None
    for link in below:
        status = getattr(link, "status_code", None)
        is_client = type(link).__module__.startswith("litellm.llms.")
        if is_client and isinstance(status, int) and status >= 400 and status != 500:
            known_status = status
            break
    return known_status, {}, _CLASS_NAMES.sub("", text)
