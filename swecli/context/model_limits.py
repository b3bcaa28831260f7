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
# A provider that counts less than this part of what was sent may have cut it without a word: tokenisers differ by less.
# No model has so small a window as SMALLEST: a count below it is no count.
CUT, SMALLEST = 0.5, 1_024
BARE, SAME = 0.8, 0.02  # of the request without its tools; by how much two counts of one limit differ

Shape = tuple[str, int, int | None]


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What was learned in `session`, in this process; replaced, never changed.

    `limits` maps the shape of a request (model, tokens of its tools, tokens of the answer asked for) to the tokens that
    such a one proved to hold; `scales` a model to what it counted for the last request divided by our own count of it.
    `failures` to condense came in a row; below `retry_at` tokens it is not tried again. `reduced` are the newest steps
    with a reduction, of one interaction; `deep` is the newest interaction in which there were too many of them.
    `full` is the largest request of a model that was read in full, `suspected` the last that may have been cut (its
    count and ours), `toolless` are models whose server does not show them the tools.
    """

    session: str = ""
    limits: Mapping[Shape, int] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    failures: int = 0
    retry_at: int = 0
    reduced: tuple[tuple[int, int], ...] = ()
    deep: int = 0
    full: Mapping[str, int] = field(default_factory=dict)
    suspected: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    toolless: frozenset[str] = frozenset()

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

    def counted(self, model: str, usage: Usage, ours: int, tools: int = 0, window: int | None = None) -> Counted:
        """Take the provider's count of a request that we count as `ours`, `tools` of it for the tools; `window` is what
        the server itself says it serves.

        A count under half of ours makes a cut suspected; it is proved by a second witness: the server's window, or a
        larger request with the same count. A count that fits the request without tools comes of a server that does
        not show them to the model.
        """
        read, bare = usage.prompt, ours - tools
        if read <= 0 or ours <= 0:
            return Counted(self)
        if read >= ours * CUT or read < SMALLEST:
            scaled = self if read < ours * CUT else replace(self, scales={**self.scales, model: read / ours})
            full = {**self.full, model: max(read, self.full.get(model, 0))} if read >= ours * CUT else self.full
            return Counted(replace(scaled, full=full))
        if tools and read >= bare * BARE:
            known = replace(self, toolless=self.toolless | {model})
            return Counted(
                known, notice="" if model in self.toolless else f"{model} does not seem to be shown the tools"
            )
        before = self.suspected.get(model)
        known = replace(self, suspected={**self.suspected, model: (read, ours)})
        again = before is not None and ours > before[1] and abs(read - before[0]) <= before[0] * SAME
        if again or (window is not None and window < ours):
            return Counted(known, cut=max(read, self.full.get(model, 0)))
        words = f"{model} counted {read:,} of about {ours:,} tokens of the request: it may have been cut"
        return Counted(known, notice="" if before else words)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a provider's count showed: `cut` is how many tokens were read, where it is proved that the rest was not;
    `notice` is a line for the user."""

    known: ModelLimits
    cut: int = 0
    notice: str = ""


def allowed_by(error: ContextOverflow, output: int | None) -> int | None:
    """Tokens that a request may have after a refusal; None where the provider named no figure.

    What it read in silence is what it reads; a window that it names must hold the answer too.
    """
    if error.limit is None:
        return None
    if error.said:
        return round(error.limit * 0.9)
    return request_limit(error.limit, min(output or DEFAULT_MAX_TOKENS, error.limit // 4))
