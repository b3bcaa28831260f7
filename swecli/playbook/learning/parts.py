"""What learning takes and gives: who reflects, what a look at a turn left to do, and the events that report it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swecli.llm.base import ChatModel
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.playbook import AppliedDelta
from swecli.playbook.describe import line_of
from swecli.store.records import TurnLessons

LearningEvent = PlaybookUpdated | ReflectionFailed


@dataclass(frozen=True, slots=True)
class RulesPart:
    """A turn whose rules' part is applied. `needs_model` says that a model is to look at it too: see `reflect`."""

    interaction: int
    events: tuple[LearningEvent, ...] = ()
    needs_model: bool = False


@dataclass(frozen=True, slots=True)
class ReflectorModel:
    """Who reflects besides the rules, asked with `template`; None leaves it at the rules. `every_turn` says that it is
    a cheap one of its own, to be asked about each turn and not about those with friction only. `missing` is why there
    is no model now though the settings want one: turns for it stay in the queue."""

    template: str
    model: ChatModel | None = None
    missing: str = ""
    every_turn: bool = False


@dataclass(frozen=True, slots=True)
class Backfilled:
    """One turn that was looked at again, and what came of it."""

    session_id: str
    interaction: int
    epoch: int
    events: tuple[LearningEvent, ...]


def report(lessons: TurnLessons, applied: AppliedDelta | None, refused: Sequence[str]) -> list[PlaybookUpdated]:
    """The event of what was applied; none where nothing was, and nothing was spent. What only waits is no news yet."""
    if applied is None and not (lessons.lines or refused or lessons.cost != 0):
        return []
    ops = applied.delta.ops if applied else ()
    news = [(name, op) for name, op in applied.named() if op.fields.get("state") != "quarantined"] if applied else []
    event = PlaybookUpdated(
        lessons.interaction,
        applied.delta.id if applied else "",
        (*(line_of(op, name) for name, op in news), *lessons.lines),
        added=applied.added if applied else (),
        tagged=tuple(dict.fromkeys(verdict.bullet_id for verdict in lessons.verdicts)) if applied else (),
        removed=tuple(op.bullet_id for op in ops if op.op == "REMOVE"),
        refused=tuple(refused),
        cost=lessons.cost,
        tokens=lessons.usage.total,
    )
    return [event]
