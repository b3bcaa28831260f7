"""What went wrong below, in our own words: every exception of litellm and its transports as one of ours."""

from __future__ import annotations

import ast
import json
import re
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.models.errors import AuthFailed, ContextOverflow, ModelNotFound, ProviderError, RateLimited, Unavailable

_LONGEST = 300
_PASSING = (408, 409, 425)
_OVERFLOW = re.compile(
    r"maximum context length|context[_ ](length|window|size|limit)|prompt is too long|too many tokens|"
    r"input (is )?too long|maximum number of tokens|exceeds? the (model's )?(maximum )?(input|token)|request_too_large",
    re.IGNORECASE,
)
_LIMITS = (
    re.compile(r"maximum (?:context|input) length (?:is|of) (\d+)", re.IGNORECASE),
    re.compile(r"> ?(\d+) maximum", re.IGNORECASE),
    re.compile(r"available context size \((\d+)", re.IGNORECASE),
    re.compile(r"maximum number of tokens allowed \(?(\d+)", re.IGNORECASE),
    re.compile(r"context (?:window|limit|size|length)\D{0,20}(\d{4,})", re.IGNORECASE),
)
_RETRY_DELAY = re.compile(r'"?retry_?delay"?\s*:\s*"?(\d+(?:\.\d+)?)s', re.IGNORECASE)
_NO_MONEY = ("insufficient_quota", "insufficient balance", "credit balance is too low", "insufficient credits")
_UNREACHED = (
    "ConnectError",
    "ConnectTimeout",
    "ClientConnectorError",
    "UnsupportedProtocol",
    "InvalidURL",
    "ProxyError",
)
_CUT = ("ReadError", "WriteError", "RemoteProtocolError", "ClientPayloadError", "ServerDisconnectedError")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


def translate(error: Exception, endpoint: Endpoint, *, began: bool = False) -> ProviderError:
    """One of our errors, with a line that names what is wrong and a hint that says what to do.

    `began` says that the service had taken the request: what fails then may pass the next time.
    """
    if isinstance(error, ProviderError):
        return error
    chain = list(_chain(error))
    status, headers = _http(chain)
    said = one_line(_said(chain))
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    if "ContextWindowExceededError" in names:
        return _overflow(said, endpoint, status)
    if status is not None:
        return by_status(status, said, retry_after(headers, str(error)), endpoint)
    return _without_status(chain, names, said, endpoint, began)


def by_status(status: int, said: str, wait: float | None, endpoint: Endpoint) -> ProviderError:
    """The error for an HTTP status, the words that came with it, and the seconds it asked us to wait."""
    at, words = endpoint.address, f": {said}" if said else "."
    broke = status == 402 or any(mark in said.lower() for mark in _NO_MONEY)
    if status in (401, 403) and not broke:
        verb = "refused the key in" if status == 401 else "does not allow this with the key in"
        hint = f"Put a valid key into {endpoint.key_name}, or choose another model with -m."
        return AuthFailed(f"{at} {verb} {endpoint.key_name} ({status}){words}", hint, status=status)
    if broke:
        hint = "Add credit there, or choose another model with -m."
        return ProviderError(f"{at} says the account has no credit left ({status}){words}", hint, status=status)
    if status == 404:
        hint = f"Check the name after -m, and the address if you set one; {at} is what was asked."
        return ModelNotFound(f"{at} does not know the model {endpoint.model} (404){words}", hint, status=404)
    if status == 413 or (status in (400, 422) and _OVERFLOW.search(said)):
        return _overflow(said, endpoint, status)
    if status == 429 or status in _PASSING or status >= 500:
        return _passing(status, said, wait, endpoint)
    hint = "Check the model's name and settings; swecli's log has more."
    return ProviderError(f"{at} refused the request ({status}){words}", hint, status=status)


def _passing(status: int, said: str, wait: float | None, endpoint: Endpoint) -> Unavailable:
    at, words = endpoint.address, f": {said}" if said else "."
    if status == 429:
        later = f"Wait {wait:g} s" if wait else "Wait a little"
        hint = f"{later} and try again, or choose another model with -m."
        return RateLimited(f"{at} takes no more requests for now (429){words}", hint, retry_after=wait)
    kind = "is overloaded" if status in (503, 529) else "failed"
    hint = "Try again later, or choose another model with -m."
    if wait is not None:
        return RateLimited(f"{at} {kind} ({status}){words}", hint, status=status, retry_after=wait)
    return Unavailable(f"{at} {kind} ({status}){words}", hint, status=status)


