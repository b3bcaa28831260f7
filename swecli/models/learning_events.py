"""What can happen while something is learned from a turn."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.events import Event


@dataclass(frozen=True, slots=True)
class PlaybookUpdated(Event):
    """A delta was applied after turn `interaction`. The lines are for the user."""

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
class ReflectionFailed(Event):
    """The learning step did not run to its end; `kept` says whether it will be tried again, `paused` that no model was
    asked: it comes once for each reason."""

    interaction: int
    reason: str
    kept: bool
    paused: bool = False
