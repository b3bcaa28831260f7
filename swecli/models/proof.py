"""A script that shows whether a claim about code holds, and what it said on both sides of a change."""

from __future__ import annotations

from enum import StrEnum

from swecli.values import dataclass


class Outcome(StrEnum):
    """What the runs of a script say of one side."""

    HOLDS = "holds"  # the code behaves as it should
    BROKEN = "broken"
    CANNOT_RUN = "cannot run"
    VARIES = "varies"  # not the same in each run


@dataclass(frozen=True, slots=True)
class Proof:
    """A script in a `language`, and its outcomes before the change (`base`) and after it (`head`)."""

    language: str
    script: str
    base: Outcome
    head: Outcome

    def __str__(self) -> str:
        return f"before the change: {self.base}, after it: {self.head}"
