"""What a bullet is worth: a calibrated belief whether it harms, does nothing or helps, moved by outcomes and tags.

Pure functions, nothing stored. The plain helpful, harmful and neutral counts stand beside it, unchanged.
The formula is an online Bayesian update over three classes with a logistic outcome (a Rasch model with known step):
for each cited bullet `L(c) = P(outcome | logit)^w * (a*[tag says c] + (1-a)*P0(tag | outcome))`, where P0 is how often
this reflector gives that tag after such an outcome anyway, so that a tag counts only as far as it departs from habit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from swecli.models.errors import BadInput
from swecli.models.playbook import Tag

Standing = Literal["good", "not selected", "quarantined", "proposed for deletion"]

VERSION = 1
EFFECT = 0.8  # logits by which a helpful bullet raises the odds of success, and a harmful one lowers them
INSIGHT = 0.25  # how often a tag is taken to come from insight, the rest from habit
FORGETTING = 0.012  # share of the prior that comes back with each update: what was true may have changed
BASE_RATE_STEP = 0.25
CURIOSITY = 0.15  # standard deviations added to what is expected: little known bullets get their chance
# Standard deviations given to a bullet before it is left out. With none of them, an unlucky helpful bullet leaves at
# its first setback and can never show what it is worth: in the simulation four times as many helpful ones were lost.
DOUBT = 0.5
QUARANTINE, DELETION, LEAST_TAGS = 0.6, 0.9, 2
FURTHEST = 6.0  # logits: no base rate is believed to be surer than 99.75 %
CLASSES = (-1, 0, 1)
TAGS: tuple[Tag, ...] = ("harmful", "neutral", "helpful")  # in the order of CLASSES
_ALWAYS_POSSIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Belief:
    """Probabilities that a bullet is harmful, inert or helpful (they sum to 1), and how many verdicts it had.

    `tags` counts helpful and harmful tags; a neutral one is no verdict.
    """

    harmful: float = 0.2
    inert: float = 0.4
    helpful: float = 0.4
    tags: int = 0

    @property
    def expected(self) -> float:
        """What it is worth, -1 (surely harmful) to 1 (surely helpful)."""
        return self.helpful - self.harmful

    @property
    def deviation(self) -> float:
        """Standard deviation of the worth, 0 to 1."""
        return math.sqrt(max(0.0, self.helpful + self.harmful - self.expected**2))

    @property
    def score(self) -> float:
        """What is expected of it, and a little for what is not known yet."""
        return self.expected + CURIOSITY * self.deviation

    @property
    def standing(self) -> Standing:
        """What follows from it. A deletion is only ever proposed: a person decides."""
        if self.tags >= LEAST_TAGS and self.harmful > DELETION:
            return "proposed for deletion"
        if self.tags >= LEAST_TAGS and self.harmful > QUARANTINE:
            return "quarantined"
        return "not selected" if self.expected + DOUBT * self.deviation < 0 else "good"


PRIOR = Belief()


@dataclass(frozen=True, slots=True)
class Habit:
    """How often a reflector gave each tag (in the order of TAGS), after a success and after a failure.

    It starts with one of each, so that no tag is impossible.
    """

    good: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bad: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def frequency(self, tag: Tag, good: bool) -> float:
        """Its share of this tag after such an outcome, above 0 and below 1."""
        counts = self.good if good else self.bad
        return counts[TAGS.index(tag)] / sum(counts)

    def with_tags(self, tags: Iterable[Tag], good: bool) -> Habit:
        """The habit after these tags."""
        given = list(tags)
        first, second, third = self.good if good else self.bad
        counts = (first + given.count(TAGS[0]), second + given.count(TAGS[1]), third + given.count(TAGS[2]))
        return replace(self, good=counts) if good else replace(self, bad=counts)


@dataclass(frozen=True, slots=True)
class Citation:
    """A bullet that was cited in a turn, and what the reflector said of it (None: nothing)."""

    bullet_id: str
    tag: Tag | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn on a topic ended, and the bullets cited in it.

    `good` is None when nobody can tell: then nothing is learned. `weight` says how sure that is: 1 for tests and
    the user, 0.2 for a model's verdict. `reflector` names whose habit its tags are measured against.
    """

    topic: str
    good: bool | None
    weight: float
    cited: tuple[Citation, ...] = ()
    reflector: str = "rules"


