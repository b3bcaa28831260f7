"""What a bullet is worth: one belief (harmful, inert, helpful) for each, moved by outcomes and by tags. Pure.

An outcome is a Rasch model with a known step: P(good | c) = sigmoid(b + sum of _STEP·E over the other shown + _STEP·c).
A tag is a mixture: with the reflector's insight s it names the class, else it is the reflector's habit after such an
outcome, so that a tag counts only as far as it departs from habit. The insight is learned from how far tags agree
with what is believed already (one step of expectation maximisation for each tag).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from swecli.models.playbook import FORGET, OUTSIDE, Belief, Bullet, Tag, Verdict

if TYPE_CHECKING:  # a first request is made before there are records
    from swecli.store.records import TurnRecord

_STEP = 0.6  # logits by which a helpful bullet raises the odds of success, and a harmful one lowers them
_BASE_STEP = 0.15  # how fast the odds of a kind of turn follow its outcomes
_FURTHEST = 6.0  # logits: no kind of turn is believed to be surer than 99.75 %
_BENEFIT = 0.4  # standard deviations granted before a bullet is hidden: an unlucky one must be able to come back
_NO_BENEFIT = -0.1  # the same where the reflector was found to know nothing
_IGNORANT, _ENOUGH_TAGS = 0.05, 200  # insight below that, after so many tags, is none
_FIRST_INSIGHT, _FIRST_WEIGHT, _MOST_WEIGHT = 0.25, 40, 400
_HARMS = 0.6  # probability of harm from which it is held back however much it may help
_CLASSES = (-1, 0, 1)
TAGS: tuple[Tag, ...] = ("harmful", "neutral", "helpful")  # in the order of _CLASSES


def expected(odds: Belief) -> float:
    """What it is worth, -1 (surely harmful) to 1 (surely helpful)."""
    return odds[2] - odds[0]


def deviation(odds: Belief) -> float:
    """Standard deviation of the worth, 0 to 1."""
    return math.sqrt(max(0.0, odds[2] + odds[0] - expected(odds) ** 2))


def passes(bullet: Bullet, *, ignorant: bool = False) -> bool:
    """Whether its score lets it into prompts: else it is held back, and comes back by itself as its evidence fades.
    What the user wrote or pinned is never held back. `ignorant`: no reflector here knows anything."""
    if bullet.state == "pinned" or bullet.trust == "user":
        return True
    odds = bullet.current_belief
    if is_probably_harmful(bullet):
        return False
    benefit = _NO_BENEFIT if ignorant and bullet.trust in ("reasoning", *OUTSIDE) else _BENEFIT
    return expected(odds) + benefit * deviation(odds) >= 0


def is_probably_harmful(bullet: Bullet) -> bool:
    """Whether it is believed to harm: the user is asked whether to remove it."""
    return bullet.current_belief[0] > _HARMS


@dataclass(frozen=True, slots=True)
class Reflector:
    """What is known of who tags: its `insight` (0 to 1, learned), the weight `n` of that, how many `tags` it gave, and
    its habit: counts of each tag (in the order of TAGS) after a good, a bad and an unknown outcome."""

    insight: float = _FIRST_INSIGHT
    n: float = _FIRST_WEIGHT
    tags: int = 0
    good: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bad: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unknown: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def ignorant(self) -> bool:
        """Whether enough was seen of it to say that it knows nothing."""
        return self.tags >= _ENOUGH_TAGS and self.insight < _IGNORANT

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Reflector:
        """What `to_json` gave; a new one for None."""
        return cls(**value) if isinstance(value, dict) else cls()


@dataclass(frozen=True, slots=True)
class ShownBullet:
    """A bullet that was shown in a turn, and by how much of an outcome's weight it is touched: its role, 0 to 1."""

    bullet: Bullet
    role: float
    call_id: str = ""


