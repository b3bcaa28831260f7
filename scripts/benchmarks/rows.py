"""A measured figure next to its reference, and the table of such rows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

HEAD = ("figure", "ours", "reference", "against", "ratio", "goal", "")
WIDTHS = (48, 11, 11, 34, 7, 7, 4)


class MeasuringError(Exception):
    """A measured program failed; the message says how."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of repetitions: starts of a program, seconds of typing, processes, inserts, queries."""

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
    """A figure and its reference, in `unit`; `goal` is the highest acceptable ratio, None if there is no goal."""

    figure: str
    unit: str
    ours: float
    reference: float
    against: str
    goal: float | None

    @property
    def ratio(self) -> float:
        """Return the figure divided by its reference."""
        return self.ours / self.reference if self.reference else float("inf")

    @property
    def over(self) -> bool:
        """Return True if a goal is set and missed."""
        return self.goal is not None and self.ratio > self.goal

    def cells(self) -> tuple[str, ...]:
        """Return the row as texts, in the order of HEAD."""
        goal = "" if self.goal is None else f"≤ {self.goal:g}"
        verdict = "" if self.goal is None else "over" if self.over else "ok"
        values = (figure(self.ours, self.unit), figure(self.reference, self.unit))
        return (self.figure, *values, self.against, f"{self.ratio:.2f}", goal, verdict)


def figure(value: float, unit: str) -> str:
    """Format a value with three digits and its unit."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f} {unit}"


def line(cells: Sequence[str]) -> str:
    """Align the cells in their columns: the first and the fourth to the left, figures to the right."""
    left = (0, 3, 6)
    padded = (
        cell.ljust(width) if place in left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()


def in_turn(times: int, *works: Callable[[], float]) -> list[list[float]]:
    """Return the measurements of each work, alternating between them, so that a busy moment of the machine affects
    all."""
    measured: list[list[float]] = [[] for _ in works]
    for number in range(times):
        order = range(len(works)) if number % 2 == 0 else range(len(works) - 1, -1, -1)
        for place in order:
            measured[place].append(works[place]())
    return measured


def medians(times: int, *works: Callable[[], float]) -> list[float]:
    """Return the medians of `in_turn`."""
    return [statistics.median(values) for values in in_turn(times, *works)]


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Wrap the work to return the milliseconds it took."""

    def run() -> float:
        began = time.perf_counter()
        work()
        return (time.perf_counter() - began) * 1000

    return run


def percentile(values: Iterable[float], part: float) -> float:
    """Return the value that `part` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]
