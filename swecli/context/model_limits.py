"""What a session has learned of its models' true limits, and of how its own attempts at condensing came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from swecli.context.budget import DEFAULT_MAX_TOKENS, request_limit
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.message import Usage

SMALLER = 0.75  # of what was refused, each time
FAILURES = 3  # condensing steps that fail in a row before no other is tried
GROWN = 1.1  # how much larger the context must be before condensing is tried again after a failure
POOR = 0.95  # a reduction that leaves more than this gained too little
POORLY = 3  # such reductions in a row before the turn ends
# A provider that counts less than this part of what was sent has cut it without a word: tokenisers differ by less.
# No model has so small a window as SMALLEST: a count below it is no count.
CUT, SMALLEST = 0.5, 1_024


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What a session has learned of its models in this process; replaced, never changed.

    `limits` maps a model to the tokens it proved to take; `scales` to what it counted for the last request divided
    by our own count. `retry_at` are tokens below which condensing is not tried again.
    """

    limits: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    failures: int = 0
    retry_at: int = 0
    poor: int = 0

    @property
    def gave_up(self) -> bool:
        """Whether condensing has failed too often to be tried again."""
        return self.failures >= FAILURES

    @property
    def in_vain(self) -> bool:
        """Whether reductions brought too little once too often."""
        return self.poor >= POORLY

    def failed(self, tokens: int) -> ModelLimits:
        """Condensing a request of that size has failed."""
        return replace(self, failures=self.failures + 1, retry_at=round(tokens * GROWN))

    def succeeded(self) -> ModelLimits:
        """Condensing worked."""
        return replace(self, failures=0, retry_at=0)

    def reduced(self, before: int, after: int) -> ModelLimits:
        """A request that was too long was reduced."""
        return replace(self, poor=self.poor + 1 if after > before * POOR else 0)

    def refused(self, model: str, sent: int, named: int | None) -> ModelLimits:
        """A request of `sent` tokens was too long; `named` is what the provider allows, None where it named nothing."""
        smaller = int(sent * SMALLER)
        return replace(self, limits={**self.limits, model: min(smaller, named) if named else smaller})

    def resumed(self, model: str, prompt: int, ours: int) -> ModelLimits:
        """Go by the last request that an earlier run stored."""
        if model in self.scales or not (prompt and ours and prompt >= ours * CUT):
            return self
        return replace(self, scales={**self.scales, model: prompt / ours})

    def counted(self, model: str, usage: Usage, ours: int) -> ModelLimits | None:
        """Take the provider's count of a request that we count as `ours`; None when it must have been cut."""
        if usage.prompt <= 0 or ours <= 0:
            return self
        if usage.prompt < ours * CUT:
            return self if usage.prompt < SMALLEST else None
        return replace(self, scales={**self.scales, model: usage.prompt / ours})


def allowed_by(error: ContextOverflow, output: int | None) -> int | None:
    """Tokens that a request may have after a refusal; None where the provider named no figure.

    What it read in silence is what it reads; a window that it names must hold the answer too.
    """
    if error.limit is None:
        return None
    if error.said:
        return round(error.limit * 0.9)
    return request_limit(error.limit, min(output or DEFAULT_MAX_TOKENS, error.limit // 4))


def in_vain(before: int, after: int) -> ContextFull:
    """The stop when reductions bring almost nothing again and again."""
    return ContextFull(
        f"Making the request smaller brought less than 5 % three times in a row ({before:,} → {after:,} tokens).",
        "Take pins back with /unpin, start a /new session, or choose a model with a larger window.",
    )
