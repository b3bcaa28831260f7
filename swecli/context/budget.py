"""How large a request may be: reserve, buffer and thresholds, and what a session has learned of its
model's true limits, of its attempts at condensing, and of how often it reduces."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from swecli.models.errors import ContextOverflow
from swecli.models.message import Usage

TOKEN_BUFFER_PERCENTAGE = 0.1
MIN_CONDENSE_THRESHOLD = 50
MAX_CONDENSE_THRESHOLD = 100
DEFAULT_MAX_TOKENS = 8192
_INHERIT = -1
LEAN_WINDOW = 16_384  # tokens: up to here a model gets few tools and a short system text
SMALL_WINDOW = 32_768

# Where a model's window is unknown this many characters are the limit; where it is known, an upper cap.
MAX_CHARACTERS = 500_000

_SMALLER = 0.75  # of what was refused, each time
REPORTED = (1, 3)  # failures to condense in a row that are reported: the first, and that it goes on
_RETRY = 0.1  # of what a failed summary's fallback left, which comes in before another is asked for
_GROWN = 1.1  # how much larger a request with the same count is than the one before, to be suspected of a cut
STEPS, OFTEN = 4, 2  # more reductions than OFTEN within so many steps are too many
# A provider that counts less than this part of what was sent may have cut it without a word: tokenisers differ by less.
# No model has so small a window as _SMALLEST: a count below it is not a count.
_CUT, _SMALLEST = 0.5, 1_024
_BARE, _SAME = 0.8, 0.02  # of the request without its tools; by how much two counts of one limit differ

_Shape = tuple[str, int, int | None]
_log = logging.getLogger(__name__)


def allowed_tokens(context_window: int, max_tokens: int | None = None) -> int:
    """Tokens a request may have: nine tenths of the window, less `max_tokens` for the answer (None or 0: 8192).
    Negative when that is larger than the window: then nothing fits."""
    return context_window * round(100 - 100 * TOKEN_BUFFER_PERCENTAGE) // 100 - (max_tokens or DEFAULT_MAX_TOKENS)


def effective_threshold(percent: int, profile_thresholds: Mapping[str, int], profile_id: str) -> int:
    """The percentage of the window at which a profile's context is reduced: its own from 50 to 100; -1, or no entry,
    inherits `percent`; anything else is logged as a warning and inherits too."""
    own = profile_thresholds.get(profile_id, _INHERIT)
    if own == _INHERIT:
        return percent
    if MIN_CONDENSE_THRESHOLD <= own <= MAX_CONDENSE_THRESHOLD:
        return own
    line = "threshold %s of profile %r is not between %s and %s: the global one, %s, is used"
    _log.warning(line, own, profile_id, MIN_CONDENSE_THRESHOLD, MAX_CONDENSE_THRESHOLD, percent)
    return percent


def request_limit(context_window: int | None, max_output: int | None = None) -> int | None:
    """Tokens a real request is held to; None where the window is unknown (then characters decide). At least a quarter
    of the window: many small local models have answers as long as it, and `allowed_tokens` would leave no room for a
    question."""
    if not context_window or context_window < 0:
        return None
    return max(allowed_tokens(context_window, max_output), context_window // 4)


def is_lean(window: int | None) -> bool:
    """Whether a window of that many tokens has no room for all tools."""
    return window is not None and window <= LEAN_WINDOW


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What was learned in `session`, in this process; replaced, never changed. `limits` maps the shape of a request
    (model, tokens of its tools, of the answer asked for) to the tokens that such a one proved to hold; `windows` a
    model to the window that its provider named; `scales` a model to what it counted for the last request
    divided by our own count. `failures` to condense came in a row; it is not tried again before `due` tokens have come
    in; `left` is the size of the last request. `reduced` are the newest steps with a reduction, `deep` is the newest
    interaction with too many. `full` is the largest request of a model that was read in full, `same` the first one with
    about its newest count (that count and ours), `suspected` are models that may have cut one, `toolless` those whose
    server does not show them the tools, `small` those that hold nothing beside all tools."""

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

    def failed(self, left: int) -> ModelLimits:
        """Condensing has failed, and what took its place left so many tokens: a tenth of them is due before the next
        attempt, twice as much after each failure beyond the third."""
        due = round(left * _RETRY * 2 ** max(0, self.failures - 2))
        return replace(self, failures=self.failures + 1, due=due, left=left)

    def take_reduction(self, interaction: int, step: int, *, deep: bool = False) -> ModelLimits:
        """A request of that step was made smaller; `deep`: by so much that the steps before no longer count."""
        if deep:
            return replace(self, reduced=(), deep=interaction)
        recent = [one for one in self.reduced if one[0] == interaction and one[1] > step - STEPS]
        return replace(self, reduced=(*recent, (interaction, step)))

    def too_often(self, interaction: int, step: int) -> bool:
        """Whether one more reduction at that step would be too many in too few steps."""
        recent = {one for one in self.reduced if one[0] == interaction and step - STEPS < one[1] < step}
        return len(recent) >= OFTEN

    def refused(self, shape: _Shape, sent: int, reserve: int, error: ContextOverflow) -> ModelLimits:
        """A request of `sent` tokens, with `reserve` for the answer, was too long: the next holds what was read of it
        in silence, or what the named window has beside the answer; else it is smaller by a part. Where a shorter answer
        is asked for from now on, that may be all that was too much."""
        if error.reported and error.limit is not None:
            return replace(self, limits={**self.limits, shape: round(error.limit * 0.9)})
        window = error.limit if error.limit and error.limit >= _SMALLEST else None
        known = replace(self, windows={**self.windows, shape[0]: window}) if window else self
        answer, smaller = known.answer(shape[0], reserve), int(sent * _SMALLER)
        named = request_limit(window, answer) or smaller
        return replace(known, limits={**self.limits, shape: named if answer < reserve else min(smaller, named)})

    def answer(self, model: str, reserve: int) -> int:
        """Tokens of the answer to ask for: at most a quarter of the window that a provider named."""
        return min(reserve, self.windows.get(model, 4 * reserve) // 4)

    def resumed(self, model: str, prompt: int, ours: int) -> ModelLimits:
        """Go by the last request that an earlier run stored."""
        if model in self.scales or not (prompt and ours and prompt >= ours * _CUT):
            return self
        return replace(self, scales={**self.scales, model: prompt / ours})

    def counted(self, model: str, usage: Usage, ours: int, tools: int = 0, window: int | None = None) -> Counted:
        """Take the provider's count of a request that we count as `ours`, `tools` of it for the tools; `window` is what
        the server itself says it serves. A count under half of ours makes a cut suspected, as does one that stays the
        same while requests grow; it is proved by a second witness: the server's window, or a request that grew by so
        much more. A count that fits the request without tools comes of a server that does not show them to the model.
        """
        read, few = usage.prompt, usage.prompt < ours * _CUT
        if read <= 0 or ours <= 0:
            return Counted(self)
        if few and tools and read >= (ours - tools) * _BARE:
            words = f"the server of {model} does not seem to pass on the tools: it can answer, not act"
            known = replace(self, toolless=self.toolless | {model})
            return Counted(known, notice="" if model in self.toolless else words)
        if few and read < _SMALLEST:
            return Counted(self)
        first = self.same.get(model, (read, ours))
        first = first if abs(read - first[0]) <= first[0] * _SAME and ours >= first[1] else (read, ours)
        known = replace(self, same={**self.same, model: first})
        grown = ours / first[1]
        if not few and grown < _GROWN:
            full = {**self.full, model: max(read, self.full.get(model, 0))}
            known = replace(known, full=full, scales={**self.scales, model: read / ours})
        if grown >= (1 + 2 * _SAME if few else _GROWN**2) or (few and window is not None and window < ours):
            return Counted(known, cut=max(read, known.full.get(model, 0)))
        if (not few and grown < _GROWN) or model in self.suspected:
            return Counted(known)
        words = f"{model} counted {read:,} of about {ours:,} tokens of the request: it may have been cut"
        return Counted(replace(known, suspected=self.suspected | {model}), notice=words)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a provider's count showed: `cut` is how many tokens were read, where it is proved that the rest was not;
    `notice` is a line for the user."""

    known: ModelLimits
    cut: int = 0
    notice: str = ""
