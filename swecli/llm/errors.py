"""Map HTTP statuses, error bodies and transport failures to ProviderError classes with a hint for the user."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.llm.http import proxy_for
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    RequestRefused,
    Unavailable,
)
from swecli.redact import redact
from swecli.text import sanitize, truncate
from swecli.values import dataclass

TRIES_IF_BROKEN_OFF = 3  # requests in all, if an answer breaks off
TRIES_IF_EMPTY = 2  # the same if an answer is empty
_MAX_TEXT = 300  # characters of foreign text in an error
_TRANSIENT_STATUSES = (408, 409, 425)
_OVERLOAD_STATUSES = (429, 503, 529)
_OVERFLOW_STATUSES = (400, 422, 500)
_OR_OTHER_MODEL = "or choose another model with -m."
# Patterns are texts: compiling them takes 3 ms, which only a failed request needs.
_OVERFLOW_WORDS = (
    r"(?i)context[_ ]?(length|window|size|limit)|(prompt|input|string) (is )?too long|too many tokens|"
    r"request_too_large|"
    r"maximum (number of tokens|(model|prompt|input) length)|range of input length|reduce the length|超长|"
    r"exceed\w* (the |model('s)? |max(imum)? |allowed |configured )*(input|token|length|limit of \d)|"
    r"max_(model|seq)_len|n_ctx|max_new_tokens`? must be"
)
_LIMIT_PATTERNS = (
    (
        r"(?i)(?:maximum (?:allowed )?(?:context|input|model|prompt) length (?:is |of )?|(?:\d \+ \d+|tokens) > ?|"
        r"max_model_len\D{0,40}|max_new_tokens`? must be <= |max_seq_len \(|n_ctx\D{0,3}|tokens allowed \(?|"
        r"limit (?:of|is) |(?:token limit|max size): |input length should be \[\d+, ?)(\d+)"
    ),
    # behind "exceeds" or "by" is the excess or an error code
    r"(?i)(?:context (?:window|limit|size|length)(?:(?!exceed|\bby\b|n_keep)\D){0,20}|(?=\d+ maximum context))(\d{4,})",
)
# number formats: 8,192 or 8_192 or 8.192, and 8k
_GROUPS = r"(?<=\d)[,._'\u00a0\u202f](?=\d{3}(?!\d))"
_THOUSANDS = r"(?i)(?<=\d)k\b"
_RETRY_DELAY = (
    r'(?i)(?:retry_?delay"?\s*:\s*"?|(?:try again|retry|resets?) (?:in|after) )'
    r"(?=\d)(?:(?P<days>\d+) ?d[a-z]*,? ?)?(?:(?P<hours>\d+) ?h[a-z]*,? ?)?(?:(?P<minutes>\d+) ?m(?!s)[a-z]*,? ?)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?) ?s)?"
)
_SECONDS_FIELD = r'"(?:resets?_in_seconds|resets?_after_seconds|retry_after(?:_seconds)?)"\s*:\s*"?(\d+(?:\.\d+)?)'
_RESET_FIELD = r'"resets?_at"\s*:\s*"?(\d{10})'  # seconds since 1970
# limits that no wait of a minute ends: of a day, of a plan, of a budget
_LONG_LIMIT = (
    r"(?i)per[- ]day|budget_?[ -]?exceeded|exceeded ?(your |the )?budget|usage_limit_reached|usage_not_included|"
    r"extra usage is required"
)
# OpenRouter's, in milliseconds since 1970: the first ten digits are the seconds
_RESET_TIME = r'(?i)x-ratelimit-reset"?\s*:\s*"?(\d{10})'
_NO_CREDIT = (
    r"(?i)insufficient[_ ](\w+[_ ])?(quota|balance|credits?|funds)|exceeded_current_quota|"
    r"credit balance is too low|余额不足"
)
_FILTERED_CODE = "content_filter"  # Azure's code for a request that its filter has stopped
_HTML_TAGS = r"(?is)<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>"
# the status that an error object's type stands for, when it arrives inside a stream
_STATUS_BY_TYPE = {
    "overloaded_error": 529, "rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 402,
    "api_error": 500, "server_error": 500, "timeout_error": 504, "billing_error": 402, "authentication_error": 401,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "invalid_prompt": 400,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _FailedRequest:
    """An error status, with the service's words on one line and its Retry-After in seconds."""

    status: int
    words: str
    wait: float | None
    endpoint: Endpoint
    is_page: bool = False  # the words are those of a web page

    def to_error(self) -> ProviderError:
        """Return the error for it."""
        error = self._account_error() or self._request_error() or self._service_error()
        if error is not None:
            return error
        hint = "Check the address and the model's name and settings; swecli's log has more."
        return RequestRefused(self._sentence("refused the request"), hint, status=self.status)

    def _sentence(self, predicate: str) -> str:
        end = f": {self.words}" if self.words else "."
        return f"{self.endpoint.address} {predicate} ({self.status}){end}"

    def _permanent(self, predicate: str, hint: str) -> ProviderError:
        return ProviderError(self._sentence(predicate), hint, status=self.status)

    def _account_error(self) -> ProviderError | None:
        """Return the error if it is about credit, the login or the network's own login."""
        if self.status == 402 or re.search(_NO_CREDIT, self.words):
            return self._permanent(
                "reports that the account has no credit left",
                f"Add credit there, {_OR_OTHER_MODEL}",
            )
        if _FILTERED_CODE in self.words:  # of the request, before there is an answer
            return self._permanent("withheld the answer", "Rephrase the request.")
        if self.status == 407:
            end = f": {self.words}" if self.words else "."
            address = self.endpoint.address
            variables = " and ".join(_proxy_variables(address)) or "HTTPS_PROXY"
            return ProviderError(
                f"The proxy between here and {address} wants a login (407){end}",
                f"Put its user and password into {variables} (http://user:password@host:port).",
                status=407,
            )
        is_about_key = self.status == 400 and re.search("api[_ ]key", self.words, re.IGNORECASE)
        if self.status in (401, 403) or is_about_key:
            return self._login_error()
        return None

    def _login_error(self) -> AuthFailed:
        key = self.endpoint.key_name
        verb = "refused"
        hint = f"Set {key} to a valid key, {_OR_OTHER_MODEL}"
        if self.endpoint.key_command:  # which /connect writes: who has used that knows no setting
            hint = f"Give another key with /connect in a session, correct key_command, {_OR_OTHER_MODEL}"
        if self.status == 403:
            verb = "does not allow this with"
            hint = "Its words say whether this is about the key, the model or the request: change that, "
            hint += _OR_OTHER_MODEL
        login = f"the key in {key}"
        if self.endpoint.is_keyless:
            login = "a request without a key"
            hint = f"None is set for this address: {self.endpoint.key_ways}."
        if not self.endpoint.has_own_key_name:
            login = "the login that litellm uses"
            hint = f"litellm's page on {self.endpoint.provider} says which login it needs."
        return AuthFailed(self._sentence(f"{verb} {login}"), hint, status=self.status)

    def _request_error(self) -> ProviderError | None:
        """Return the error if it is about the model's name or the request's size."""
        endpoint = self.endpoint
        is_nothing_there = endpoint.base_url is not None and not is_about_model(
            self.words, endpoint
        )
        if self.status == 404 and is_nothing_there:
            hint = (
                "Check the base URL: most end in /v1. The path of the protocol is appended to it."
            )
            return self._permanent("has nothing at the path that was asked", hint)
        if self.status == 404:
            advice = f"Check the name after -m, and the address if you set one; {endpoint.address} is what was asked."
            hint = f"{endpoint.similar_models()} {advice}".lstrip()
            words = self._sentence(f"does not know the model {endpoint.model}")
            return ModelNotFound(words, hint, status=404)
        is_overflow = self.status in _OVERFLOW_STATUSES and re.search(_OVERFLOW_WORDS, self.words)
        if self.status == 413 and (self.is_page or not self.words):
            hint = "A server before the service limits its bytes: raise that, or start a new session (/new)."
            return self._permanent("takes no request of this size", hint)
        if self.status == 413 or is_overflow:
            return _context_overflow(self.words, endpoint, self.status)
        # above the limit of a minute even alone
        if self.status == 429 and "request too large" in self.words.lower():
            hint = f"Make the window smaller (/window), {_OR_OTHER_MODEL}"
            return self._permanent("never accepts a request of this size", hint)
        return None

    def _service_error(self) -> Unavailable | None:
        """Return the error if the same request may succeed later."""
        if self.status == 429:
            pause = in_hours(self.wait) if self.wait else "a little"
            hint = f"Wait {pause} and try again, {_OR_OTHER_MODEL}"
            limited = self._temporary("has reached its rate limit", hint)
            if re.search(_LONG_LIMIT, self.words):
                limited.tries = 1
                if not self.wait:
                    limited.hint = f"Wait for the next day, raise the limit, {_OR_OTHER_MODEL}"
            return limited
        if "tool_use_failed" in self.words:  # the service could not parse the model's tool call
            return Unavailable(
                self._sentence("sent no answer"),
                "Try again.",
                status=self.status,
                tries=TRIES_IF_EMPTY,
            )
        if self.status in _TRANSIENT_STATUSES or self.status >= 500:
            verb = "is overloaded" if self.status in _OVERLOAD_STATUSES else "failed"
            return self._temporary(verb, f"Try again later, {_OR_OTHER_MODEL}")
        return None

    def _temporary(self, predicate: str, hint: str) -> Unavailable:
        return Unavailable(
            self._sentence(predicate),
            hint,
            status=self.status,
            retry_after=self.wait,
            is_overload=self.status in _OVERLOAD_STATUSES,
        )


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
    body = parse_error_body(text)
    error = _FailedRequest(status, body.words, wait, endpoint, body.is_page).to_error()
    if isinstance(error, Unavailable) and headers.get("x-should-retry", "").lower() == "false":
        error.tries = 1  # OpenAI and Anthropic say so when another try cannot help
    return error


