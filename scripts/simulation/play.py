"""Plays a world under one policy and measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.simulation.policies import Policy
from scripts.simulation.world import CITED, CITED_STRAY, EFFECT, PRAISING, SHOWN, Turn, World, observed, tag_of
from swecli.playbook.score import Citation, Outcome, sigmoid


@dataclass(frozen=True, slots=True)
class Played:
    """What came out: the mean true chance of success, and how well the bullets were known in the end.

    `correlation` is Spearman's between worth and true effect; `auc` how often a harmful bullet stands below another
    one; `helpful_lost` the share of the helpful ones that are no longer shown, `harmful_caught` that of the harmful
    ones; `poisoned` how often a poisoned bullet was shown.
    """

    success: float
    correlation: float
    auc: float
    helpful_lost: float
    harmful_caught: float
    poisoned: int


def play(world: World, policy: Policy, skill: float, habit: str = PRAISING) -> Played:
    """All turns of the world, with a reflector of that skill (0 to 1) and habit."""
    total, poisoned = 0.0, 0
    for turn in world.turns:
        shown = _shown(turn, policy)
        poisoned += sum(world.truths[name].poisoned for name in shown)
        logit = world.base[turn.topic]
        logit += sum(world.effect(name, turn.number) for name in shown if name in turn.relevant)
        chance = sigmoid(logit)
        total += chance
        looks_good, weight = observed(turn, turn.success < chance)
        cited = tuple(
            Citation(name, tag_of(turn.luck[name], _effect(world, turn, name), looks_good, skill, habit))
            for name in shown
            if turn.luck[name].cited < (CITED if name in turn.relevant else CITED_STRAY)
        )
        policy.learn(Outcome(str(turn.topic), looks_good, weight, cited, "model"))
    return _measured(world, policy, total / len(world.turns), poisoned)


def _effect(world: World, turn: Turn, name: str) -> float:
    """What a bullet did in this turn: one of another topic did nothing."""
    return world.effect(name, turn.number) if name in turn.relevant else 0.0


def _shown(turn: Turn, policy: Policy) -> list[str]:
    """The best of the relevant ones that retrieval found, then stray ones as long as there is room."""
    ranked: list[str] = []
    for found in (turn.relevant, turn.stray):
        allowed = [name for name in found if policy.allows(name, turn.number)]
        ranked += sorted(allowed, key=lambda name: -policy.worth(name, turn.number))
    return ranked[:SHOWN]


def _measured(world: World, policy: Policy, success: float, poisoned: int) -> Played:
    last = len(world.turns) - 1
    ours = [truth.id for truth in world.truths.values() if not truth.poisoned]
    worth = [policy.worth(name, last) for name in ours]
    effects = [world.effect(name, last) for name in ours]
    allowed = [policy.allows(name, last) for name in ours]
    helpful = [not ok for ok, effect in zip(allowed, effects, strict=True) if effect > EFFECT / 2]
    harmful = [not ok for ok, effect in zip(allowed, effects, strict=True) if effect < -EFFECT / 2]
    return Played(
        success,
        spearman(worth, effects),
        auc(worth, [effect < -EFFECT / 2 for effect in effects]),
        sum(helpful) / len(helpful),
        sum(harmful) / len(harmful),
        poisoned,
    )


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Rank correlation, -1 to 1; 0 where one of them is the same everywhere."""
    first, second = ranks(one), ranks(other)
    mean = (len(one) + 1) / 2
    product = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    spread = sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second)
    return float(product / spread**0.5) if spread else 0.0


def auc(worth: Sequence[float], harmful: Sequence[bool]) -> float:
    """How often a harmful one is worth less than another one, a tie counting half."""
    place = ranks([-value for value in worth])
    bad = sum(harmful)
    good = len(harmful) - bad
    above = sum(rank for rank, is_bad in zip(place, harmful, strict=True) if is_bad)
    return float((above - bad * (bad + 1) / 2) / (bad * good)) if bad and good else 0.5
