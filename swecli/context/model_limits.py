"""What a session has learned of its model's true limits, of its attempts at condensing, and of how often it reduces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from swecli.context.budget import DEFAULT_MAX_TOKENS, request_limit
from swecli.models.errors import ContextOverflow
from swecli.models.message import Usage

SMALLER = 0.75  # of what was refused, each time
REPORTED = (1, 3)  # failures to condense in a row that are reported: the first, and that it goes on
GROWN = 1.1  # how much larger than after a failed summary's fallback a request is before another is asked for
STEPS, OFTEN = 4, 2  # more reductions than OFTEN within so many steps are too many
# A provider that counts less than this part of what was sent has cut it without a word: tokenisers differ by less.
# No model has so small a window as SMALLEST: a count below it is no count.
CUT, SMALLEST = 0.5, 1_024

Shape = tuple[str, int, int | None]


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What was learned in `session`, in this process; replaced, never changed.

    `limits` maps the shape of a request (model, tokens of its tools, tokens of the answer asked for) to the tokens that
    such a one proved to hold; `scales` a model to what it counted for the last request divided by our own count of it.
    `failures` to condense came in a row; below `retry_at` tokens it is not tried again. `reduced` are the newest steps
    with a reduction, of one interaction; `deep` is the newest interaction in which there were too many of them.
    """

    session: str = ""
    limits: Mapping[Shape, int] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    failures: int = 0
    retry_at: int = 0
    reduced: tuple[tuple[int, int], ...] = ()
    deep: int = 0

    def failed(self, left: int) -> ModelLimits:
        """Condensing has failed, and what took its place left so many tokens."""
        return replace(self, failures=self.failures + 1, retry_at=round(left * GROWN))

    def succeeded(self) -> ModelLimits:
        """Condensing worked."""
        return replace(self, failures=0, retry_at=0)

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

    def refused(self, shape: Shape, sent: int, named: int | None) -> ModelLimits:
        """A request of `sent` tokens was too long; `named` is what the provider allows, None where it named nothing."""
        smaller = int(sent * SMALLER)
        return replace(self, limits={**self.limits, shape: min(smaller, named) if named else smaller})

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