def error_for_event(
    event: Mapping[str, Any], endpoint: Endpoint, *, is_last: bool = False
) -> ProviderError | None:
    """Return the error for a stream event that is or contains an error object, else None. The last event of a stream
    that broke off is an error also if it only has a message."""
    is_error = event.get("object") == "error" or str(event.get("type")) in _STATUS_BY_TYPE
    error = event.get("error") or (event if is_error else None)
    if is_last:
        error = _find_error(event)
    return error_in_answer(error, endpoint) if error else None


def error_in_answer(error: Any, endpoint: Endpoint) -> ProviderError:
    """Return the error for an error object or message inside an answer of good status."""
    inner = error if isinstance(error, dict) else {"message": str(error)}
    words = one_line(endpoint.mask(_with_details(inner, _message(inner) or json.dumps(inner))))
    status = _status_named_by(inner)
    if not status and re.search(_NO_CREDIT, words):
        status = 402
    if status:
        wait = _retry_after({}, json.dumps(error))
        return _FailedRequest(status, words, wait, endpoint).to_error()
    if re.search(_OVERFLOW_WORDS, words):
        return _context_overflow(words, endpoint, None)
    return Unavailable(
        f"{endpoint.address} ended its answer with an error: {words}",
        "Try again.",
        tries=TRIES_IF_BROKEN_OFF,
    )


