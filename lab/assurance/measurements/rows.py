"""What a measurement is, and the rows that it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of attempt: how often it was made, and a line for each time that it did not hold. `seen` is what else
    was measured."""

    attempt: str
    made: int
    failures: Sequence[str] = ()
    seen: str = ""

    @property
    def held(self) -> int:
        return self.made - len(self.failures)


@dataclass(frozen=True, slots=True)
class Taken:
    """The rows of one measurement, and what they were taken with: versions and kernel."""

    machine: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A section of the page. `method` says what is done and what counts as held.

    `measure` takes how much of it is done, in units of its own, and returns rows; it is called in an empty folder, with
    a home of its own. `quick` is an amount for the test suite, `whole` the one of the page. One that `is_slow` takes
    seconds also in the test suite; `needs` is a program that it cannot do without.
    """

    title: str
    method: str
    measure: Callable[[int], list[Row]]
    quick: int
    whole: int
    is_slow: bool = False
    needs: str = ""
