"""What can happen while a review runs, beside the events of any turn; and its coverage, line by line.

Three of the events are seed 000's: in the stream they carry its spelling too, `taskId` and `data`, beside the flat
fields: `seed` maps its names to ours.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from swecli.models.events import Event
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import Usage

Unit = Literal["changed lines", "lines"]
_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SkippedFile:
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
    skipped: tuple[SkippedFile, ...] = ()
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


def to_ranges(lines: set[int]) -> _Ranges:
    """Lines as ranges: {1, 2, 3, 7} is ((1, 3), (7, 7))."""
    out: list[tuple[int, int]] = []
    for line in sorted(lines):
        if out and line == out[-1][1] + 1:
            out[-1] = (out[-1][0], line)
        else:
            out.append((line, line))
    return tuple(out)


class ReviewEvent(Event):
    """Base of them all."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReviewStarted(ReviewEvent):
    """A review begins, or goes on behind `loop` where it was stopped. `leads` come from tools, not from the model."""

    review: str
    target: str
    files: int
    loops: int
    loop: int = 0
    leads: int = 0
    checks: int = 0


@dataclass(frozen=True, slots=True)
class ReviewPlanned(ReviewEvent):
    """What will be read: `lines` of `unit` in `parts`; what a rule skips; what it is expected to take."""

    review: str
    parts: int
    hunks: int
    lines: int
    unit: str
    skipped: tuple[SkippedFile, ...] = ()
    estimate: Estimate | None = None
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewProgressed(ReviewEvent):
    """A loop is done. `seen` of `files` were read whole; `findings` are unique; `cost` in US dollars, None where
    unknown. `paths` are the files of the part that was asked for; `coverage` has the counts."""

    loop: int
    loops: int
    seen: int
    files: int
    findings: int
    tokens: int
    cost: float | None
    part: int = 0
    parts: int = 0
    paths: tuple[str, ...] = ()
    coverage: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingsAccumulated(ReviewEvent):
    """A response reported findings: `new` were not known in this review, `total` counts all so far, repetitions too."""

    type: ClassVar[str] = "code_smells_accumulated"
    seed: ClassVar[dict[str, str]] = {"newIssues": "new", "totalIssues": "total", "loop": "loop"}
    new: int
    total: int
    loop: int
    findings: tuple[Finding, ...] = ()
    review: str = ""


@dataclass(frozen=True, slots=True)
class LoopWindowApplied(ReviewEvent):
    """Old messages left the review's conversation; its findings are kept elsewhere. Counts are messages."""

    type: ClassVar[str] = "sliding_window_applied"
    seed: ClassVar[dict[str, str]] = {"loop": "loop", "messagesRemoved": "removed", "messagesKept": "kept"}
    loop: int
    removed: int
    kept: int
    review: str = ""


@dataclass(frozen=True, slots=True)
class FindingsJudged(ReviewEvent):
    """A fresh request compared claims with the code."""

    confirmed: int
    refuted: int
    cannot_tell: int
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewFinished(ReviewEvent):
    """The last event of a review, however it ended: every unique finding of all its loops.

    `total` counts repetitions too; `by_type` the unique ones; `lost` has what could not be read; `end` is done,
    unreadable, max_loops, max_budget, interrupted or failed; `estimate` is what it was expected to take.
    """

    type: ClassVar[str] = "final_code_smells_summary"
    # the total is that of the unique ones, the sum of `issuesByType`
    seed: ClassVar[dict[str, str]] = {"totalIssues": "unique", "loops": "loops", "issuesByType": "by_type"}
    total: int
    unique: int
    loops: int
    by_type: dict[str, int]
    review: str
    end: ReviewEnd
    findings: tuple[Finding, ...] = ()
    lost: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    coverage: Coverage = field(default_factory=Coverage)
    estimate: Estimate | None = None

    @property
    def complete(self) -> bool:
        """Whether everything planned was read and what matters was verified."""
        return self.end == "done" and self.coverage.complete
