"""Map HTTP statuses, error bodies and transport failures to ProviderError classes with a hint for the user."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    Unavailable,
)
from swecli.text import sanitize, truncate

CUT_TRIES, EMPTY_TRIES = 3, 2
_LONGEST = 300
_TRANSIENT_STATUSES = (408, 409, 425)
_OVERFLOW = re.compile(
    r"context[_ ]?(length|window|size|limit)|(prompt|input|string) (is )?too long|too many tokens|request_too_large|"
    r"maximum (number of tokens|(model|prompt|input) length)|range of input length|reduce the length|超长|"
    r"exceed\w* (the |model('s)? |max(imum)? |allowed |configured )*(input|token|length|limit of \d)|"
    r"max_(model|seq)_len|n_ctx|max_new_tokens`? must be",
    re.IGNORECASE,
)
_LIMITS = (
    re.compile(
        r"(?:maximum (?:allowed )?(?:context|input|model|prompt) length (?:is |of )?|(?:\d \+ \d+|tokens) > ?|"
        r"max_model_len\D{0,40}|max_new_tokens`? must be <= |max_seq_len \(|n_ctx\D{0,3}|tokens allowed \(?|"
        r"limit (?:of|is) |(?:token limit|max size): |input length should be \[\d+, ?)(\d+)",
        re.IGNORECASE,
    ),
    # behind "exceeds" or "by" is the excess or an error code
    re.compile(
        r"(?:context (?:window|limit|size|length)(?:(?!exceed|\bby\b|n_keep)\D){0,20}|(?=\d+ maximum context))(\d{4,})",
        re.IGNORECASE,
    ),
)
# number formats: 8,192 or 8_192 or 8.192, and 8k
_GROUPS = re.compile(r"(?<=\d)[,._'\u00a0\u202f](?=\d{3}(?!\d))")
_THOUSANDS = re.compile(r"(?<=\d)k\b", re.IGNORECASE)
_RETRY_DELAY = re.compile(
    r'(?:retry_?delay"?\s*:\s*"?|(?:try again|retry) (?:in|after) )(?:(\d+)h)?(?:(\d+)m)?(\d+(?:\.\d+)?) ?s',
    re.IGNORECASE,
)
_RESET_TIME = re.compile(
    r'x-ratelimit-reset"?\s*:\s*"?(\d{10})', re.IGNORECASE
)  # OpenRouter, in ms since 1970
_NO_MONEY = re.compile(
    r"insufficient[_ ](\w+[_ ])?(quota|balance|credits?|funds)|exceeded_current_quota|"
    r"credit balance is too low|余额不足",
    re.IGNORECASE,
)
_WITHHELD = "content_filter"  # Azure's code for a request that its filter has stopped
_HTML_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL)
# the status that an error object's type stands for, when it arrives inside a stream
_STATUSES = {
    "overloaded_error": 529, "rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 402,
    "api_error": 500, "server_error": 500, "timeout_error": 504, "billing_error": 402, "authentication_error": 401,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "invalid_prompt": 400,
}  # fmt: skip


def _error_for_status(
    status: int, words: str, wait: float | None, endpoint: Endpoint
) -> ProviderError:
    """Return the error for an HTTP status, the service's message and its Retry-After in seconds."""
    at, tail, other = (
        endpoint.address,
        f": {words}" if words else ".",
        "or choose another model with -m.",
    )
    if status == 402 or _NO_MONEY.search(words):
        hint = f"Add credit there, {other}"
        return ProviderError(
            f"{at} reports that the account has no credit left ({status}){tail}",
            hint,
            status=status,
        )
    if _WITHHELD in words:  # of the request, before there is an answer
        return ProviderError(
            f"{at} withheld the answer ({status}){tail}", "Rephrase the request.", status=status
        )
    if status == 407:
        hint = "Put its user and password into HTTPS_PROXY (http://user:password@host:port)."
        words = f"The proxy between here and {at} wants a login ({status}){tail}"
        return ProviderError(words, hint, status=status)
    if status in (401, 403) or (status == 400 and re.search("api[_ ]key", words, re.IGNORECASE)):
        if status == 403:
            hint = f"Its words say whether this is about the key, the model or the request: change that, {other}"
            does = "does not allow this with"
        else:
            hint = f"Set {endpoint.key_name} to a valid key, {other}"
            does = "refused"
        if not endpoint.has_own_key_name:
            return AuthFailed(
                f"{at} {does} the login that litellm uses ({status}){tail}",
                f"litellm's page on {endpoint.provider} says which login it needs.",
                status=status,
            )
        return AuthFailed(
            f"{at} {does} the key in {endpoint.key_name} ({status}){tail}", hint, status=status
        )
    if status == 404:
        near = endpoint.similar_models()
        hint = f"{near} Check the name after -m, and the address if you set one; {at} is what was asked.".lstrip()
        return ModelNotFound(
            f"{at} does not know the model {endpoint.model} (404){tail}", hint, status=404
        )
    if status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(words)):
        return _context_overflow(words, endpoint, status)
    if (
        status == 429 and "request too large" in words.lower()
    ):  # above the per-minute limit even alone
        hint = f"Make the window smaller (/window), {other}"
        return ProviderError(
            f"{at} never accepts a request of this size (429){tail}", hint, status=status
        )
    if status == 429:
        hint = f"Wait {f'{wait:.0f} s' if wait else 'a little'} and try again, {other}"
        words = f"{at} has reached its rate limit (429){tail}"
        return Unavailable(words, hint, status=status, retry_after=wait)
    if "tool_use_failed" in words:  # the service could not parse the model's tool call
        return Unavailable(
            f"{at} sent no answer ({status}){tail}", "Try again.", status=status, tries=EMPTY_TRIES
        )
    if status in _TRANSIENT_STATUSES or status >= 500:
        words = f"{at} {'is overloaded' if status in (503, 529) else 'failed'} ({status}){tail}"
        return Unavailable(words, f"Try again later, {other}", status=status, retry_after=wait)
    hint = "Check the address and the model's name and settings; swecli's log has more."
    return ProviderError(f"{at} refused the request ({status}){tail}", hint, status=status)


