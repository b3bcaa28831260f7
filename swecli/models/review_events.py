"""What can happen while a review runs, beside the events of any turn. `type` is the name in the JSON stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import Usage


@dataclass(frozen=True, slots=True)
class ReviewEvent:
    """Base of them all."""


@dataclass(frozen=True, slots=True)
class ReviewStarted(ReviewEvent):
    """A review begins, or goes on behind `loop` where it was stopped. `leads` come from tools, not from the model."""

    type: ClassVar[str] = "review_started"
    review: str
    target: str
    files: int
    loops: int
    loop: int = 0
    leads: int = 0
    checks: int = 0


@dataclass(frozen=True, slots=True)
class ReviewProgressed(ReviewEvent):
    """A loop is done. `seen` of `files` were read; `findings` are unique; `cost` in US dollars, None where unknown."""

    type: ClassVar[str] = "review_progressed"
    loop: int
    loops: int
    seen: int
    files: int
    findings: int
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class FindingsAccumulated(ReviewEvent):
    """A response reported findings: `new` were not known in this review, `total` counts all so far, repetitions too."""

    type: ClassVar[str] = "code_smells_accumulated"
    new: int
    total: int
    loop: int
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopWindowApplied(ReviewEvent):
    """Old messages left the review's conversation; its findings are kept elsewhere. Counts are messages."""

    type: ClassVar[str] = "sliding_window_applied"
    loop: int
    removed: int
    kept: int


@dataclass(frozen=True, slots=True)
class ReviewFinished(ReviewEvent):
    """The last event of a review, however it ended: every unique finding of all its loops.

    `total` counts repetitions too; `by_type` the unique ones; `lost` says what could not be read; `end` is done,
    max_loops, max_budget, interrupted or failed.
    """

    type: ClassVar[str] = "final_code_smells_summary"
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
