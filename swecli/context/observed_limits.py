"""What the answers of this process showed of its models' limits: refused lengths, truncated requests, hidden tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from swecli.context.budget import request_limit
from swecli.models.errors import ContextOverflow
from swecli.models.message import Usage, WrittenCall

# The numbers without a named source were chosen, not measured: each only decides how soon the same end is reached.

_SMALLER = 0.75  # of the refused size, after each refusal
# of what the window that a service names leaves: a service that refuses less than that is not refusing its length
_LEAST_OF_NAMED = 4
REPORTED = (1, 3)  # numbers of consecutive failures to condense that are reported
_RETRY = 0.1  # of the request's size: the growth required before condensing is tried again

# More than OFTEN reductions within STEPS steps are too many: the window is too small for what the turn reads.
STEPS = 4
OFTEN = 2

# Tokenisers differ by less than this factor; a smaller count suggests that the provider truncated the request.
_CUT = 0.5
_SMALLEST = 1_024  # tokens: no model has a smaller window, so a smaller count is not a count
_BARE = 0.8  # share of a request without its tools, from which a low count is one without them
_SAME = 0.02  # difference between two counts of one limit
_GROWN = 1.1  # growth of a request with an unchanged count from which truncation by the provider is suspected

RequestShape = tuple[str, int, int | None]  # model, tokens of its tools, maximum answer


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one session has observed of its models in this process. Immutable: every `record_*` method returns a copy.

    Attributes:
        session: The session's id.
        limits: The largest request that fits, by its shape.
        windows: The window that the provider reported, by model.
        scales: The provider's count of the last request divided by ours, by model.
        failures: Consecutive failures to condense.
        due: Tokens by which a request must grow before the next attempt to condense.
        left: The size of the last request that was sent instead of a condensed one.
        reduced: (interaction, step) of recent reductions.
        deep: The newest interaction with too many reductions.
        full: The largest request that is known to be read completely, by model.
        same: The first request (provider's count, our count) with about the newest count, by model.
        suspected: Models that may have truncated a request.
        toolless: Models that do not see the tools.
        small: Models that have no room for all tools.
        writing: Models that wrote a tool call as text, each with what became of it.
    """

    session: str = ""
    limits: Mapping[RequestShape, int] = field(default_factory=dict)
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
    writing: frozenset[tuple[str, WrittenCall]] = frozenset()

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
        self, shape: RequestShape, sent: int, reserve: int, error: ContextOverflow
    ) -> ModelLimits:
        """Record that a request of `sent` tokens, with `reserve` for the answer, was too long.

        The new limit is the size the provider read, or what the window leaves beside the answer, or a fraction of
        `sent`. If a shorter answer is requested from now on, the window alone decides. One that the provider did not
        name is a fraction of request and answer; it counts if less than four answers. However often a service refuses,
        the limit stays above a quarter of what it names, and above the smallest window of any model."""
        if error.reported and error.limit is not None:
            return replace(self, limits={**self.limits, shape: round(error.limit * 0.9)})
        smaller = int(sent * _SMALLER)
        is_named = bool(error.limit and error.limit >= _SMALLEST)
        window = error.limit if is_named else int((sent + reserve) * _SMALLER)
        if not window or not (is_named or window < 4 * reserve):
            return replace(self, limits={**self.limits, shape: max(smaller, _SMALLEST)})

        known = replace(self, windows={**self.windows, shape[0]: window})
        answer = known.answer_tokens(shape[0], reserve)
        left = request_limit(window, answer) or smaller
        if answer < reserve:
            limit = left
        else:
            least = left // _LEAST_OF_NAMED if is_named else 0
            limit = max(min(smaller, left), least)
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
        may_hide_tools: bool = True,
    ) -> CountCheck:
        """Record the provider's count of a request of `ours` tokens, `tools` of them for the tools.

        `window` is what the server reports to serve. Truncation is suspected when the count is less than half of ours
        or stays the same while requests grow; a smaller `window` or further growth without a higher count proves
        truncation. A count that matches the request without tools means that the server hides them from the model, if
        it `may_hide_tools` and the model has not called one (`has_called`)."""
        read = usage.prompt
        if read <= 0 or ours <= 0:
            return CountCheck(self)
        is_low = read < ours * _CUT
        if has_called and model in self.toolless:
            return CountCheck(replace(self, toolless=self.toolless - {model}))

        if is_low and tools and read >= (ours - tools) * _BARE:
            is_hiding = may_hide_tools and not has_called
            return self._without_tools(model) if is_hiding else CountCheck(self)
        if is_low and read < _SMALLEST:
            return CountCheck(self)

        first = self._first_of_same(model, read, ours)
        known = replace(self, same={**self.same, model: first})
        grown = ours / first[1]
        is_plausible = not is_low and grown < _GROWN
        if is_plausible:
            full = {**self.full, model: max(read, self.full.get(model, 0))}
            known = replace(known, full=full, scales={**self.scales, model: read / ours})

        has_grown = grown >= (1 + 2 * _SAME if is_low else _GROWN**2)
        is_window_smaller = is_low and window is not None and window < ours
        if has_grown or is_window_smaller:
            return CountCheck(known, tokens_read=max(read, known.full.get(model, 0)))
        if is_plausible or model in self.suspected:
            return CountCheck(known)
        line = f"{model} counted {read:,} of about {ours:,} tokens of the request: it may have been truncated"
        return CountCheck(replace(known, suspected=self.suspected | {model}), notice=line)

    def _without_tools(self, model: str) -> CountCheck:
        """Record that a server hides the tools from a model. The user is told once."""
        known = replace(self, toolless=self.toolless | {model})
        if model in self.toolless:
            return CountCheck(known)
        line = f"the server of {model} does not seem to pass on the tools: it can answer, not act"
        return CountCheck(known, notice=line)

    def _first_of_same(self, model: str, read: int, ours: int) -> tuple[int, int]:
        """Return the first request with about this count, as the provider and we counted it: an earlier one that was
        not longer, or this one."""
        newest = (read, ours)
        first = self.same.get(model, newest)
        is_same_count = abs(read - first[0]) <= first[0] * _SAME
        return first if is_same_count and ours >= first[1] else newest


@dataclass(frozen=True, slots=True)
class CountCheck:
    """Result of comparing the provider's count with ours.

    Attributes:
        observed: What is known of the models now.
        tokens_read: What the model read of a request that was provably truncated; 0 if it was not.
        notice: A line for the user, or "".
    """

    observed: ModelLimits
    tokens_read: int = 0
    notice: str = ""
