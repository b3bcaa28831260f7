"""The events of a review, and its coverage by line.

Three events also have the fields `taskId` and `data` of the first version in the JSON stream; `seed` maps the names in
`data` to ours.
"""

from __future__ import annotations

import json
from dataclasses import asdict, field
from typing import ClassVar, Literal

from swecli.models.events import Event
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.json_value import JsonObject
from swecli.models.message import Usage
from swecli.values import dataclass

Unit = Literal["changed lines", "lines"]
_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that a rule excludes from the review."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The planned lines of one file by class, as inclusive ranges from 1. `why` is the reason for `not_read`."""

    path: str
    read: _Ranges = ()
    shown: _Ranges = ()
    not_read: _Ranges = ()
    why: str = ""

    @property
    def whole(self) -> bool:
        return not self.shown and not self.not_read


@dataclass(frozen=True, slots=True)
class Coverage:
    """The planned lines of a review by class.

    read: the line was in a request whose report was parsed, or the earlier review `earlier` read the same code. shown:
    the line was in an answered request whose report could not be parsed. not_read: all others. `unverified` counts
    findings that still have to be verified.
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
        """Whether every planned line was read and no finding is left to verify."""
        return self.read == self.total and not self.unverified

    def to_json(self, *, files: bool = True) -> JsonObject:
        """Return JSON values, without the files only the counts."""
        count_names = (
            "unit",
            "total",
            "read",
            "shown",
            "not_read",
            "complete",
            "unverified",
            "earlier",
        )
        list_names = ("files", "skipped") if files else ()
        values: JsonObject = json.loads(json.dumps(asdict(self))) | {"complete": self.complete}
        return {name: values[name] for name in (*count_names, *list_names)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimates of a review as (minimum, maximum). `cost` is in US dollars, None if the price is unknown;
    `loops_for_all` is the number of loops that reading every part takes by the median."""

    loops: tuple[int, int]
    requests: tuple[int, int]
    tokens: tuple[int, int]
    cost: tuple[float, float] | None
    loops_for_all: int
    basis: str


class ReviewEvent(Event):
    """Base class of review events."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReviewStarted(ReviewEvent):
    """A review begins, or continues after `loop`. `loops` are the most that a part may take, `checks` counts the
    project's own rules."""

    review: str
    target: str
    files: int
    loops: int
    loop: int = 0
    checks: int = 0


@dataclass(frozen=True, slots=True)
class ReviewPlanned(ReviewEvent):
    """The plan: `lines` of `unit` in `parts`, the files skipped by rules, and the estimate."""

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
    """A loop ended. `loops` is the last one unless more parts are read: the loops of those do not count. `seen` of
    `files` were read completely; `findings` counts unique ones; `cost` is in US dollars, None if unknown. `paths` are
    the files of the requested part, `coverage` the counts."""

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
    coverage: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingsAccumulated(ReviewEvent):
    """A response reported findings: `reported` counts them, `total` all so far, so it is the sum of `reported`. `new`
    counts those that are new in this review."""

    type: ClassVar[str] = "code_smells_accumulated"
    seed: ClassVar[dict[str, str]] = {
        "newIssues": "reported",
        "totalIssues": "total",
        "loop": "loop",
    }
    new: int
    total: int
    loop: int
    findings: tuple[Finding, ...] = ()
    review: str = ""
    reported: int = 0


@dataclass(frozen=True, slots=True)
class LoopWindowApplied(ReviewEvent):
    """Old messages were removed from the review's conversation. Counts are messages."""

    type: ClassVar[str] = "sliding_window_applied"
    seed: ClassVar[dict[str, str]] = {
        "loop": "loop",
        "messagesRemoved": "removed",
        "messagesKept": "kept",
    }
    loop: int
    removed: int
    kept: int
    review: str = ""


@dataclass(frozen=True, slots=True)
class FindingsJudged(ReviewEvent):
    """A separate request checked findings against the code. `confirmed` counts those that stand, of a change those that
    it introduces; `pre_existing` were so before it, `intended` are what it is for."""

    confirmed: int
    refuted: int
    cannot_tell: int
    pre_existing: int = 0
    intended: int = 0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewFinished(ReviewEvent):
    """The last event of a review, with its findings: what its loops reported, and what is known of the reviewed lines.

    `total` counts the reports of its loops; `unique` and `by_type` count the findings without the refuted ones; `lost`
    describes entries that could not be parsed; `text` is the reviewer's last answer in words; `end` is done,
    unreadable, max_loops, max_budget, interrupted or failed.
    """

    type: ClassVar[str] = "final_code_smells_summary"
    # the sum of `issuesByType`, so without duplicates
    seed: ClassVar[dict[str, str]] = {
        "totalIssues": "unique",
        "loops": "loops",
        "issuesByType": "by_type",
    }
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
    text: str = ""

    @property
    def complete(self) -> bool:
        """Whether the review is done and its coverage complete."""
        return self.end == "done" and self.coverage.complete
