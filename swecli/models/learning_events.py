"""The events of learning, and one-line descriptions of events."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.events import ContextReduced, Event, Notice, StepRetried


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


def describe_event(event: Event) -> str:
    """Describe an event in one line, or return "" if it has no such line or is rendered elsewhere."""
    match event:
        case Notice():
            return event.text
        case StepRetried():
            wait = f"in {event.wait:.0f} s" if event.wait >= 0.5 else "now"
            return f"{event.reason} · retrying {wait} (attempt {event.attempt})"
        case ContextReduced():
            done, detail = "reduced" if event.after < event.before else "rebuilt", event.detail and f" · {event.detail}"
            return f"context {done} ({event.how}): {event.before:,} → {event.after:,} tokens{detail}"
        case ReflectionFailed(paused=True):
            return f"learning paused: {event.reason}"
        case ReflectionFailed():
            again = "will retry later" if event.kept else "will not be retried"
            return f"could not learn from T{event.interaction}: {event.reason} · {again}"
    return ""
