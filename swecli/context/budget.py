"""Limits of a request: its size, the model's limit, thresholds, and the real limits observed in this process."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import as_sent, calls_of, text_of
from swecli.models.errors import BadInput
from swecli.models.message import ApiMessage, ToolSpec
from swecli.values import dataclass

# Specified, not measured: tests/context/test_budget states these values and what they do.
TOKEN_BUFFER_PERCENTAGE = 0.1
MIN_CONDENSE_THRESHOLD = 50
MAX_CONDENSE_THRESHOLD = 100
DEFAULT_MAX_TOKENS = 8192
_INHERIT = -1  # the threshold of a profile that has none of its own

# Of JSON in ASCII. English and code have more, so that the estimate errs on the safe side.
_BYTES_PER_TOKEN = 3

# Tokens. Eleven tools and the system prompt take more than 3,500: too much of a window up to this one (ADR 0039).
_LEAN_WINDOW = 16_384
# Tokens. Up to here a summary must free more than it does in large windows (ADR 0039).
SMALL_WINDOW = 32_768

# The limit when the model's window is unknown; an upper cap when it is known.
MAX_CHARACTERS = 500_000

_log = logging.getLogger(__name__)


def allowed_tokens(context_window: int, max_tokens: int | None = None) -> int:
    """Return the tokens a request may have: 90 % of the window minus `max_tokens` for the answer (None or 0: 8192).

    Negative if `max_tokens` exceeds the window."""
    usable_percent = round(100 - 100 * TOKEN_BUFFER_PERCENTAGE)
    answer = max_tokens or DEFAULT_MAX_TOKENS
    return context_window * usable_percent // 100 - answer


def effective_threshold(
    percent: int, profile_thresholds: Mapping[str, int], profile_id: str
) -> int:
    """Return the percentage of the window at which a profile's context is reduced: its own from 50 to 100, or `percent`
    if it has none or -1. Any other value is logged as a warning and replaced by `percent`."""
    threshold = profile_thresholds.get(profile_id, _INHERIT)
    if threshold == _INHERIT:
        return percent
    if MIN_CONDENSE_THRESHOLD <= threshold <= MAX_CONDENSE_THRESHOLD:
        return threshold
    line = "threshold %s of profile %r is not between %s and %s: using the global threshold %s"
    _log.warning(
        line, threshold, profile_id, MIN_CONDENSE_THRESHOLD, MAX_CONDENSE_THRESHOLD, percent
    )
    return percent


def request_limit(context_window: int | None, max_output: int | None = None) -> int | None:
    """Return the token limit of a request, or None if the window is unknown (then characters decide).

    At least a quarter of the window: many small local models allow answers as long as the window, for which
    `allowed_tokens` would leave no room for a question."""
    if not context_window or context_window < 0:
        return None
    return max(allowed_tokens(context_window, max_output), context_window // 4)


def long_query(length: str, limit: str) -> BadInput:
    """Return the error about a query of some `length`, as "9 tokens", that alone is longer than a request may be."""
    return BadInput(
        f"Not sent: your message has {length}, and a request may have {limit}.",
        "Send a part of it, or save it in a file and name that: files are read in parts.",
    )


def is_lean(window: int | None) -> bool:
    """Return whether a window of that many tokens is too small for all tools."""
    return window is not None and window <= _LEAN_WINDOW


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request."""

    tokens: int  # tools included
    limit: int | None  # tokens that it may have; None if the model's window is unknown
    needs_reduction: bool  # the threshold is reached, or the request is too long
    fits: bool  # it may be sent as it is
    estimated: bool  # no token table was used
    characters: int  # images excluded


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request, in tokens."""

    window: int | None  # of the model; None if unknown
    reserve: int | None = None  # kept for the answer; None for 8192
    threshold: int = (
        MAX_CONDENSE_THRESHOLD  # percentage of the window at which a request is reduced
    )
    allowed: int | None = None  # an observed limit, in place of the computed one
    scale: float = 1.0  # the provider's count of the last request divided by ours
    hold_tokens: int = 0  # below it, only requests that are too long are reduced
    pins: tuple[int, ...] = ()  # interactions that are never changed
    tools_tokens: int = 0  # of the tools, which cannot be reduced

    @property
    def limit(self) -> int | None:
        """Maximum tokens of a request; None if unknown: then 500,000 characters are the limit."""
        return self.allowed or request_limit(self.window, self.reserve)

    @property
    def threshold_window(self) -> int | None:
        """The window, in tokens, that the threshold is a share of: the model's, or the one behind an observed limit."""
        if self.allowed:
            return round(self.allowed / (1 - TOKEN_BUFFER_PERCENTAGE))
        return self.window

    @property
    def start(self) -> int | None:
        """Tokens at which a request is reduced; None if only requests that are too long are."""
        window = self.threshold_window
        if not window or self.threshold >= MAX_CONDENSE_THRESHOLD:
            return None
        return max(window * self.threshold // 100, self.hold_tokens)

    def measure(self, messages: Sequence[ApiMessage], counter: TokenCounter) -> RequestSize:
        """Measure a request with these limits."""
        tokens = ceil((counter.count_messages(messages) + self.tools_tokens) * self.scale)
        length = _count_characters(messages)
        limit = self.limit
        start = self.start
        fits = length <= MAX_CHARACTERS and (limit is None or tokens <= limit)
        return RequestSize(
            tokens=tokens,
            limit=limit,
            needs_reduction=not fits or (start is not None and tokens >= start),
            fits=fits,
            estimated=counter.estimated,
            characters=length,
        )

    def fit_easily(self, messages: Sequence[ApiMessage], specs: Iterable[ToolSpec] = ()) -> bool:
        """Return whether a request takes at most half of these limits even if each three bytes of its JSON, in ASCII,
        are a token. Then nothing depends on an exact count."""
        limits = [limit for limit in (self.limit, self.start) if limit]
        if not limits:
            return True
        sent_messages = [as_sent(message) for message in messages]
        request = json.dumps([sent_messages, [spec.to_api() for spec in specs]])
        tokens = len(request) / _BYTES_PER_TOKEN * max(1.0, self.scale)
        return tokens <= min(limits) / 2


def _count_characters(messages: Sequence[ApiMessage]) -> int:
    """Count the characters of all messages, calls included, images excluded."""
    count = 0
    for message in messages:
        count += len(text_of(message))
        for call in calls_of(message):
            count += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return count