@dataclass(frozen=True, slots=True)
class Standings:
    """All that scoring remembers: beliefs by bullet id, base rates (logits) by topic, habits by reflector."""

    beliefs: Mapping[str, Belief] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    habits: Mapping[str, Habit] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, bullet_id: str) -> Belief:
        """The belief about a bullet; the prior for one that was never cited."""
        return self.beliefs.get(bullet_id, PRIOR)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            "version": VERSION,
            "beliefs": {name: [*_shares(belief), belief.tags] for name, belief in self.beliefs.items()},
            "topics": dict(self.topics),
            "habits": {name: [list(habit.good), list(habit.bad)] for name, habit in self.habits.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> Standings:
        """What `to_json` gave, exactly. Raises BadInput for anything else, and for what a newer version wrote."""
        if isinstance(data, dict) and isinstance(data.get("version"), int) and data["version"] > VERSION:
            raise BadInput("The scores of this playbook were written by a newer swecli.", "Update swecli.")
        try:
            beliefs = {str(name): _belief(row) for name, row in data["beliefs"].items()}
            topics = {str(name): _number(logit) for name, logit in data["topics"].items()}
            habits = {str(name): Habit(_counts(good), _counts(bad)) for name, (good, bad) in data["habits"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"The scores of this playbook cannot be read: {error}.", "They are counted anew.") from error
        return cls(beliefs, topics, habits)


def after(before: Standings, outcome: Outcome) -> Standings:
    """The standings after a turn. The order of its citations does not matter; a bullet cited twice counts once.

    Raises ValueError for a weight that is not in 0 to 1.
    """
    if not 0 <= outcome.weight <= 1:
        raise ValueError(f"the weight of an outcome is 0 to 1, not {outcome.weight}")
    if outcome.good is None or outcome.weight == 0:
        return before
    cited = {c.bullet_id: c for c in outcome.cited}
    base = before.topics.get(outcome.topic, 0.0)
    logit = base + sum(EFFECT * before.of(name).expected for name in cited)
    habit = before.habits.get(outcome.reflector, Habit())
    habit = habit.with_tags((c.tag for c in cited.values() if c.tag), outcome.good)
    moved = {
        name: _moved(before.of(name), citation.tag, logit - EFFECT * before.of(name).expected, outcome, habit)
        for name, citation in cited.items()
    }
    step = BASE_RATE_STEP * outcome.weight * (outcome.good - sigmoid(logit))
    return Standings(
        beliefs={**before.beliefs, **moved},
        topics={**before.topics, outcome.topic: max(-FURTHEST, min(FURTHEST, base + step))},
        habits={**before.habits, outcome.reflector: habit},
    )


def vouched_for(before: Standings, bullet_id: str) -> Standings:
    """The standings after the user's word for a bullet: what spoke against it is forgotten, what spoke for it stays."""
    if before.of(bullet_id).score >= PRIOR.score:
        return before
    return replace(before, beliefs={**before.beliefs, bullet_id: PRIOR})


def _moved(belief: Belief, tag: Tag | None, others: float, outcome: Outcome, habit: Habit) -> Belief:
    """One bullet's belief after the turn; `others` is the logit of success without it."""
    good = bool(outcome.good)
    usual = habit.frequency(tag, good) if tag else 1.0
    weighed = []
    for probability, effect, says in zip(_shares(belief), CLASSES, TAGS, strict=True):
        chance = sigmoid(others + EFFECT * effect)
        likely = max(_ALWAYS_POSSIBLE, chance if good else 1 - chance) ** outcome.weight
        weighed.append(probability * likely * (INSIGHT * (tag == says) + (1 - INSIGHT) * usual if tag else 1.0))
    harmful, inert, helpful = (
        (1 - FORGETTING) * share / sum(weighed) + FORGETTING * prior
        for share, prior in zip(weighed, _shares(PRIOR), strict=True)
    )
    return Belief(harmful, inert, helpful, belief.tags + (tag in ("helpful", "harmful")))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _belief(row: Any) -> Belief:
    harmful, inert, helpful, tags = row
    belief = Belief(_share(harmful), _share(inert), _share(helpful), _count(tags))
    if not math.isclose(sum(_shares(belief)), 1, abs_tol=1e-6):
        raise ValueError("probabilities that do not sum to 1")
    return belief


def _share(value: Any) -> float:
    if not 0 <= (share := _number(value)) <= 1:
        raise ValueError(f"{value!r} is no probability")
    return share


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _counts(values: Any) -> tuple[float, float, float]:
    first, second, third = map(_number, values)
    if min(first, second, third) <= 0:
        raise ValueError(f"{values!r} are no counts")
    return (first, second, third)


def _shares(belief: Belief) -> tuple[float, float, float]:
    return (belief.harmful, belief.inert, belief.helpful)


def sigmoid(logit: float) -> float:
    """The probability of a logit, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def topic_of(sections: Sequence[str]) -> str:
    """The topic of a turn: the section most of its cited bullets stand in, the first by name among equals."""
    return min(sections, key=lambda name: (-sections.count(name), name), default="general")