def _status_named_by(error: Mapping[str, Any]) -> int:
    """Return the HTTP status that an error object names, itself or by its type; 0 for none."""
    for key in ("type", "code", "status"):
        value = str(error.get(key))
        status = str(_STATUS_BY_TYPE.get(value, value))
        if re.fullmatch(r"[45]\d\d", status):
            return int(status)
    return 0


def error_for_transport(
    error: BaseException, endpoint: Endpoint, *, answering: bool
) -> ProviderError:
    """Return the error for a failure below HTTP; `answering` is True if the response had started."""
    address = endpoint.address
    chain = exception_chain(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    tls_error = next((link for link in chain if isinstance(link, ssl.SSLError)), None)
    # SSLWantReadError: the handshake timed out
    if tls_error is not None and not isinstance(tls_error, ssl.SSLWantReadError):
        reason = one_line(
            str(getattr(tls_error, "verify_message", "") or tls_error.reason or tls_error)
        )
        return ProviderError(
            f"The certificate or TLS version of {address} is not accepted: {reason}.",
            "For a private authority set SSL_CERT_FILE to its certificate, or add it to the system's.",
        )
    if "DecodingError" in names:
        words = f"{address} sent a content encoding that cannot be read."
        return Unavailable(words, "Try again.", tries=TRIES_IF_EMPTY)
    if answering or names & {"ReadError", "RemoteProtocolError"}:
        return Unavailable(
            f"{address} broke off its answer.", "Try again.", tries=TRIES_IF_BROKEN_OFF
        )
    is_refused_here = names & {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
    if is_refused_here or isinstance(error, UnicodeError):
        reason = one_line(endpoint.mask(str(error)))
        hint = f"Check the address, and the key in {endpoint.key_name}."
        return ProviderError(f"{address} cannot be used: {reason}", hint)
    # unreadable certificate files
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
        words = f"The certificates cannot be loaded: {one_line(str(error))}"
        return ProviderError(words, "Check SSL_CERT_FILE and the like.")
    hint = "Check the network and the address."
    if proxies := _proxy_variables(address):
        hint = f"Check the network, the address, and the proxy in {', '.join(proxies)}."
    if endpoint.local:
        hint = "Is it running, and is the address right?"
    reason = endpoint.mask(_reason(chain))
    return Unavailable(
        f"{address} cannot be reached ({reason}).",
        hint,
        tries=TRIES_IF_BROKEN_OFF,
        is_overload=True,
    )


def _proxy_variables(address: str) -> list[str]:
    """Return the variables that name a proxy for an address."""
    if proxy_for(address) is None:
        return []
    scheme = address.partition("://")[0].lower()
    names = (f"{scheme}_proxy", "all_proxy")
    # reads the environment: the variables are everybody's
    return sorted(name for name in os.environ if name.lower() in names and os.environ[name])


def _context_overflow(words: str, endpoint: Endpoint, status: int | None) -> ContextOverflow:
    """Return the error for a request above the context window, with the limit if the message names it."""
    digits = re.sub(_THOUSANDS, "000", re.sub(_GROUPS, "", words))
    limit = next(
        (int(match[1]) for pattern in _LIMIT_PATTERNS if (match := re.search(pattern, digits))),
        None,
    )
    size = f" ({limit:,} tokens)" if limit else ""
    hint = "Make the window smaller (/window), or start a new session (/new)."
    error = ContextOverflow(
        f"The request is longer than {endpoint.name} takes{size}: {words}", hint, status=status
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
        if moment := parsedate_tz(value):
            return max(0.0, mktime_tz(moment) - time.time())
    for pattern in (_RESET_TIME, _RESET_FIELD):
        if reset := re.search(pattern, text):
            return max(0.0, int(reset[1]) - time.time())
    if field := re.search(_SECONDS_FIELD, text):
        return float(field[1])
    delay = re.search(_RETRY_DELAY, text)
    if delay is None or not any(delay.groups()):
        return None
    parts = {unit: float(number or 0) for unit, number in delay.groupdict().items()}
    hours = 24 * parts["days"] + parts["hours"]
    return 3600 * hours + 60 * parts["minutes"] + parts["seconds"]


def in_hours(seconds: float) -> str:
    """Return a wait for a person: `5 h 33 min`, `12 min`, `40 s`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def is_about_model(words: str, endpoint: Endpoint) -> bool:
    """Return whether a refusal says something of the model, and not of the address."""
    lower_words = words.lower()
    return (
        "model" in lower_words
        or "deployment" in lower_words
        or endpoint.model.lower() in lower_words
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
    return re.sub(_HTML_TAGS, " ", text[: 1 << 14]) if is_page else text


def parse_error_body(text: str) -> ErrorBody:
    """Parse the body of an error response, or of an error inside an answer."""
    text_of_page = without_tags(text)
    if text_of_page != text:
        return ErrorBody(one_line(text_of_page), is_page=True)
    inner = _find_error(_first_object(text))
    if isinstance(inner, str) and inner.lstrip().startswith("<"):
        return parse_error_body(inner)
    if not isinstance(inner, dict):
        return ErrorBody(one_line(inner if isinstance(inner, str) else text))
    words = one_line(_with_details(inner, _message(inner)))
    return ErrorBody(words, _path_in(inner))


def _path_in(error: Mapping[str, Any]) -> str:
    """Return the path of the field that an error object names, "" for none: FastAPI lists its parts, behind "body"."""
    details = error.get("detail")
    inner = details[0] if isinstance(details, list) and details else error
    path = _first_set(inner, "param", "loc", "path", "field") if isinstance(inner, dict) else None
    if isinstance(path, list):
        return ".".join(str(part) for part in path if part != "body")
    return path if isinstance(path, str) else ""


def _first_object(text: str) -> dict[str, Any]:
    """Return the JSON object that begins first in a text, {} if there is none that can be parsed."""
    _, brace, rest = text.partition("{")
    if not brace:
        return {}
    with suppress(ValueError, RecursionError):
        value, _ = json.JSONDecoder().raw_decode(brace + rest)
        return dict(value)
    return {}


def _find_error(body: Mapping[str, Any]) -> Any:
    """Return the error of a JSON body, usually an object under `error`; None if it has no message."""
    error = _first_set(body, "error", "errors", "base_resp") or body
    if isinstance(error, list):
        error = error[0]
    if isinstance(error, dict) and not _message(error):
        return None
    return error


def _message(error: Mapping[str, Any]) -> Any:
    """Return the message of an error object, None if it has none."""
    return _first_set(error, "message", "detail", "error", "msg", "status_msg")


def _first_set(holder: Mapping[str, Any], *keys: str) -> Any:
    return next((holder[key] for key in keys if holder.get(key)), None)


def _with_details(error: Mapping[str, Any], message: Any) -> str:
    """Return the message, extended by the error's code, context size and upstream message if it lacks them."""
    words = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    code = _word_code(error)
    size = str(error.get("n_ctx") or "")
    upstream = _upstream_words(error)
    details = {code: code, size: f"context size {size}", upstream: upstream}
    missing = [detail for expected, detail in details.items() if expected and expected not in words]
    return words + "".join(f" ({detail})" for detail in missing)


def _word_code(error: Mapping[str, Any]) -> str:
    """Return the error's code if it is a word, "" for a number: that is the status again."""
    code = error.get("code")
    return code if isinstance(code, str) and not code.isdigit() else ""


def _upstream_words(error: Mapping[str, Any]) -> str:
    """Return what the service behind a router said, "" if that is not told."""
    for holder, key in (("metadata", "raw"), ("value", "error_message")):
        inner = error.get(holder)
        if isinstance(inner, dict) and key in inner:
            raw = inner[key]
            return parse_error_body(raw).words if isinstance(raw, str) else ""
    return ""


def one_line(text: str, max_length: int = _MAX_TEXT) -> str:
    """Make foreign text fit to show and to store: one line, no control characters, tracebacks or secrets, truncated."""
    text = text.partition("Traceback (most recent call last)")[0]
    # before the cut, which would make a secret unrecognisable
    return truncate(redact(" ".join(sanitize(text[: 20 * max_length]).split())), max_length)


def exception_chain(error: BaseException) -> list[BaseException]:
    """Return an exception and all its causes, contexts and grouped exceptions, each once."""
    chain: list[BaseException] = []
    pending: list[Any] = [error]
    for link in pending:  # grows meanwhile
        if not isinstance(link, BaseException) or link in chain:
            continue
        chain.append(link)
        original = getattr(link, "original_exception", None)  # litellm's
        grouped = getattr(link, "exceptions", ())
        pending += [original, link.__cause__, link.__context__, *grouped]
    return chain


def _reason(chain: list[BaseException]) -> str:
    """Describe in a few words why no connection was made."""
    for link in chain:
        if isinstance(link, ConnectionRefusedError):
            return "connection refused"
        if isinstance(link, socket.gaierror):
            return "its name is not looked up" if link.errno == socket.EAI_AGAIN else "no such host"
    if any("Timeout" in type(link).__name__ for link in chain):
        return "no answer"
    return one_line(str(chain[0])) or type(chain[0]).__name__
