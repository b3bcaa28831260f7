"""Limits of a request: its size, the model's limit, thresholds, and the real limits observed in this process."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import calls_of
from swecli.models.errors import ContextOverflow
from swecli.models.message import ApiMessage, ToolSpec, Usage

TOKEN_BUFFER_PERCENTAGE = 0.1
MIN_CONDENSE_THRESHOLD = 50
MAX_CONDENSE_THRESHOLD = 100
DEFAULT_MAX_TOKENS = 8192
_INHERIT = -1
_BYTES_PER_TOKEN = 3
_LEAN_WINDOW = 16_384  # tokens: up to this window a model gets few tools and a short system prompt
SMALL_WINDOW = 32_768

# The limit when the model's window is unknown; an upper cap when it is known.
MAX_CHARACTERS = 500_000

_SMALLER = 0.75  # of the refused size, after each refusal
# of what the window that a service names leaves: a service that refuses less than that is not refusing its length
_LEAST_OF_NAMED = 4
REPORTED = (1, 3)  # numbers of consecutive failures to condense that are reported
_RETRY = 0.1  # of the request's size: the growth required before condensing is tried again
_GROWN = 1.1  # growth of a request with an unchanged count from which truncation by the provider is suspected
STEPS, OFTEN = 4, 2  # more than OFTEN reductions within STEPS steps are too many
# Tokenisers differ by less than this factor; a smaller count suggests that the provider truncated the request. No model
# has a window below _SMALLEST: a smaller count is not a count.
_CUT, _SMALLEST = 0.5, 1_024
_BARE, _SAME = (
    0.8,
    0.02,
)  # share of a request without its tools; difference between two counts of one limit

_Shape = tuple[str, int, int | None]
_log = logging.getLogger(__name__)


def allowed_tokens(context_window: int, max_tokens: int | None = None) -> int:
    """Return the tokens a request may have: 90 % of the window minus `max_tokens` for the answer (None or 0: 8192).

    Negative if `max_tokens` exceeds the window."""
    return context_window * round(100 - 100 * TOKEN_BUFFER_PERCENTAGE) // 100 - (
        max_tokens or DEFAULT_MAX_TOKENS
    )


def effective_threshold(
    percent: int, profile_thresholds: Mapping[str, int], profile_id: str
) -> int:
    """Return the percentage of the window at which a profile's context is reduced: its own from 50 to 100, or `percent`
    if it has none or -1. Any other value is logged as a warning and replaced by `percent`."""
    own = profile_thresholds.get(profile_id, _INHERIT)
    if own == _INHERIT:
        return percent
    if MIN_CONDENSE_THRESHOLD <= own <= MAX_CONDENSE_THRESHOLD:
        return own
    line = "threshold %s of profile %r is not between %s and %s: using the global threshold %s"
    _log.warning(line, own, profile_id, MIN_CONDENSE_THRESHOLD, MAX_CONDENSE_THRESHOLD, percent)
    return percent


def request_limit(context_window: int | None, max_output: int | None = None) -> int | None:
    """Return the token limit of a request, or None if the window is unknown (then characters decide).

    At least a quarter of the window: many small local models allow answers as long as the window, for which
    `allowed_tokens` would leave no room for a question."""
    if not context_window or context_window < 0:
        return None
    return max(allowed_tokens(context_window, max_output), context_window // 4)


def is_lean(window: int | None) -> bool:
    """Return whether a window of that many tokens is too small for all tools."""
    return window is not None and window <= _LEAN_WINDOW


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request in tokens, tools included, and in characters. `limit` is None if the model's window is
    unknown; `over`: the threshold is reached or the request is too long; `estimated`: no token table was used."""

    tokens: int
    limit: int | None
    over: bool
    fits: bool
    estimated: bool
    characters: int


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request, in tokens.

    `window` is the model's, None if unknown; `reserve` is kept for the answer (None: 8192); `threshold` is a percentage
    of the window; `allowed` replaces the computed limit by an observed one; `scale` is the provider's count of the last
    request divided by ours; below `hold` tokens only requests that are too long are reduced; interactions in `pins` are
    never changed; `tools_tokens` cannot be reduced."""

    window: int | None
    reserve: int | None = None
    threshold: int = MAX_CONDENSE_THRESHOLD
    allowed: int | None = None
    scale: float = 1.0
    hold: int = 0
    pins: tuple[int, ...] = ()
    tools_tokens: int = 0

    @property
    def limit(self) -> int | None:
        """Maximum tokens of a request; None if unknown: then 500,000 characters are the limit."""
        return self.allowed or request_limit(self.window, self.reserve)

    @property
    def threshold_window(self) -> int | None:
        """The window, in tokens, that the threshold is a share of: the model's, or the one behind an observed limit."""
        return round(self.allowed / (1 - TOKEN_BUFFER_PERCENTAGE)) if self.allowed else self.window

    @property
    def start(self) -> int | None:
        """Tokens at which a request is reduced; None if only requests that are too long are."""
        window = self.threshold_window
        if not window or self.threshold >= MAX_CONDENSE_THRESHOLD:
            return None
        return max(window * self.threshold // 100, self.hold)

    def measure(self, messages: Sequence[ApiMessage], counter: TokenCounter) -> RequestSize:
        """Measure a request with these limits."""
        tokens = ceil((counter.count_messages(messages) + self.tools_tokens) * self.scale)
        length, limit, start = _count_characters(messages), self.limit, self.start
        fits = length <= MAX_CHARACTERS and (limit is None or tokens <= limit)
        over = not fits or (start is not None and tokens >= start)
        return RequestSize(tokens, limit, over, fits, counter.estimated, length)

    def fit_easily(self, messages: Sequence[ApiMessage], specs: Iterable[ToolSpec] = ()) -> bool:
        """Return whether a request takes at most half of these limits even if each three bytes of its JSON, in ASCII,
        are a token. Then nothing depends on an exact count."""
        least = min(filter(None, (self.limit, self.start)), default=None)
        size = (
            0 if least is None else len(json.dumps([messages, [spec.to_api() for spec in specs]]))
        )
        return least is None or size / _BYTES_PER_TOKEN * max(1.0, self.scale) <= least / 2


def _count_characters(messages: Sequence[ApiMessage]) -> int:
    """Count the characters of all messages, calls included, images excluded."""
    return sum(len(text) for message in messages for text in _texts(message))


def _texts(message: ApiMessage) -> Iterator[str]:
    yield message.get("content") or ""
    for call in calls_of(message):
        yield from (call["function"]["name"], call["function"]["arguments"])


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one session has observed of its models in this process. Immutable: every `record_*` method returns a copy.

    `limits` maps the shape of a request (model, tokens of its tools, maximum answer) to the largest size that fits;
    `windows` maps models to the window their provider reported; `scales` maps models to the provider's count of the
    last request divided by ours. `failures` counts consecutive failures to condense, `due` the tokens to wait for
    before the next attempt, `left` the size of the last request. `reduced` holds (interaction, step) of recent
    reductions, `deep` the newest interaction with too many. `full` is the largest request known to be read
    completely, by model; `same` the first request (provider's count, our count) with about the newest count;
    `suspected` models may have truncated a request; `toolless` models do not see the tools; `small` models have no
    room for all tools; `writing` models wrote tool calls as text."""

    session: str = ""
    limits: Mapping[_Shape, int] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    failures: int = 0
    due: int = 0
    left: int = 0
    reduced: tuple[tuple[int, int], ...] = ()
    deep: int = 0
    full: Mapping[str, int] = field(default_factory=dict)
    same: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    suspected: frozenset[str] = frozenset()
    toolless: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    writing: frozenset[str] = frozenset()

    def record_failure(self, left: int) -> ModelLimits:
        """Record a failed attempt to condense; `left` is the size of the request sent instead. The next attempt waits
        until the request has grown by a tenth of it, doubled after each failure from the third on."""
        due = round(left * _RETRY * 2 ** max(0, self.failures - 2))
        return replace(self, failures=self.failures + 1, due=due, left=left)

    def record_reduction(self, interaction: int, step: int, *, deep: bool = False) -> ModelLimits:
        """Record that the request of a step was reduced. A `deep` reduction resets the count of earlier ones."""
        if deep:
            return replace(self, reduced=(), deep=interaction)
        recent = [one for one in self.reduced if one[0] == interaction and one[1] > step - STEPS]
        return replace(self, reduced=(*recent, (interaction, step)))

    def is_reduced_too_often(self, interaction: int, step: int) -> bool:
        """Return whether one more reduction at that step would be too many in too few steps."""
        recent = {
            one for one in self.reduced if one[0] == interaction and step - STEPS < one[1] < step
        }
        return len(recent) >= OFTEN

    def record_refusal(
        self, shape: _Shape, sent: int, reserve: int, error: ContextOverflow
    ) -> ModelLimits:
        """Record that a request of `sent` tokens, with `reserve` for the answer, was too long.

        The new limit is the size the provider read, or what the window leaves beside the answer, or a fraction of
        `sent`. If a shorter answer is requested from now on, the window alone decides. One that the provider did not
        name is a fraction of request and answer; it counts if less than four answers. However often a service refuses,
        the limit stays above a quarter of what it names, and above the smallest window of any model."""
        if error.reported and error.limit is not None:
            return replace(self, limits={**self.limits, shape: round(error.limit * 0.9)})
        named, smaller = bool(error.limit and error.limit >= _SMALLEST), int(sent * _SMALLER)
        window = error.limit if named else int((sent + reserve) * _SMALLER)
        if not window or not (named or window < 4 * reserve):
            return replace(self, limits={**self.limits, shape: max(smaller, _SMALLEST)})
        known = replace(self, windows={**self.windows, shape[0]: window})
        answer = known.answer_tokens(shape[0], reserve)
        left = request_limit(window, answer) or smaller
        least = left // _LEAST_OF_NAMED if named else 0
        limit = left if answer < reserve else max(min(smaller, left), least)
        return replace(known, limits={**self.limits, shape: limit})

    def answer_tokens(self, model: str, reserve: int) -> int:
        """Return the maximum answer to request, in tokens: at most a quarter of the window the provider named."""
        return min(reserve, self.windows.get(model, 4 * reserve) // 4)

    def forget_counts(self) -> ModelLimits:
        """Forget what was compared with our own counts, which are exact only from now on."""
        return replace(self, scales={}, same={})

    def restore_scale(self, model: str, prompt: int, ours: int) -> ModelLimits:
        """Restore the scale from the counts of the last request stored by an earlier run."""
        if model in self.scales or not (prompt and ours and prompt >= ours * _CUT):
            return self
        return replace(self, scales={**self.scales, model: prompt / ours})

    def record_usage(
        self,
        model: str,
        usage: Usage,
        ours: int,
        tools: int = 0,
        window: int | None = None,
        *,
        has_called: bool = False,
    ) -> CountCheck:
        """Record the provider's count of a request of `ours` tokens, `tools` of them for the tools.

        `window` is what the server reports to serve. Truncation is suspected when the count is less than half of ours
        or stays the same while requests grow; a smaller `window` or further growth without a higher count proves
        truncation. A count that matches the request without tools means that the server hides them from the model,
        unless the model `has_called` one."""
        read, few = usage.prompt, usage.prompt < ours * _CUT
        if read <= 0 or ours <= 0:
            return CountCheck(self)
        if few and tools and read >= (ours - tools) * _BARE:
            if has_called:
                return CountCheck(self)
            line = (
                f"the server of {model} does not seem to pass on the tools: it can answer, not act"
            )
            known = replace(self, toolless=self.toolless | {model})
            return CountCheck(known, notice="" if model in self.toolless else line)
        if few and read < _SMALLEST:
            return CountCheck(self)
        first = self.same.get(model, (read, ours))
        first = (
            first if abs(read - first[0]) <= first[0] * _SAME and ours >= first[1] else (read, ours)
        )
        known = replace(self, same={**self.same, model: first})
        grown = ours / first[1]
        if not few and grown < _GROWN:
            full = {**self.full, model: max(read, self.full.get(model, 0))}
            known = replace(known, full=full, scales={**self.scales, model: read / ours})
        if grown >= (1 + 2 * _SAME if few else _GROWN**2) or (
            few and window is not None and window < ours
        ):
            return CountCheck(known, tokens_read=max(read, known.full.get(model, 0)))
        if (not few and grown < _GROWN) or model in self.suspected:
            return CountCheck(known)
        line = f"{model} counted {read:,} of about {ours:,} tokens of the request: it may have been truncated"
        return CountCheck(replace(known, suspected=self.suspected | {model}), notice=line)


@dataclass(frozen=True, slots=True)
class CountCheck:
    """Result of comparing the provider's count with ours. `tokens_read` is set if the request was provably truncated;
    `notice` is a line for the user."""

    observed: ModelLimits
    tokens_read: int = 0
    notice: str = ""
