"""Plays many worlds under every policy, and tells the figures with their intervals and the goals that are missed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.simulation.entry import active
from scripts.simulation.play import Played, play
from scripts.simulation.policies import (
    AtFirstDoubt,
    DecayedBeta,
    GatedNetCount,
    HarmfulPruned,
    NetCount,
    Nothing,
    Oracle,
    Ours,
    Policy,
)
from scripts.simulation.world import PRAISING, make_world

FIGURES = ("success", "gain", "correlation", "auc", "helpful_lost", "harmful_caught", "poisoned")
HEAD = ("policy", "success", "gain", "rank corr.", "AUC harmful", "helpful lost", "harmful caught", "poisoned shown")
WIDTHS = (20, 16, 18, 18, 16, 16, 16, 14)
GOAL_SKILL = 0.25


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over seeds with its 95 % interval (normal), and the values of the seeds."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    def text(self) -> str:
        """`0.76 ±0.02`: the mean and half of the interval."""
        return f"{self.mean:.3f} ±{(self.high - self.low) / 2:.3f}"


Table = dict[str, dict[str, Figure]]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that is to be reached by ours at a skill; `reached` judges its mean."""

    text: str
    skill: float
    figure: str
    reached: Callable[[float], bool]


GOALS = (
    Goal("rank correlation >= 0.75", GOAL_SKILL, "correlation", lambda mean: mean >= 0.75),
    Goal("AUC for harmful >= 0.92", GOAL_SKILL, "auc", lambda mean: mean >= 0.92),
    Goal("gain >= 0.60", GOAL_SKILL, "gain", lambda mean: mean >= 0.60),
    Goal("helpful lost <= 5 %", GOAL_SKILL, "helpful_lost", lambda mean: mean <= 0.05),
    Goal("poisoned shown 0", GOAL_SKILL, "poisoned", lambda mean: mean == 0),
    Goal("without insight not below no playbook", 0.0, "gain", lambda mean: mean >= 0),
)


def simulated(seeds: Sequence[int], turns: int, skills: Sequence[float], habit: str = PRAISING) -> dict[float, Table]:
    """The table of each skill: figures by policy and name."""
    rows: dict[float, dict[str, list[dict[str, float]]]] = {skill: {} for skill in skills}
    for seed in seeds:
        world = make_world(seed, turns)
        trusted = active(world)
        for skill in skills:
            policies: list[Policy] = [Nothing(), NetCount(), GatedNetCount(trusted), HarmfulPruned(), DecayedBeta()]
            policies += [AtFirstDoubt(trusted), Ours(trusted), Oracle(world)]
            played = {policy.name: play(world, policy, skill, habit) for policy in policies}
            for name, row in _with_gain(played):
                rows[skill].setdefault(name, []).append(row)
    return {
        skill: {name: {f: summary(row[f] for row in found) for f in FIGURES} for name, found in table.items()}
        for skill, table in rows.items()
    }


def _with_gain(played: dict[str, Played]) -> Iterator[tuple[str, dict[str, float]]]:
    floor, ceiling = played[Nothing.name].success, played[Oracle.name].success
    for name, one in played.items():
        row = {figure: float(getattr(one, figure)) for figure in FIGURES if figure != "gain"}
        yield name, row | {"gain": (one.success - floor) / (ceiling - floor)}


def summary(values: Iterable[float]) -> Figure:
    """The mean over seeds; a single seed has no interval."""
    found = tuple(values)
    mean = statistics.fmean(found)
    half = 1.96 * statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return Figure(mean, mean - half, mean + half, found)


def lines(tables: dict[float, Table]) -> Iterator[str]:
    """The tables as text, then each goal and whether it is reached."""
    for skill, table in tables.items():
        yield f"\nreflector's insight {skill:g}"
        yield _row(HEAD)
        yield _row(["-" * width for width in WIDTHS])
        for name, figures in table.items():
            yield _row((name, *(figures[figure].text() for figure in FIGURES)))
    judged = list(goals(tables))
    yield ""
    for row in judged:
        verdict = "reached" if row["reached"] else "MISSED"
        alone = f"in {row['worlds']} of {row['of']} single worlds"
        yield f"{verdict:8} {row['goal']} (insight {row['skill']:g}): {row['mean']:.3f}; {alone}"


def goals(tables: dict[float, Table]) -> Iterator[dict[str, Any]]:
    """Each goal whose skill was played, with the figure of ours."""
    for goal in GOALS:
        if goal.skill in tables:
            figure = tables[goal.skill][Ours.name][goal.figure]
            row = {"goal": goal.text, "skill": goal.skill, "mean": figure.mean, "reached": goal.reached(figure.mean)}
            yield row | {"worlds": sum(map(goal.reached, figure.values)), "of": len(figure.values)}


def _row(cells: Sequence[str]) -> str:
    first, *others = zip(cells, WIDTHS, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()
