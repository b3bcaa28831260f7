"""What the answers of this process showed of its models' limits: refused lengths, truncated requests, hidden tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import NamedTuple

from swecli.context.budget import request_limit
from swecli.models.errors import ContextOverflow
from swecli.models.message import Usage, WrittenCall
from swecli.values import dataclass

# The numbers without a named source were chosen, not measured: each only decides how soon the same end is reached.

_SHARE_AFTER_REFUSAL = 0.75  # of the refused size, after each refusal
# of what the window that a service names leaves: a service that refuses less than that is not refusing its length
_MIN_SHARE_OF_NAMED = 0.25
REPORTED_FAILURES = (1, 3)  # numbers of consecutive failures to condense that are reported
_GROWTH_BEFORE_RETRY = (
    0.1  # of the request's size: the growth required before condensing is tried again
)

# More reductions than that within so many steps are too many: the window is too small for what the turn reads.
RECENT_STEPS = 4
MAX_RECENT_REDUCTIONS = 2

# Tokenisers differ by less than this factor; a smaller count suggests that the provider truncated the request.
_SUSPICIOUS_SHARE = 0.5
_MIN_WINDOW = 1_024  # tokens: no model has a smaller window, so a smaller count is not a count
_SHARE_WITHOUT_TOOLS = (
    0.8  # share of a request without its tools, from which a low count is one without them
)
_COUNT_TOLERANCE = 0.02  # difference between two counts of one limit
_SUSPICIOUS_GROWTH = (
    1.1  # of a request with an unchanged count: from here on the provider may have truncated it
)


class RequestShape(NamedTuple):
    """What requests have in common that reach the same limit."""

    model: str
    tools_tokens: int
    max_answer: int | None  # tokens; None: not limited


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one session has observed of its models in this process. Immutable: each `record_*` method returns a copy."""

    session: str = ""  # its id
    limits: Mapping[RequestShape, int] = field(
        default_factory=dict
    )  # of the largest request that fits
    windows: Mapping[str, int] = field(default_factory=dict)  # that the provider reported, by model
    scales: Mapping[str, float] = field(default_factory=dict)
    """The provider's count of the last request divided by ours, by model."""
    failures: int = 0  # consecutive ones, to condense
    growth_needed: int = 0  # tokens that a request must grow by before the next attempt to condense
    last_size: int = 0  # of the last request
    recent_reductions: tuple[tuple[int, int], ...] = ()  # (interaction, step) of each
    deep_interaction: int = 0  # the newest interaction with too many reductions
    complete_counts: Mapping[str, int] = field(default_factory=dict)
    """The largest request that is known to be read completely, by model."""
    repeated_counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The first request (provider's count, our count) with about the newest count, by model."""
    suspected: frozenset[str] = frozenset()  # models that may have truncated a request
    without_tools: frozenset[str] = frozenset()  # models that do not see the tools
    without_room: frozenset[str] = frozenset()  # models that have no room for all tools
    written_calls: frozenset[tuple[str, WrittenCall]] = frozenset()
    """Models that wrote a tool call as text, each with what became of it."""

    def record_failure(self, size: int) -> ModelLimits:
        """Record a failed attempt to condense; `size` is that of the request sent instead. The next attempt waits until
        the request has grown by a tenth of it, doubled after each failure from the third on."""
        growth = round(size * _GROWTH_BEFORE_RETRY * 2 ** max(0, self.failures - 2))
        return replace(self, failures=self.failures + 1, growth_needed=growth, last_size=size)

    def record_reduction(self, interaction: int, step: int, *, deep: bool = False) -> ModelLimits:
        """Record that the request of a step was reduced. A `deep` reduction resets the count of earlier ones."""
        if deep:
            return replace(self, recent_reductions=(), deep_interaction=interaction)
        recent = [
            (turn, reduced)
            for turn, reduced in self.recent_reductions
            if turn == interaction and reduced > step - RECENT_STEPS
        ]
        return replace(self, recent_reductions=(*recent, (interaction, step)))

    def is_reduced_too_often(self, interaction: int, step: int) -> bool:
        """Return whether one more reduction at that step would be too many in too few steps."""
        recent = {
            reduced
            for turn, reduced in self.recent_reductions
            if turn == interaction and step - RECENT_STEPS < reduced < step
        }
        return len(recent) >= MAX_RECENT_REDUCTIONS

    def record_refusal(
        self, shape: RequestShape, sent_tokens: int, reserve: int, error: ContextOverflow
    ) -> ModelLimits:
        """Record that a request of `sent_tokens`, with `reserve` for the answer, was too long.

        The new limit is the size the provider read, or what the window leaves beside the answer, or a fraction of
        `sent_tokens`. If a shorter answer is requested from now on, the window alone decides. One that the provider did
        not name is a fraction of request and answer; it counts if less than four answers. However often a service
        refuses, the limit stays above a quarter of what it names, and above the smallest window of any model."""
        if error.reported and error.limit is not None:
            return replace(self, limits={**self.limits, shape: round(error.limit * 0.9)})
        smaller = int(sent_tokens * _SHARE_AFTER_REFUSAL)
        is_named = bool(error.limit and error.limit >= _MIN_WINDOW)
        window = error.limit if is_named else int((sent_tokens + reserve) * _SHARE_AFTER_REFUSAL)
        if not window or not (is_named or window < 4 * reserve):
            return replace(self, limits={**self.limits, shape: max(smaller, _MIN_WINDOW)})

        observed = replace(self, windows={**self.windows, shape.model: window})
        answer = observed.answer_tokens(shape.model, reserve)
        room_left = request_limit(window, answer) or smaller
        if answer < reserve:
            limit = room_left
        else:
            least = room_left * _MIN_SHARE_OF_NAMED if is_named else 0
            limit = max(min(smaller, room_left), int(least))
        return replace(observed, limits={**self.limits, shape: limit})

    def answer_tokens(self, model: str, reserve: int) -> int:
        """Return the maximum answer to request, in tokens: at most a quarter of the window the provider named."""
        return min(reserve, self.windows.get(model, 4 * reserve) // 4)

    def forget_counts(self) -> ModelLimits:
        """Forget what was compared with our own counts, which are exact only from now on."""
        return replace(self, scales={}, repeated_counts={})

    def restore_scale(self, model: str, prompt: int, own_size: int) -> ModelLimits:
        """Restore the scale from the counts of the last request stored by an earlier run."""
        if model in self.scales or not (
            prompt and own_size and prompt >= own_size * _SUSPICIOUS_SHARE
        ):
            return self
        return replace(self, scales={**self.scales, model: prompt / own_size})

    def record_usage(
        self,
        model: str,
        usage: Usage,
        own_size: int,
        tools: int = 0,
        window: int | None = None,
        *,
        has_called: bool = False,
        may_hide_tools: bool = True,
    ) -> CountCheck:
        """Record the provider's count of a request of `own_size` tokens, `tools` of them for the tools.

        `window` is what the server reports to serve. Truncation is suspected when the count is less than half of ours
        or stays the same while requests grow; a smaller `window` or further growth without a higher count proves
        truncation. A count that matches the request without tools means that the server hides them from the model, if
        it `may_hide_tools` and the model has not called one (`has_called`)."""
        read_count = usage.prompt
        if read_count <= 0 or own_size <= 0:
            return CountCheck(self)
        is_low = read_count < own_size * _SUSPICIOUS_SHARE
        if has_called and model in self.without_tools:
            return CountCheck(replace(self, without_tools=self.without_tools - {model}))

        if is_low and tools and read_count >= (own_size - tools) * _SHARE_WITHOUT_TOOLS:
            is_hiding = may_hide_tools and not has_called
            return self._record_hidden_tools(model) if is_hiding else CountCheck(self)
        if is_low and read_count < _MIN_WINDOW:
            return CountCheck(self)

        first = self._first_of_same(model, read_count, own_size)
        observed = replace(self, repeated_counts={**self.repeated_counts, model: first})
        growth = own_size / first[1]
        is_plausible = not is_low and growth < _SUSPICIOUS_GROWTH
        if is_plausible:
            largest = max(read_count, self.complete_counts.get(model, 0))
            observed = replace(
                observed,
                complete_counts={**self.complete_counts, model: largest},
                scales={**self.scales, model: read_count / own_size},
            )

        has_grown = growth >= (1 + 2 * _COUNT_TOLERANCE if is_low else _SUSPICIOUS_GROWTH**2)
        is_window_smaller = is_low and window is not None and window < own_size
        if has_grown or is_window_smaller:
            return CountCheck(
                observed, tokens_read=max(read_count, observed.complete_counts.get(model, 0))
            )
        if is_plausible or model in self.suspected:
            return CountCheck(observed)
        line = f"{model} counted {read_count:,} of about {own_size:,} tokens of the request: it may have been truncated"
        return CountCheck(replace(observed, suspected=self.suspected | {model}), notice=line)

    def _record_hidden_tools(self, model: str) -> CountCheck:
        """Record that a server hides the tools from a model. The user is told once."""
        observed = replace(self, without_tools=self.without_tools | {model})
        if model in self.without_tools:
            return CountCheck(observed)
        line = f"the server of {model} does not seem to pass on the tools: it can answer, not act"
        return CountCheck(observed, notice=line)

    def _first_of_same(self, model: str, read_count: int, own_size: int) -> tuple[int, int]:
        """Return the first request with about this count, as the provider and we counted it: an earlier one that was
        not longer, or this one."""
        newest = (read_count, own_size)
        first = self.repeated_counts.get(model, newest)
        is_same_count = abs(read_count - first[0]) <= first[0] * _COUNT_TOLERANCE
        return first if is_same_count and own_size >= first[1] else newest


@dataclass(frozen=True, slots=True)
class CountCheck:
    """Result of comparing the provider's count with ours."""

    observed: ModelLimits  # what is known of the models now
    tokens_read: int = 0
    """What the model read of a request that was provably truncated; 0 if it was not."""
    notice: str = ""
    """A line for the user, "" for none."""
