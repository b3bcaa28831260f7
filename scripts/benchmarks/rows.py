"""A measured figure beside its reference, and the table of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

HEAD = ("figure", "ours", "reference", "against", "ratio", "goal", "")
WIDTHS = (48, 11, 11, 34, 7, 7, 4)


class MeasuringError(Exception):
    """A program did not do what was to be measured; says what it did."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How often each thing is done: starts of a program, seconds of typing, processes, inserts, queries."""

    starts: int = 15
    typings: int = 5
    processes: int = 11
    inserts: int = 300
    queries: int = 40


THOROUGH = Effort()
QUICK = Effort(starts=3, typings=1, processes=3, inserts=60, queries=10)
ONCE = Effort(starts=1, typings=1, processes=1, inserts=1, queries=1)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of ours and of its reference, in `unit`; `goal` is the highest good ratio, None to only tell."""

    figure: str
    unit: str
    ours: float
    reference: float
    against: str
    goal: float | None

    @property
    def ratio(self) -> float:
        """Ours to the reference's."""
        return self.ours / self.reference if self.reference else float("inf")

    @property
    def over(self) -> bool:
        """Whether there is a goal and it is missed."""
        return self.goal is not None and self.ratio > self.goal

    def cells(self) -> tuple[str, ...]:
        """The row as texts, in the order of HEAD."""
        goal = "" if self.goal is None else f"≤ {self.goal:g}"
        verdict = "" if self.goal is None else "over" if self.over else "ok"
        values = (figure(self.ours, self.unit), figure(self.reference, self.unit))
        return (self.figure, *values, self.against, f"{self.ratio:.2f}", goal, verdict)


def figure(value: float, unit: str) -> str:
    """Three digits and the unit."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f} {unit}"


def line(cells: Sequence[str]) -> str:
    """The cells in their columns: the first and the fourth to the left, figures to the right."""
    left = (0, 3, 6)
    padded = (
        cell.ljust(width) if place in left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()


def in_turn(times: int, *works: Callable[[], float]) -> list[list[float]]:
    """What each work measured, one list for each; they take turns, so that a busy moment of the machine hits all."""
    measured: list[list[float]] = [[] for _ in works]
    for number in range(times):
        order = range(len(works)) if number % 2 == 0 else range(len(works) - 1, -1, -1)
        for place in order:
            measured[place].append(works[place]())
    return measured


def medians(times: int, *works: Callable[[], float]) -> list[float]:
    """The medians of `in_turn`."""
    return [statistics.median(values) for values in in_turn(times, *works)]


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """The work as one that gives the milliseconds it took."""

    def run() -> float:
        began = time.perf_counter()
        work()
        return (time.perf_counter() - began) * 1000

    return run


def percentile(values: Iterable[float], part: float) -> float:
    """The value that `part` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]
