"""A made-up world in which every bullet has a known true effect, and the luck of each of its turns drawn beforehand.

All policies play the same turns with the same luck, so that they differ by what they show and by nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Literal

from swecli.models.playbook import Tag

TOPICS, BULLETS, POISONED = 12, 72, 5
LOWEST, HIGHEST = 0.12, 0.95  # base rates of success
EFFECT, SPREAD = 0.9, 0.25  # logits
HELPFUL, INERT = 0.45, 0.30  # shares; the rest is harmful
TURNING = 0.2  # share of the helpful ones that turn harmful at half time
SHOWN = 4  # bullets a turn, at most
MISSED = 0.15  # share of the relevant ones that retrieval misses
STRAY = 3  # bullets of other topics that retrieval brings up
CITED, CITED_STRAY = 0.8, 0.08
TESTS, TESTS_RIGHT = 0.5, 0.97
USER, USER_RIGHT = 0.15, 0.95
FLATTERY = 0.6  # share of the failures that the judge calls a success
SURE, UNSURE = 1.0, 0.2  # weights of an outcome: tests and the user, the judge
# What a reflector says when it does not know, in shares of helpful, neutral, harmful, after a success and a failure.
HABITS: dict[str, dict[bool, tuple[float, float, float]]] = {
    "praising": {True: (0.90, 0.09, 0.01), False: (0.60, 0.30, 0.10)},
    "mixed": {True: (0.75, 0.20, 0.05), False: (0.30, 0.35, 0.35)},
    "echoing": {True: (0.95, 0.05, 0.00), False: (0.05, 0.05, 0.90)},
}
PRAISING = "praising"

Seen = Literal["tests", "user", "judge"]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a bullet really does: its effect in logits before and after half time. `arrives` is its first turn."""

    id: str
    topic: int
    first: float
    later: float
    poisoned: bool = False
    arrives: int = 0


@dataclass(frozen=True, slots=True)
class Luck:
    """What chance decides about one candidate in one turn, as numbers in 0 to 1."""

    cited: float
    insight: float
    habit: float


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: its topic, what retrieval found for it (of its own topic, and stray), and its luck."""

    number: int
    topic: int
    relevant: tuple[str, ...]
    stray: tuple[str, ...]
    luck: dict[str, Luck]
    success: float
    seen: Seen
    right: float


@dataclass(frozen=True, slots=True)
class World:
    """Base rates (logits) by topic, the truth about each bullet, and the turns."""

    base: tuple[float, ...]
    truths: dict[str, Truth]
    turns: tuple[Turn, ...]

    def effect(self, bullet_id: str, turn: int) -> float:
        """What a bullet does at that time, in logits."""
        truth = self.truths[bullet_id]
        return truth.first if turn < len(self.turns) / 2 else truth.later


def make_world(seed: int, turns: int) -> World:
    """The world of a seed."""
    rng = Random(seed)
    rates = [LOWEST + (HIGHEST - LOWEST) * place / (TOPICS - 1) for place in range(TOPICS)]
    rng.shuffle(rates)
    truths = {truth.id: truth for truth in _truths(rng, turns)}
    traffic = [1 / (place + 1) for place in range(TOPICS)]
    made = tuple(_turn(rng, number, rng.choices(range(TOPICS), traffic)[0], truths) for number in range(turns))
    return World(tuple(math.log(rate / (1 - rate)) for rate in rates), truths, made)


def _truths(rng: Random, turns: int) -> list[Truth]:
    helpful, inert = round(BULLETS * HELPFUL), round(BULLETS * INERT)
    classes = [1] * helpful + [0] * inert + [-1] * (BULLETS - helpful - inert)
    rng.shuffle(classes)
    turning = set(rng.sample([at for at, sign in enumerate(classes) if sign > 0], round(helpful * TURNING)))
    found = []
    for at, sign in enumerate(classes):
        first = rng.gauss(sign * EFFECT, SPREAD)
        later = rng.gauss(-EFFECT, SPREAD) if at in turning else first
        found.append(Truth(f"P-{at + 1}", at % TOPICS, first, later))
    for at in range(POISONED):
        effect = rng.gauss(-EFFECT, SPREAD)
        arrives = rng.randrange(max(1, turns // 2))
        found.append(Truth(f"P-{BULLETS + at + 1}", rng.randrange(TOPICS), effect, effect, True, arrives))
    return found


def _turn(rng: Random, number: int, topic: int, truths: dict[str, Truth]) -> Turn:
    here = [truth for truth in truths.values() if truth.arrives <= number]
    relevant = tuple(truth.id for truth in here if truth.topic == topic and rng.random() >= MISSED)
    stray = tuple(rng.sample([truth.id for truth in here if truth.topic != topic], STRAY))
    luck = {name: Luck(rng.random(), rng.random(), rng.random()) for name in (*relevant, *stray)}
    draw = rng.random()
    seen: Seen = "tests" if draw < TESTS else "user" if draw < TESTS + USER else "judge"
    return Turn(number, topic, relevant, stray, luck, rng.random(), seen, rng.random())


def observed(turn: Turn, good: bool) -> tuple[bool, float]:
    """What is seen of an outcome, and how much it weighs."""
    if turn.seen == "judge":
        return good or turn.right < FLATTERY, UNSURE
    right = TESTS_RIGHT if turn.seen == "tests" else USER_RIGHT
    return good == (turn.right < right), SURE


def tag_of(luck: Luck, effect: float, looks_good: bool, skill: float, habit: str = PRAISING) -> Tag:
    """What a reflector says of a cited bullet: the truth with the probability `skill`, else what it always says."""
    if luck.insight < skill:
        return "helpful" if effect > EFFECT / 2 else "harmful" if effect < -EFFECT / 2 else "neutral"
    helpful, neutral, _ = HABITS[habit][looks_good]
    return "helpful" if luck.habit < helpful else "neutral" if luck.habit < helpful + neutral else "harmful"
