"""The fallback: litellm, kept quiet and kept honest, for services without a wire of our own. Its only import."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import gc
import logging
import os
import re
import sys
import warnings
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from swecli.llm import errors
from swecli.llm.endpoints import Endpoint
from swecli.llm.http import load_httpx
from swecli.llm.keys import with_key
from swecli.llm.native import plain_id
from swecli.llm.price_table import cost_of, prepare_environment
from swecli.llm.profile import Profile
from swecli.llm.providers.openai_chat import effort
from swecli.llm.retry import watched
from swecli.llm.usage import openai_usage
from swecli.models.errors import AuthFailed, ModelNotFound, ProviderError, Unavailable
from swecli.models.message import ApiMessage, CallDelta, ModelChunk, ModelRequest, StopReason

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "litellm", "openai", "httpx", "httpcore")
# the time is a backstop only: our own clocks end a wait before
_ONE_TRY = {"stream_options": {"include_usage": True}, "max_retries": 0, "num_retries": 0, "timeout": 900.0}
_STOPS: dict[str, StopReason] = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
# these put a signature into their call ids that must come back unchanged, and mark every piece as a last one
_GOOGLE = ("gemini", "vertex_ai", "vertex_ai_beta")
_SENT = ("role", "content", "tool_calls", "tool_call_id", "name")


def load_litellm() -> Any:
    """The litellm module, silent and local; 2 to 4 s at the first call, so call it behind the prompt.

    Without the garbage collector, which would look at 2,600 new modules again and again; what was loaded is then
    taken out of its sight for good.
    """
    if "litellm" in sys.modules:
        # late: loaded already, or being loaded in another thread, for which this waits
        import litellm  # noqa: PLC0415

        return _silenced(litellm)
    # reads the environment: litellm looks at the process's own while it is imported
    prepare_environment(os.environ)
    load_httpx()
    collecting = gc.isenabled()
    gc.disable()
    try:
        # late: seconds of start-up
        import litellm  # noqa: PLC0415
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    return _silenced(litellm)


def _silenced(module: Any) -> Any:
    module.suppress_debug_info = True
    module.telemetry = False
    # usage is what the provider counted or unknown; counting here would load tables, or fetch them
    module.disable_token_counter = True
    module.disable_hf_tokenizer_download = True
    # an answer may well repeat itself (a ruled line, a table); who has enough of it can interrupt
    module.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    # the other transport complains on stderr about sessions nobody can reach to close
    module.disable_aiohttp_transport = True
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
    # about its own use of pydantic: nothing its users could do anything about
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic)(\.|$)")
    return module


class LiteLLMModel:
    """A model behind litellm."""

    def __init__(self, endpoint: Endpoint, profile: Profile) -> None:
        self.name, self.endpoint, self.profile = endpoint.name, endpoint, profile

    warm = staticmethod(load_litellm)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece; one attempt. The last chunk carries usage, cost and `stop`.

        Raises:
            ProviderError: one of its kinds, at any point.
        """
        return watched(self._pieces(request), self.endpoint)

    async def _pieces(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        stream = None
        try:
            # in a thread: where it is not loaded yet, the screen must go on living
            litellm = await asyncio.to_thread(load_litellm)
            self.endpoint = await with_key(self.endpoint)
            yield ModelChunk(alive=True)  # from here on the clocks run
            stream = await litellm.acompletion(**self._arguments(request))
            async with contextlib.aclosing(stream):
                async for chunk in self._read(stream):
                    yield chunk
        except ProviderError:
            raise
        except Exception as error:  # noqa: BLE001  # the library raises anything; all of it becomes a line for the user
            translated = _translated(error, self.endpoint, began=stream is not None)
            if translated.status == 401 and self.endpoint.key_command:  # the next request gets a new one
                self.endpoint = replace(self.endpoint, key=None)
            raise translated from error

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        at = self.endpoint
        wish = "" if self.profile.thinking == "none" else request.thinking or at.thinking
        tokens = request.max_tokens or self.profile.reserve(at.max_tokens)
        return {
            "model": f"{at.provider}/{at.model}",
            "messages": [self._message(message) for message in request.messages],
            "stream": True,
            **_ONE_TRY,
            "api_key": at.key,
            "api_base": at.base,
            "extra_headers": dict(at.headers) or None,
            "reasoning_effort": effort(wish, self.profile.efforts) if wish else None,
            "tools": [spec.to_api() for spec in request.tools] or None,
            "max_tokens": min(tokens, self.profile.max_output or tokens),
            **at.extra_body,
        }

    def _message(self, message: ApiMessage) -> ApiMessage:
        sent = {name: message[name] for name in _SENT if name in message}
        if self.endpoint.provider in _GOOGLE:
            return sent
        if "tool_call_id" in sent:
            sent["tool_call_id"] = plain_id(sent["tool_call_id"])
        if sent.get("tool_calls"):
            sent["tool_calls"] = [call | {"id": plain_id(call["id"])} for call in sent["tool_calls"]]
        return sent

    async def _read(self, stream: Any) -> AsyncIterator[ModelChunk]:
        """Our chunks out of litellm's, and at the end the check that it was the end."""
        answered, usage = False, None
        google = await _google_ending(stream) if self.endpoint.provider in _GOOGLE else None
        async for part in stream:
            usage = getattr(part, "usage", None) or usage
            for choice in part.choices[:1]:
                for chunk in _chunks(choice.delta):
                    answered = answered or bool(chunk.text.strip() or chunk.call)
                    yield chunk
        word = getattr(stream, "received_finish_reason", None)
        if word is None and google:
            word = getattr(stream, "intermittent_finish_reason", None)
        counted = openai_usage(usage.model_dump() if usage is not None else None)
        stop = self._stop(word, answered)
        yield ModelChunk(usage=counted, cost=cost_of(counted, self.profile.price) if counted else None, stop=stop)

    def _stop(self, word: Any, answered: bool) -> StopReason:
        """The ending. Raises ProviderError where the answer did not end, or holds nothing."""
        at = self.endpoint.address
        if word is None and answered:
            raise Unavailable(f"{at} cut its answer off.", "Try again.", tries=errors.CUT_TRIES)
        if word is None:
            raise Unavailable(f"{at} sent no answer.", "Try again.", tries=errors.EMPTY_TRIES)
        stop = _STOPS.get(str(word), "stop")
        if answered:
            return stop
        if stop in ("content_filter", "refusal"):
            raise ProviderError(f"{at} withheld the answer (content filter).", "Say it in other words.")
        if stop == "length":
            raise ProviderError(f"{at} used up the answer's length before saying anything.", "Raise max_tokens.")
        raise Unavailable(f"{at} sent an empty answer.", "Try again.", tries=errors.EMPTY_TRIES)


async def _google_ending(stream: Any) -> list[Any]:
    """Fills with the endings that Google's raw pieces name: once litellm has read them, all look like last ones."""
    found: list[Any] = []
    if getattr(stream, "completion_stream", None) is None:
        await stream.fetch_stream()
    pieces = stream.completion_stream
    parse = getattr(pieces, "chunk_parser", None)
    if parse is None:
        return [None]

    def spying(chunk: dict[str, Any]) -> Any:
        found.extend(c["finishReason"] for c in chunk.get("candidates") or () if c.get("finishReason"))
        return parse(chunk)

    pieces.chunk_parser = spying
    return found


def _chunks(delta: Any) -> list[ModelChunk]:
    """What one piece of litellm's holds, nothing for the many empty ones."""
    found = []
    if reasoning := getattr(delta, "reasoning_content", None):
        found.append(ModelChunk(reasoning=reasoning))
    if text := getattr(delta, "content", None):
        found.append(ModelChunk(text=text))
    for call in getattr(delta, "tool_calls", None) or ():
        function = call.function
        piece = CallDelta(call.index or 0, call.id or "", function.name or "", function.arguments or "")
        found.append(ModelChunk(call=piece))
    return found


def _translated(error: Exception, endpoint: Endpoint, *, began: bool) -> ProviderError:
    """One of our errors for whatever litellm raised; `began` says that the service had taken the request."""
    chain = list(errors.chain_of(error))
    status, headers = _http(chain)
    words = errors.one_line(_words(chain))
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    if "ContextWindowExceededError" in names:
        return errors.overflow(words, endpoint, status)
    if status is not None:
        return errors.by_status(status, words, errors.retry_after(headers, str(error)), endpoint)
    if "LLM Provider NOT provided" in words or "LiteLLMUnknownProvider" in names:
        return ModelNotFound(f"There is no provider {endpoint.provider!r}.", "Write the model as provider/name.")
    transports = [link for link in chain if type(link).__module__.partition(".")[0] in ("httpx", "httpcore", "ssl")]
    if transports or any(isinstance(link, OSError) for link in chain):
        return errors.by_transport((transports or chain)[0], endpoint, answering=began)
    if "AuthenticationError" in names:
        hint = f"Set the variables this provider needs, usually {endpoint.key_name}."
        return AuthFailed(f"{endpoint.name} cannot be used: {words}", hint)
    if "ImportError" in names:
        return ProviderError(f"{endpoint.name} needs a package that is not installed: {words}")
    if began or "JSONDecodeError" in names:
        reason = words or "no reason given"
        return Unavailable(f"{endpoint.address} ended its answer with an error: {reason}", "Try again.")
    words = words or type(chain[0]).__name__
    return ProviderError(f"{endpoint.name} could not be asked: {words}", "Check the name and its settings.")


def _http(chain: list[BaseException]) -> tuple[int | None, Mapping[str, str]]:
    """Status and headers of the real HTTP answer, where there was one; litellm's own status is often made up."""
    for link in reversed(chain):
        response = getattr(link, "response", None)
        if type(link).__name__.endswith("HTTPStatusError") and response is not None:
            return int(response.status_code), response.headers
    for link in reversed(chain):
        status = getattr(link, "status_code", None)
        if type(link).__module__.startswith("litellm.llms.") and isinstance(status, int) and status != 500:
            return status, getattr(link, "headers", None) or {}
    return None, {}


def _words(chain: list[BaseException]) -> str:
    """The service's own words, in an error object that stands in a text as JSON or as Python shows bytes."""
    for link in chain:
        text = str(link)
        for raw in re.findall(r"b(?:'.*'|\".*\")", text, re.DOTALL):
            with contextlib.suppress(ValueError, SyntaxError, AttributeError):
                text = text.replace(raw, ast.literal_eval(raw).decode("utf-8", "replace"))
        if "{" in text and (found := errors.words_in(text)) and found != errors.one_line(text):
            return found
    text = next((str(link) for link in chain if type(link).__name__ != "MidStreamFallbackError"), str(chain[0]))
    # litellm puts its own class names before the words, each with a colon or a dash
    text = re.sub(r"^(?:(?:litellm\.)?\w*(?:Error|Exception)(?::| -|\.)\s*)+", "", text)
    return re.sub(r"\.? Handle with `litellm\.\w+`\.?$", "", text)
