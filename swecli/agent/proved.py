"""What a session has learned of its models' true limits, and of how its own attempts at condensing came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from swecli.models.model_io import Usage

SMALLER = 0.75  # of what was refused, each time
FAILURES = 3  # condensing steps that fail in a row before no other is tried
GROWN = 1.1  # how much larger the context must be before condensing is tried again after a failure
POOR = 0.95  # a reduction that leaves more than this gained too little
POORLY = 3  # such reductions in a row before the turn ends
# A provider that counts less than this part of what was sent has cut it without a word: tokenisers differ by less.
# No model has so small a window as SMALLEST: a count below it is no count.
CUT, SMALLEST = 0.5, 1_024


@dataclass(slots=True)
class Proved:
    """Lives as long as the session does in this process.

    `limits` maps a model to the tokens it proved to take; `scales` to what it counted for the last request divided
    by our own count. `retry_at` are tokens below which condensing is not tried again.
    """

    limits: dict[str, int] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)
    failures: int = 0
    retry_at: int = 0
    poor: int = 0

    @property
    def gave_up(self) -> bool:
        """Whether condensing has failed too often to be tried again."""
        return self.failures >= FAILURES

    def failed(self, tokens: int) -> None:
        """Condensing a request of that size has failed."""
        self.failures += 1
        self.retry_at = round(tokens * GROWN)

    def succeeded(self) -> None:
        """Condensing worked."""
        self.failures = self.retry_at = 0

    def gained(self, before: int, after: int) -> bool:
        """Note what a reduction of a request that was too long brought; False when it was too little once too often."""
        self.poor = self.poor + 1 if after > before * POOR else 0
        return self.poor < POORLY

    def refused(self, model: str, sent: int, said: int | None) -> None:
        """A request of `sent` tokens was too long; `said` is what the provider allows, None where it did not say."""
        smaller = int(sent * SMALLER)
        self.limits[model] = min(smaller, said) if said else smaller

    def resumed(self, model: str, prompt: int, ours: int) -> None:
        """Go by the last request that an earlier run stored."""
        if prompt and ours and prompt >= ours * CUT:
            self.scales.setdefault(model, prompt / ours)

    def counted(self, model: str, usage: Usage, ours: int) -> bool:
        """Take the provider's count of a request that we count as `ours`; False when it must have been cut."""
        if usage.prompt <= 0 or ours <= 0:
            return True
        if usage.prompt < ours * CUT:
            return usage.prompt < SMALLEST
        self.scales[model] = usage.prompt / ours
        return True