def outcome_verdicts(
    shown: Sequence[ShownBullet], good: bool, weight: float, base: float, why: tuple[str, str]
) -> tuple[tuple[Verdict, ...], float]:
    """The verdicts that an outcome of this weight (0 to 1) gives the bullets shown, those of role 0 left out, and the
    odds (`base`, a logit) of that kind of turn afterwards. `why` is what showed it, as a name and in words."""
    worth = {item.bullet.id: _STEP * expected(item.bullet.current_belief) for item in shown}
    logit = base + sum(worth.values())
    verdicts = []
    for item in shown:
        if not item.role:
            continue
        others = logit - worth[item.bullet.id]
        chances = [_sigmoid(others + _STEP * effect) for effect in _CLASSES]
        first, second, third = (max(1e-9, chance if good else 1 - chance) ** (weight * item.role) for chance in chances)
        # only what was linked to it is called helpful or harmful
        tag: Tag = "neutral" if item.role < 1 else "helpful" if good else "harmful"
        verdicts.append(Verdict(item.bullet.id, "outcome", tag, *why, (first, second, third), FORGET, item.call_id))
    moved = base + _BASE_STEP * weight * (good - _sigmoid(logit))
    return tuple(verdicts), max(-_FURTHEST, min(_FURTHEST, moved))


def tag_verdicts(
    tags: Sequence[tuple[Bullet, Tag, str]], good: bool | None, who: tuple[str, Reflector], first: Mapping[str, bool]
) -> tuple[tuple[Verdict, ...], Reflector]:
    """The verdicts that a reflector's tags, each with its reason, give after such an outcome (None: unknown), and what
    is known of the reflector afterwards. A bullet forgets a little with its `first` verdict of a turn."""
    name, reflector = who
    which = "unknown" if good is None else "good" if good else "bad"
    s, n, counts, verdicts = reflector.insight, reflector.n, list(getattr(reflector, which)), []
    for bullet, tag, why in tags:
        place = TAGS.index(tag)
        habit, known = counts[place] / sum(counts), s * bullet.current_belief[place]
        one, two, three = (s * (other == tag) + (1 - s) * habit for other in TAGS)
        forget = FORGET if first.get(bullet.id, True) else 0.0
        verdicts.append(Verdict(bullet.id, "tag", tag, name, why, (one, two, three), forget))
        s = (s * n + known / (known + (1 - s) * habit)) / (n + 1)
        n = min(_MOST_WEIGHT, n + 1)
        counts[place] += 1  # at once: fifty alike tags of one turn are a habit, and no fifty surprises
    changed: dict[str, Any] = {which: tuple(counts)}
    return tuple(verdicts), replace(reflector, insight=s, n=n, tags=reflector.tags + len(verdicts), **changed)


def _sigmoid(logit: float) -> float:
    """The probability of a logit, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


_SHRINK = 40  # turns without a difference that are taken for granted
_ENOUGH = 80  # turns with and without it, each, for a difference of 0.2
_WIDTH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True, slots=True)
class Effect:
    """Turns with a known outcome in which a strategy was shown, and in which it was withheld; how many went well."""

    shown: int = 0
    shown_good: int = 0
    withheld: int = 0
    withheld_good: int = 0

    @property
    def difference(self) -> float:
        """Share of turns that went well when shown less that when withheld, shrunken towards 0."""
        if not (self.shown and self.withheld):
            return 0.0
        turns = min(self.shown, self.withheld)
        return (self.shown_good / self.shown - self.withheld_good / self.withheld) * turns / (turns + _SHRINK)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the difference."""
        parts = ((self.shown_good, self.shown), (self.withheld_good, self.withheld))
        shares = [((good + 1) / (count + 2), count + 2) for good, count in parts]
        return _WIDTH * math.sqrt(sum(share * (1 - share) / count for share, count in shares))

    def in_words(self) -> str:
        """The difference with its interval, or that there is too little to say."""
        if min(self.shown, self.withheld) < _ENOUGH:
            return f"not enough data ({self.shown} shown, {self.withheld} withheld)"
        return f"{self.difference:+.2f} ± {self.half_width:.2f}"


def effect_of(bullet_id: str, records: Sequence[TurnRecord]) -> Effect:
    """The effect of one strategy by the turns with a known outcome."""
    shown = [r.good for r in records if r.good is not None and bullet_id in r.shown]
    withheld = [r.good for r in records if r.good is not None and bullet_id in r.withheld]
    return Effect(len(shown), sum(map(bool, shown)), len(withheld), sum(map(bool, withheld)))
