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
from swecli.llm.native import without_fields
from swecli.llm.prefix import PrefixHash
from swecli.llm.price_table import prepare_environment
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.llm.thinking import nearest_level
from swecli.models import api_message
from swecli.models.errors import AuthFailed, ProviderError, Unavailable
from swecli.models.message import ApiMessage, ModelRequest

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


class LiteLLMModel(OpenAIChat):
    """A model behind litellm, in the format of OpenAI's chat completions."""

    warm = staticmethod(load_litellm)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the arguments of litellm's call without the key."""
        return super().body(request) | {"model": f"{self.endpoint.provider}/{self.endpoint.model}"}

    async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        """Call litellm and read its stream into `answer`. Raises ProviderError and litellm's errors."""
        endpoint = self.endpoint
        # in a thread: the import must not block the screen
        litellm = await asyncio.to_thread(load_litellm)
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

    def to_provider_error(self, error: Exception, *, answering: bool) -> ProviderError:
        endpoint = self.endpoint
        chain = errors.exception_chain(error)
        names = {kind.__name__ for link in chain for kind in type(link).__mro__}
        status, headers, text = _response_of(chain)
        text = endpoint.mask(text)
        if status is not None:
            return errors.error_for_response(status, headers, text, endpoint)
        transports = [link for link in chain if _is_transport(link)]
        if transports or any(isinstance(link, OSError) for link in chain):
            cause = (transports or chain)[0]
            failed = errors.error_for_transport(cause, endpoint, answering=answering)
            if isinstance(failed, Unavailable) and "RemoteProtocolError" in names and not answering:
                failed.tries = 1  # litellm has retried it already
            return failed
        words = errors.parse_error_body(text).words or type(chain[0]).__name__
        if "AuthenticationError" in names:
            hint = f"Set the variables this provider needs, usually {endpoint.key_name}."
            if not endpoint.has_own_key_name:
                hint = f"litellm's page on {endpoint.provider} says which login it needs."
            return AuthFailed(f"{endpoint.name} cannot be used: {words}", hint)
        missing_module = next((link.name for link in chain if isinstance(link, ImportError)), None)
        if missing_module:
            hint = "litellm needs it for this service: install it beside swecli, or choose another model with -m."
            return ProviderError(
                f"{endpoint.name} cannot be used: {missing_module} is not installed.", hint
            )
        if answering or "JSONDecodeError" in names:
            return errors.error_in_answer(words, endpoint)
        return ProviderError(
            f"{endpoint.name} could not be used: {words}", "Check the name and its settings."
        )

    def refusal_text(self, error: Exception) -> str:
        return _response_of(errors.exception_chain(error))[2]

    def other_wire(self, status: int | None, words: str) -> str:
        has_native = self.endpoint.provider == "azure" and self.endpoint.has_key
        return super().other_wire(status, words) if has_native else ""

    def prefix_hash(self, body: Mapping[str, Any]) -> str:
        if self.profile.think_back != "bound":
            return ""
        beginning = PrefixHash(body.get("tools"))
        beginning.add(body["messages"])
        return beginning.digest

    def _messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        """Convert messages; thoughts bound to their prefix are sent only while that prefix is unchanged."""
        if self.profile.think_back != "bound":
            return super()._messages(request)
        tools = [spec.to_api() for spec in request.tools]
        beginning = PrefixHash(without_fields(tools, self.profile.off) if tools else None)
        messages = []
        for message in request.messages:
            blocks = api_message.blocks_of(message)
            if blocks and blocks.get("prefix") != beginning.digest:
                message = api_message.without_fields(message, api_message.BLOCKS)
            converted = self._message(message)
            beginning.add([converted])
            messages.append(converted)
        return messages

    def thinking_fields(self, level: str, limit: int) -> dict[str, Any]:
        effort = "reasoning_effort"  # litellm translates it
        level = nearest_level(self.profile.levels, level)
        return {effort: level} if level and self.profile.thinking != "none" else {}

    def _message(self, message: ApiMessage) -> dict[str, Any]:
        converted = super()._message(message)
        if self.endpoint.provider in _GOOGLE:  # keep the ids: they contain signatures
            fields: Mapping[str, Any] = message
            for name in ("tool_calls", "tool_call_id"):
                if name in fields:
                    converted[name] = fields[name]
        return converted


class LiteLLMResponses(LiteLLMModel):
    """A model that litellm asks over OpenAI's Responses: its thoughts come back encrypted, for the next request."""

    def request_fields(self, request: ModelRequest, limit: int) -> dict[str, Any]:
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

    def parse_and_collect(chunk: dict[str, Any]) -> Any:
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
