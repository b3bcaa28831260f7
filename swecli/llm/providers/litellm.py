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
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from swecli.llm import errors
from swecli.llm.answer import Answer
from swecli.llm.http import load_httpx
from swecli.llm.price_table import prepare_environment
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.models.errors import AuthFailed, ProviderError, Unavailable
from swecli.models.message import ApiMessage, ModelRequest

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "litellm", "openai", "httpx", "httpcore")
# the time is a backstop only: our own clocks end a wait before; what is not allowed for a service is left out
_ONE_TRY = {"max_retries": 0, "num_retries": 0, "timeout": 900.0, "allowed_openai_params": ["max_retries", "tools"]}
# these put a signature into their call ids that must come back unchanged, and mark every piece as a last one
_GOOGLE = ("gemini", "vertex_ai", "vertex_ai_beta")


def load_litellm() -> Any:
    """The litellm module, silent and local; 2 to 4 s at the first call, so call it behind the prompt."""
    # reads the environment: litellm looks at the process's own while it is imported
    prepare_environment(os.environ)
    load_httpx()
    gc.disable()  # it would look at 2,600 new modules again and again: a second
    try:
        # late: seconds of start-up; one that another thread is loading is waited for
        import litellm  # noqa: PLC0415
    finally:
        gc.enable()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # usage is what the provider counted or unknown; counting here would load tables, or fetch them
    litellm.disable_token_counter = True
    litellm.disable_hf_tokenizer_download = True
    # an answer may well repeat itself (a ruled line, a table); who has enough of it can interrupt
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    # the other transport complains on stderr about sessions nobody can reach to close
    litellm.disable_aiohttp_transport = True
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # about its own use of pydantic: nothing its users could do anything about
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic)(\.|$)")
    return litellm


class LiteLLMModel(OpenAIChat):
    """A model behind litellm, which takes and gives the shapes of OpenAI's chat completions."""

    warm = staticmethod(load_litellm)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The arguments of litellm's call, but for the key."""
        body = super().body(request) | {"model": f"{self.endpoint.provider}/{self.endpoint.model}"}
        own = {"tools": deepcopy(body["tools"])} if "tools" in body else {}  # litellm rewrites schemas in place
        return body | own

    async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
        """Call litellm and read what comes. Raises TooLong, and whatever litellm raises."""
        at = self.endpoint
        # in a thread: where it is not loaded yet, the screen must go on living
        litellm = await asyncio.to_thread(load_litellm)
        answer.request_sent.set()
        headers = dict(at.headers) or None
        stream = await litellm.acompletion(
            **{**_ONE_TRY, "api_key": at.key, "api_base": at.base, "extra_headers": headers, **body}
        )
        async with contextlib.aclosing(stream):
            google = await _google_ending(stream) if at.provider in _GOOGLE else None
            answer.response_started = True
            async for part in stream:
                answer.read(part.model_dump())
                answer.finish_reason = None  # of a piece, which may not be the last one
                answer.data_arrived.set()
        # litellm gives every stream an ending: this is the one that came
        word = getattr(stream, "received_finish_reason", None)
        if word is None and google:
            word = getattr(stream, "intermittent_finish_reason", None)
        answer.finish_reason = None if word is None else str(word)

    def to_provider_error(self, error: Exception, *, answering: bool) -> ProviderError:
        at, chain = self.endpoint, list(errors.exception_chain(error))
        status, headers = _http_status(chain)
        words = errors.one_line(_words(chain))
        names = {kind.__name__ for link in chain for kind in type(link).__mro__}
        if "ContextWindowExceededError" in names:
            return errors.context_overflow(words, at, status)
        if status is not None:
            return self.with_renewed_key(
                errors.error_for_status(status, words, errors.retry_after(headers, str(error)), at)
            )
        transports = [link for link in chain if type(link).__module__.partition(".")[0] in ("httpx", "httpcore", "ssl")]
        if transports or any(isinstance(link, OSError) for link in chain):
            failed = errors.error_for_transport((transports or chain)[0], at, answering=answering)
            if isinstance(failed, Unavailable) and "RemoteProtocolError" in names and not answering:
                failed.tries = 1  # litellm itself has sent it again
            return failed
        if "AuthenticationError" in names:
            hint = f"Set the variables this provider needs, usually {at.key_name}."
            return AuthFailed(f"{at.name} cannot be used: {words}", hint)
        if answering or "JSONDecodeError" in names:
            reason = words or "no reason given"
            words = f"{at.address} ended its answer with an error: {reason}"
            return Unavailable(words, "Try again.", tries=errors.CUT_TRIES)
        words = words or type(chain[0]).__name__
        return ProviderError(f"{at.name} could not be used: {words}", "Check the name and its settings.")

    def _thinking(self, wish: str) -> dict[str, Any]:
        return super()._thinking(wish) if self.profile.thinking != "none" else {}

    def _message(self, message: ApiMessage) -> ApiMessage:
        sent = super()._message(message)
        if self.endpoint.provider in _GOOGLE:  # its ids go back as they came
            sent |= {name: message[name] for name in ("tool_calls", "tool_call_id") if name in message}
        return sent


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


def _http_status(chain: list[BaseException]) -> tuple[int | None, Mapping[str, str]]:
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
        if "{" in text and (found := errors.parse_error_body(text)[0]) and found != errors.one_line(text):
            return found
    text = next((str(link) for link in chain if type(link).__name__ != "MidStreamFallbackError"), str(chain[0]))
    # litellm puts its own class names before the words, each with a colon or a dash
    text = re.sub(r"^(?:(?:litellm\.)?\w*(?:Error|Exception)(?::| -|\.)\s*)+", "", text)
    return re.sub(r"\.? Handle with `litellm\.\w+`\.?$", "", text)