def error_for_response(
    status: int, headers: Mapping[str, str], text: str, endpoint: Endpoint
) -> ProviderError:
    """Return the error for a non-success response, redirects included; `text` is its body without our key."""
    if 300 <= status < 400:
        target = one_line(endpoint.mask(headers.get("location", ""))) or "another address"
        hint = "Set that address as the base URL if you trust it: a key is never sent on to another host."
        return ProviderError(
            f"{endpoint.address} redirects to {target} ({status}).", hint, status=status
        )
    wait = _retry_after(headers, text)
    error = _error_for_status(status, parse_error_body(text).words, wait, endpoint)
    if isinstance(error, Unavailable) and headers.get("x-should-retry", "").lower() == "false":
        error.tries = 1  # OpenAI and Anthropic say so when another try cannot help
    return error


def error_for_event(
    event: Mapping[str, Any], endpoint: Endpoint, *, is_last: bool = False
) -> ProviderError | None:
    """Return the error for a stream event that is or contains an error object, else None. The last event of a stream
    that broke off is an error also if it only has a message."""
    error = event.get("error") or (
        (event.get("object") == "error" or str(event.get("type")) in _STATUSES) and event
    )
    error = _find_error(event) if is_last else error
    return error_in_answer(error, endpoint) if error else None


def error_in_answer(error: Any, endpoint: Endpoint) -> ProviderError:
    """Return the error for an error object or message inside an answer of good status."""
    inner = error if isinstance(error, dict) else {"message": str(error)}
    words = one_line(endpoint.mask(_with_details(inner, _message(inner) or json.dumps(inner))))
    named = [
        _STATUSES.get(str(inner.get(key)), str(inner.get(key)))
        for key in ("type", "code", "status")
    ]
    status = next((int(one) for one in named if re.fullmatch(r"[45]\d\d", str(one))), 0)
    if status := status or 402 * bool(_NO_MONEY.search(words)):
        return _error_for_status(status, words, _retry_after({}, json.dumps(error)), endpoint)
    if _OVERFLOW.search(words):
        return _context_overflow(words, endpoint, None)
    return Unavailable(
        f"{endpoint.address} ended its answer with an error: {words}", "Try again.", tries=CUT_TRIES
    )


