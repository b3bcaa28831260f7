"""The events of learning."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.events import Event


@dataclass(frozen=True, slots=True)
class PlaybookUpdated(Event):
    """A delta was applied after turn `interaction`. `lines` describe it for the user."""

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
    """Reflection on a turn failed. If `kept`, it will be retried; with `paused`, no model was asked, and the event is
    emitted once for each reason."""

    interaction: int
    reason: str
    kept: bool
    paused: bool = False

    def describe(self) -> str:
        if self.paused:
            return f"learning paused: {self.reason}"
        again = "will retry later" if self.kept else "will not be retried"
        return f"could not learn from T{self.interaction}: {self.reason} · {again}"
