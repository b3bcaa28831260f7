"""What a review was to read and what became of it, line by line, and what it is expected to cost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

Unit = Literal["changed lines", "lines"]
_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """A file that a rule leaves out of the plan."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """One file's planned lines by class, as ranges from 1, both ends included. `why` is of those not read."""

    path: str
    read: _Ranges = ()
    shown: _Ranges = ()
    not_read: _Ranges = ()
    why: str = ""

    @property
    def whole(self) -> bool:
        """Whether every planned line of it was read."""
        return not self.shown and not self.not_read


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every planned line is in one class.

    read: it stood in an answered request and a report of its part came back, or an earlier review (`earlier`) read the
    same code. shown: it stood in an answered request, but no report of its part could be read. not read: the rest.
    `unverified` are findings that a complete review would have had verified.
    """

    unit: Unit = "changed lines"
    files: tuple[FileCoverage, ...] = ()
    skipped: tuple[Skip, ...] = ()
    earlier: str = ""
    unverified: int = 0
    total: int = 0
    read: int = 0
    shown: int = 0
    not_read: int = 0

    @property
    def complete(self) -> bool:
        """Whether every planned line was read and nothing is left unverified."""
        return self.read == self.total and not self.unverified

    def to_json(self, *, files: bool = True) -> dict[str, Any]:
        """Plain JSON values, with the files or in counts only."""
        names = ("unit", "total", "read", "shown", "not_read", "complete", "unverified", "earlier")
        listed = ("files", "skipped") if files else ()
        known: dict[str, Any] = json.loads(json.dumps(asdict(self))) | {"complete": self.complete}
        return {name: known[name] for name in (*names, *listed)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a review is expected to take, as (least, most). `cost` in US dollars, None where the price is unknown;
    `loops_for_all` is how many loops reading every part is expected to need."""

    loops: tuple[int, int]
    requests: tuple[int, int]
    tokens: tuple[int, int]
    cost: tuple[float, float] | None
    loops_for_all: int
    basis: str


def ranges_of(lines: set[int]) -> _Ranges:
    """Lines as ranges: {1, 2, 3, 7} is ((1, 3), (7, 7))."""
    out: list[tuple[int, int]] = []
    for line in sorted(lines):
        if out and line == out[-1][1] + 1:
            out[-1] = (out[-1][0], line)
        else:
            out.append((line, line))
    return tuple(out)
