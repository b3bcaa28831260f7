"""The events of a goal: a command that has to exit with 0, towards which the assistant takes turns."""

from __future__ import annotations

from enum import StrEnum

from swecli.models.changed_files import ChangedFile, LineCounts, join_names, name_changes
from swecli.models.counts import pluralize
from swecli.models.events import Event
from swecli.models.money import format_dollars
from swecli.values import dataclass


class GoalOutcome(StrEnum):
    """How a goal ended."""

    MET = "met"
    MET_BEFORE = "met_before"  # its command passed before the first turn
    TURNS = "turns"  # the limit of turns
    BUDGET = "budget"  # the limit of dollars
    TIME = "time"  # the limit of minutes
    FAILED = "failed"  # a turn failed, or did not end by itself
    REFUSED = "refused"  # its command may not run, or cannot
    STOPPED = "stopped"  # by the user


_ENDS = {
    GoalOutcome.MET: "goal met",
    GoalOutcome.MET_BEFORE: "goal met already: the model was not asked",
    GoalOutcome.TURNS: "goal not met: its limit of turns is reached",
    GoalOutcome.BUDGET: "goal not met: its limit of dollars is reached",
    GoalOutcome.TIME: "goal not met: its limit of minutes is reached",
    GoalOutcome.FAILED: "goal not met: its last turn failed",
    GoalOutcome.REFUSED: "goal not met: its command did not run",
    GoalOutcome.STOPPED: "goal stopped",
}


@dataclass(frozen=True, slots=True)
class GoalChecked(Event):
    """The command of a goal was run after `turn` of at most `turns` turns, 0: before the first one.

    `line` says what failed: the last line of its output; "" if it passed. `files` are those that the turn changed,
    `cost` is in US dollars, of all turns so far, None if unknown. `has_flapped`: it passed, and failed when it was run
    once more. `is_confined`: it may have failed because of the sandbox.
    """

    turn: int
    turns: int
    command: str
    passed: bool
    exit_code: int
    line: str
    files: tuple[ChangedFile, ...]
    cost: float | None
    has_flapped: bool = False
    is_confined: bool = False

    def describe(self) -> str:
        parts = [f"turn {self.turn} of {self.turns}" if self.turn else "before the first turn"]
        if self.passed:
            parts.append("passed twice in a row")
        elif self.has_flapped:
            parts.append(f"passed once, then failed: {self.line}")
        else:
            parts.append(f"not met: {self.line}")
        if self.is_confined:
            parts.append("perhaps because of the sandbox")
        if self.turn:
            changes = name_changes([file for file in self.files if not file.is_ignored])
            parts.append(f"changed {changes}" if changes else "no file changed")
            parts.append(f"{_describe_cost(self.cost)} so far")
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class GoalEnded(Event):
    """The last event of a goal. `cost` is in US dollars, None if unknown; `reason` says why it failed or was refused.

    Of a goal that is met: `lost` are the files that its turns deleted, or left with fewer lines, `named` those that
    they changed and an output of the failing command had named.
    """

    outcome: GoalOutcome
    command: str
    turns: int
    cost: float | None
    duration_ms: int
    reason: str = ""
    lost: tuple[LineCounts, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether the command passes."""
        return self.outcome in (GoalOutcome.MET, GoalOutcome.MET_BEFORE)

    def describe(self) -> str:
        line = _ENDS[self.outcome]
        if self.reason:
            line += f": {self.reason}"
        line += f" · {pluralize(self.turns, 'turn')} · {_describe_cost(self.cost)}"
        if self.lost:
            losses = join_names([file.describe_loss() for file in self.lost])
            line += f", and these files were deleted or lost lines: {losses}"
        if self.named:
            line += f" · changed, and named by the failing command: {join_names(self.named)}"
        return line


def _describe_cost(cost: float | None) -> str:
    return "price not known" if cost is None else format_dollars(cost)
