"""The states of a finding, and on what each may change: `move` is the one place that changes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from swecli.models.errors import UsageError
from swecli.models.finding import Finding, FindingState, Judgement

What = Literal[
    "reported", "reported again", "refuted", "withdrawn", "vanished", "applied", "repaired", "measured", "deleted",
    "over the limit", "still broken", "user",
]  # fmt: skip
Moves = Mapping[str, FindingState]

_REFUTE: Moves = {"open": "refuted"}
_FIX: Moves = {"open": "fixed", "gone": "fixed", "regressed": "fixed"}
_LOSE: Moves = {"open": "gone", "regressed": "gone"}
# cause → from which state to which; a state that is not named stays. A dismissal is moved by the user alone.
MOVES: Mapping[str, Moves] = {
    "reported": {"gone": "open"},
    "reported again": {"gone": "open", "fixed": "regressed"},  # and confirmed, or nothing is verified
    "refuted": _REFUTE,
    "withdrawn": _REFUTE,
    "vanished": _LOSE,
    "applied": _LOSE,
    "repaired": _FIX,
    "measured": _FIX,
    "deleted": _FIX,
    "over the limit": {"fixed": "regressed"},
    "still broken": {"gone": "open"},
}
_SURE = ("refuted", "withdrawn")  # what a confirmed finding does not yield to without the verifier
_BY_USER: Mapping[str, tuple[str, ...]] = {
    "fixed": ("open", "gone", "regressed"),
    "open": ("gone", "dismissed", "refuted", "fixed"),
    "dismissed": ("open", "gone", "regressed", "refuted", "fixed", "dismissed"),
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a state may change: `what` happened, by whom, in which words; `to` is the state that the user names."""

    what: What
    by: str = ""
    why: str = ""
    to: FindingState = "open"
    judgement: Judgement | None = None


def move(finding: Finding, cause: Cause) -> Finding:
    """The finding in the state that the cause leads to, with the reason; as it was where it leads nowhere.

    Raises UsageError for a change that the user cannot make.
    """
    if cause.what == "user":
        if finding.state not in _BY_USER.get(cause.to, ()):
            raise UsageError(f"{finding.id} is {finding.state}, it cannot become {cause.to}.", "See: /findings show")
        to: FindingState = cause.to
    else:
        to = MOVES[cause.what].get(finding.state, finding.state)
        if cause.what in _SURE and finding.verdict == "confirmed" and cause.judgement is None:
            to = finding.state
    if to == finding.state and cause.what != "user":
        return finding
    return replace(finding, state=to, reason=cause.why)
