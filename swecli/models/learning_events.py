"""What can happen while something is learned from a turn: see `models/events.py` for all events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PlaybookUpdated:
    """A delta was applied after turn `interaction`. The lines are for the user."""

    type: ClassVar[str] = "playbook_updated"
    interaction: int
    delta_id: str
    lines: tuple[str, ...]
    added: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    cost: float | None = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ReflectionFailed:
    """The learning step did not run to its end; `kept` says whether it will be tried again, `paused` that no model was
    asked: it comes once for each reason."""

    type: ClassVar[str] = "reflection_failed"
    interaction: int
    reason: str
    kept: bool
    paused: bool = False