def _without_status(
    chain: list[BaseException], names: set[str], said: str, endpoint: Endpoint, began: bool
) -> ProviderError:
    """The error for a failure that came without an HTTP answer."""
    at = endpoint.address
    if names.intersection(_UNREACHED) or any(isinstance(e, ConnectionRefusedError | socket.gaierror) for e in chain):
        hint = "Is it running, and is the address right?" if endpoint.local else "Check the network and the address."
        return Unavailable(f"{at} cannot be reached ({_reason(chain)}).", hint)
    if names.intersection(_CUT) or any(isinstance(e, ConnectionError) for e in chain):
        return Unavailable(f"{at} broke off its answer.", "Try again.")
    if names.intersection(("Timeout", "TimeoutException", "APITimeoutError", "TimeoutError")):
        return Unavailable(f"{at} did not answer in time.", "Try again, or another model with -m.")
    if names.intersection(("JSONDecodeError", "UnicodeDecodeError")):
        return Unavailable(f"{at} sent something that is no answer.", "Is the address that of a model's service?")
    if "LLM Provider NOT provided" in said or "LiteLLMUnknownProvider" in names:
        return ModelNotFound(f"There is no provider {endpoint.provider!r}.", "Write the model as provider/name.")
    if "AuthenticationError" in names:
        hint = f"Set the variables this provider needs, usually {endpoint.key_name}."
        return AuthFailed(f"{endpoint.name} cannot be used: {said}", hint)
    if "ImportError" in names:
        return ProviderError(f"{endpoint.name} needs a package that is not installed: {said}")
    if began:
        return Unavailable(f"{at} ended its answer with an error: {said or 'no reason given'}", "Try again.")
    words = said or type(chain[0]).__name__
    return ProviderError(f"{endpoint.name} could not be asked: {words}", "Check the name and its settings.")


def _overflow(said: str, endpoint: Endpoint, status: int | None) -> ContextOverflow:
    limit = next((int(found[1]) for pattern in _LIMITS if (found := pattern.search(said.replace(",", "")))), None)
    room = f" ({limit:,} tokens)" if limit else ""
    hint = "Make the window smaller (/window), or start a new session (/new)."
    error = ContextOverflow(f"The request is longer than {endpoint.name} takes{room}: {said}", hint, status=status)
    error.limit = limit
    return error


def retry_after(headers: Mapping[str, str], said: str = "", now: datetime | None = None) -> float | None:
    """Seconds to wait, out of `retry-after-ms`, `retry-after` (seconds or a date) or the message; None if not said."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) * scale
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError):
        found = _RETRY_DELAY.search(said)
        return float(found[1]) if found else None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


def one_line(text: str) -> str:
    """Foreign words on one line, without control characters and tracebacks, cut to a readable length."""
    text = text.partition("Traceback (most recent call last)")[0]
    text = " ".join(_CONTROL.sub(" ", text).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it was made from, each once."""
    todo: list[BaseException | None] = [error]
    seen: set[int] = set()
    while todo:
        link = todo.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        original = getattr(link, "original_exception", None)
        todo += [original if isinstance(original, BaseException) else None, link.__cause__, link.__context__]


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


def _said(chain: list[BaseException]) -> str:
    """The service's own words."""
    for link in chain:
        body = getattr(link, "body", None)
        if isinstance(body, dict) and isinstance(body.get("message"), str):
            return _with_code(body)
    for link in chain:
        if found := _embedded(str(link)):
            return found
    # this one repeats what it wraps, with class names in between
    text = next((str(link) for link in chain if type(link).__name__ != "MidStreamFallbackError"), str(chain[0]))
    # litellm puts its own class names before the words, each with a colon or a dash
    text = re.sub(r"^(?:(?:litellm\.)?\w*(?:Error|Exception)(?::| -|\.)\s*)+", "", text)
    return re.sub(r"\.? Handle with `litellm\.\w+`\.?$", "", text)


def _with_code(body: Mapping[str, Any]) -> str:
    """The message, with its code where the message does not say it."""
    message, code = str(body["message"]), body.get("code")
    return f"{message} ({code})" if isinstance(code, str) and code not in message else message


def _embedded(text: str) -> str:
    """The message inside an error object that stands in a text, as JSON or as Python shows bytes; "" for none."""
    for raw in re.findall(r"b(?:'.*'|\".*\")", text, re.DOTALL):
        try:
            text = text.replace(raw, ast.literal_eval(raw).decode("utf-8", "replace"))
        except (ValueError, SyntaxError, AttributeError):
            continue
    start = text.find("{")
    if start < 0:
        return ""
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return ""
    inner = value.get("error", value) if isinstance(value, dict) else None
    if isinstance(inner, dict) and isinstance(inner.get("message"), str):
        return _with_code(inner)
    return inner if isinstance(inner, str) else ""


def _reason(chain: list[BaseException]) -> str:
    """Why no connection came about, in a few words."""
    for link in chain:
        if isinstance(link, ConnectionRefusedError):
            return "connection refused"
        if isinstance(link, socket.gaierror):
            return "no such host"
    timed_out = any("Timeout" in type(link).__name__ for link in chain)
    return "no answer" if timed_out else one_line(str(chain[-1])) or type(chain[-1]).__name__