def error_for_transport(
    error: BaseException, endpoint: Endpoint, *, answering: bool
) -> ProviderError:
    """Return the error for a failure below HTTP; `answering` is True if the response had started."""
    at, chain = endpoint.address, exception_chain(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    faults = [link for link in chain if isinstance(link, ssl.SSLError)]
    if faults and not isinstance(
        faults[0], ssl.SSLWantReadError
    ):  # SSLWantReadError: the handshake timed out
        why = one_line(
            str(getattr(faults[0], "verify_message", "") or faults[0].reason or faults[0])
        )
        hint = "For a private authority set SSL_CERT_FILE to its certificate."
        return ProviderError(
            f"The certificate or TLS version of {at} is not accepted: {why}.", hint
        )
    if "DecodingError" in names:
        return Unavailable(
            f"{at} sent a content encoding that cannot be read.", "Try again.", tries=EMPTY_TRIES
        )
    if answering or names & {"ReadError", "RemoteProtocolError"}:
        return Unavailable(f"{at} broke off its answer.", "Try again.", tries=CUT_TRIES)
    if names & {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"} or isinstance(
        error, UnicodeError
    ):
        reason = one_line(endpoint.mask(str(error)))
        hint = f"Check the address, and the key in {endpoint.key_name}."
        return ProviderError(f"{at} cannot be used: {reason}", hint)
    if isinstance(error, OSError) and not isinstance(
        error, ConnectionError
    ):  # unreadable certificate files
        return ProviderError(
            f"The certificates cannot be loaded: {one_line(str(error))}", "Check SSL_CERT_FILE."
        )
    hint = (
        "Is it running, and is the address right?"
        if endpoint.local
        else "Check the network and the address."
    )
    return Unavailable(
        f"{at} cannot be reached ({endpoint.mask(_reason(chain))}).", hint, tries=CUT_TRIES
    )


def _context_overflow(words: str, endpoint: Endpoint, status: int | None) -> ContextOverflow:
    """Return the error for a request above the context window, with the limit if the message names it."""
    plain = _THOUSANDS.sub("000", _GROUPS.sub("", words))
    limit = next((int(found[1]) for pattern in _LIMITS if (found := pattern.search(plain))), None)
    room = f" ({limit:,} tokens)" if limit else ""
    hint = "Make the window smaller (/window), or start a new session (/new)."
    error = ContextOverflow(
        f"The request is longer than {endpoint.name} takes{room}: {words}", hint, status=status
    )
    error.limit = limit
    return error


def _retry_after(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return the seconds of `retry-after-ms` (OpenAI, Azure), of `retry-after` (a number or a date, RFC 9110) or of the
    body, else None."""
    exact = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", exact):
        return float(exact) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    with suppress(ValueError, OverflowError):  # a date out of range
        if then := parsedate_tz(value):
            return max(0.0, mktime_tz(then) - time.time())
    if reset := _RESET_TIME.search(text):
        return max(0.0, int(reset[1]) - time.time())
    found = _RETRY_DELAY.search(text)
    return (
        3600.0 * int(found[1] or 0) + 60.0 * int(found[2] or 0) + float(found[3]) if found else None
    )


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The body of an error response: the service's `words` on one line, the request `field` that its error object names
    ("" for none), and whether it is a web page, which comes from something else than the model's service."""

    words: str
    field: str = ""
    is_page: bool = False


def without_tags(text: str) -> str:
    """Return the text of a web page, cut off at 16 KB; any other text as it is."""
    is_page = text.lstrip("\ufeff \t\r\n").startswith("<")
    return _HTML_TAGS.sub(" ", text[: 1 << 14]) if is_page else text


def parse_error_body(text: str) -> ErrorBody:
    """Parse the body of an error response, or of an error inside an answer."""
    text_of_page = without_tags(text)
    if text_of_page != text:
        return ErrorBody(one_line(text_of_page), is_page=True)
    start = text.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        value = None
    inner = _find_error(value) if isinstance(value, dict) else None
    if isinstance(inner, str) and inner.lstrip().startswith("<"):
        return parse_error_body(inner)
    if not isinstance(inner, dict):
        return ErrorBody(one_line(inner if isinstance(inner, str) else text))
    param = inner.get("param")
    words = one_line(_with_details(inner, _message(inner)))
    return ErrorBody(words, param if isinstance(param, str) else "")


def _find_error(body: Mapping[str, Any]) -> Any:
    """Return the error of a JSON body, usually an object under `error`; None if it has no message."""
    found = next((body[key] for key in ("error", "errors", "base_resp") if body.get(key)), body)
    found = found[0] if isinstance(found, list) else found
    return found if not isinstance(found, dict) or _message(found) else None


def _message(error: Mapping[str, Any]) -> Any:
    """Return the message of an error object, None if it has none."""
    return next(
        (
            error[key]
            for key in ("message", "detail", "error", "msg", "status_msg")
            if error.get(key)
        ),
        None,
    )


def _with_details(error: Mapping[str, Any], message: Any) -> str:
    """Return the message, extended by the error's code, context size and upstream message if it lacks them."""
    code, size = error.get("code"), str(error.get("n_ctx") or "")
    holders = (("metadata", "raw"), ("value", "error_message"))  # the upstream error of a router
    raw = next(
        (
            one[key]
            for name, key in holders
            if isinstance(one := error.get(name), dict) and key in one
        ),
        None,
    )
    words: str = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    code, behind = (
        (code if isinstance(code, str) else ""),
        (parse_error_body(raw).words if isinstance(raw, str) else ""),
    )
    beside = {"" if code.isdigit() else code: code, size: f"context size {size}", behind: behind}
    return words + "".join(
        f" ({shown})" for word, shown in beside.items() if word and word not in words
    )


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Sanitize foreign text: one line, no control characters or tracebacks, truncated."""
    text = text.partition("Traceback (most recent call last)")[0]
    return truncate(" ".join(sanitize(text[: 20 * longest]).split()), longest)


def exception_chain(error: BaseException) -> list[BaseException]:
    """Return an exception and all its causes, contexts and grouped exceptions, each once."""
    chain: list[BaseException] = []
    found: list[Any] = [error]
    for link in found:  # grows meanwhile
        if isinstance(link, BaseException) and link not in chain:
            chain.append(link)
            original = getattr(link, "original_exception", None)  # litellm's
            found += [original, link.__cause__, link.__context__, *getattr(link, "exceptions", ())]
    return chain


def _reason(chain: list[BaseException]) -> str:
    """Describe in a few words why no connection was made."""
    for link in chain:
        if isinstance(link, ConnectionRefusedError):
            return "connection refused"
        if isinstance(link, socket.gaierror):
            return "its name is not looked up" if link.errno == socket.EAI_AGAIN else "no such host"
    timed_out = any("Timeout" in type(link).__name__ for link in chain)
    return "no answer" if timed_out else one_line(str(chain[0])) or type(chain[0]).__name__
