"""Scoring of bullets: a belief (harmful, inert, helpful) per bullet, updated by outcomes and tags.

Outcomes follow a Rasch model of fixed step: P(good | c) = sigmoid(b + sum of _STEP·E over the other shown + _STEP·c).
A tag is a mixture: with probability s, the reflector's insight, it is the class, else it is drawn from the reflector's
habit after such an outcome. The insight is learned from the agreement of tags with beliefs, by one step of expectation
maximisation per tag.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from swecli.models.playbook import FORGET, OUTSIDE, Bullet, Tag, Verdict

_STEP = 0.6  # logits that a helpful bullet adds to the odds of success, and a harmful one subtracts
_BASE_STEP = 0.15  # learning rate of the base odds of a kind of turn
_MAX_BASE = 6.0  # logits, 99.75 %
_BENEFIT = 0.4  # standard deviations added to the expected value before a bullet is held back
_NO_BENEFIT = -0.1  # the same for unvouched bullets if no reflector has insight
_IGNORANT, _ENOUGH_TAGS = 0.05, 200  # insight below this, after so many tags, is none
_FIRST_INSIGHT, _FIRST_WEIGHT, _MAX_WEIGHT = 0.25, 40, 400
_CLASSES = (-1, 0, 1)
TAGS: tuple[Tag, ...] = ("harmful", "neutral", "helpful")  # in the order of _CLASSES


def passes(bullet: Bullet, *, ignorant: bool = False) -> bool:
    """Return True if the score allows a bullet in prompts. The user's and pinned bullets always pass; others pass again
    when their evidence fades. `ignorant`: no reflector has insight."""
    if bullet.state == "pinned" or bullet.trust == "user":
        return True
    if bullet.seems_harmful:
        return False
    benefit = _NO_BENEFIT if ignorant and bullet.trust in ("reasoning", *OUTSIDE) else _BENEFIT
    harmful, _, helpful = bullet.current_belief
    deviation = math.sqrt(max(0.0, helpful + harmful - bullet.worth**2))
    return bullet.worth + benefit * deviation >= 0


@dataclass(frozen=True, slots=True)
class Reflector:
    """A reflector's learned `insight` (0 to 1) with its weight `n`, the number of its `tags`, and its habit: counts of
    each tag, in the order of TAGS, after a good, a bad and an unknown outcome."""

    insight: float = _FIRST_INSIGHT
    n: float = _FIRST_WEIGHT
    tags: int = 0
    good: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bad: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unknown: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def ignorant(self) -> bool:
        """True if its insight is low after enough tags."""
        return self.tags >= _ENOUGH_TAGS and self.insight < _IGNORANT

    @classmethod
    def from_json(cls, value: Any) -> Reflector:
        """Restore from a stored dictionary; a new reflector for None."""
        return cls(**value) if isinstance(value, dict) else cls()

    def judge(
        self, name: str, tags: Sequence[tuple[Bullet, Tag, str]], good: bool | None, first: Mapping[str, bool]
    ) -> tuple[tuple[Verdict, ...], Reflector]:
        """Return the verdicts of tags (bullet, tag, reason) after an outcome (None: unknown), and the updated reflector
        `name`. Only a bullet's `first` verdict of a turn moves it towards its prior."""
        which = "unknown" if good is None else "good" if good else "bad"
        s, n, counts, verdicts = self.insight, self.n, list(getattr(self, which)), []
        for bullet, tag, why in tags:
            place = TAGS.index(tag)
            habit, known = counts[place] / sum(counts), s * bullet.current_belief[place]
            one, two, three = (s * (other == tag) + (1 - s) * habit for other in TAGS)
            forget = FORGET if first.get(bullet.id, True) else 0.0
            verdicts.append(Verdict(bullet.id, "tag", tag, name, why, (one, two, three), forget))
            s = (s * n + known / (known + (1 - s) * habit)) / (n + 1)
            n = min(_MAX_WEIGHT, n + 1)
            counts[place] += 1  # within the turn, so that fifty equal tags become a habit
        changed: dict[str, Any] = {which: tuple(counts)}
        return tuple(verdicts), replace(self, insight=s, n=n, tags=self.tags + len(verdicts), **changed)


def outcome_verdicts(
    shown: Sequence[tuple[Bullet, float, str]], good: bool, weight: float, base: float, why: tuple[str, str]
) -> tuple[tuple[Verdict, ...], float]:
    """Return the verdicts of an outcome of `weight` 0 to 1 on the shown bullets, and the new `base` odds (a logit) of
    that kind of turn. Each bullet has its role, its share of the weight (0: no verdict), and the id of the call that
    links it. `why` is the source and the quote of the verdicts."""
    worth = {bullet.id: _STEP * bullet.worth for bullet, _, _ in shown}
    logit, verdicts = base + sum(worth.values()), []
    for bullet, role, call_id in shown:
        if not role:
            continue
        others = logit - worth[bullet.id]
        chances = [_sigmoid(others + _STEP * effect) for effect in _CLASSES]
        first, second, third = (max(1e-9, chance if good else 1 - chance) ** (weight * role) for chance in chances)
        # only a linked bullet is counted as helpful or harmful
        tag: Tag = "neutral" if role < 1 else "helpful" if good else "harmful"
        verdicts.append(Verdict(bullet.id, "outcome", tag, *why, (first, second, third), FORGET, call_id))
    moved = base + _BASE_STEP * weight * (good - _sigmoid(logit))
    return tuple(verdicts), max(-_MAX_BASE, min(_MAX_BASE, moved))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
