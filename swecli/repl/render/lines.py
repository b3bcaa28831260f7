"""The single lines between the answers: how a turn ended, what was learned, what went on behind."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from swecli.models.events import ContextReduced, StepRetried, TurnFinished, WindowApplied
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.repl.render.formatting import money
from swecli.repl.render.layout import prefixed
from swecli.repl.render.sanitise import clean, one_line

_STOPPED = {
    "max_turns": "stopped: reached the limit of requests per turn",
    "max_budget": "stopped: reached the cost limit",
    "loop": "stopped: the same calls kept repeating",
    "length": "stopped: the answer reached the length limit",
    "refusal": "stopped: the model refused to answer",
    "content_filter": "stopped: the service withheld the rest of the answer",
    "cancelled": "interrupted",
}


def duration(milliseconds: float) -> str:
    """A span of time: `0.4 s`, `12 s`, `3 min 05 s`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def price(cost: float | None) -> str:
    """What something cost, in words where it is nothing or not known."""
    if cost is None:
        return "cost unknown"
    return money(cost) if cost else "no cost"


def closing(event: TurnFinished) -> RenderableType:
    """The quiet line under a turn; why it stopped, if it was not done."""
    parts = [duration(event.duration_ms)]
    if event.usage.total:
        parts.append(f"{event.usage.prompt:,} in / {event.usage.output + event.usage.reasoning:,} out")
    parts.append(price(event.cost))
    text = Text()
    if event.reason in _STOPPED:
        text.append(_STOPPED[event.reason], "warn").append(" · ", "quiet")
    return text.append(" · ".join(parts), "quiet")


def learned(event: PlaybookUpdated) -> RenderableType | None:
    """What changed in the playbook and what it cost, in one line; None where nothing did. What a model proposed and was
    not taken stands in the log; what the user asked for and was not taken is reported."""
    lines = [clean(line, keep_newlines=False).strip() for line in event.lines]
    lines += [] if event.tokens else [f"rejected: {one_line(line)}" for line in event.refused]
    if not lines:
        return None
    word = "learned" if event.added or event.removed else "playbook"
    more = f" · {len(lines) - 1} more: /playbook list --log" if len(lines) > 1 else ""
    return prefixed(Text(f"{word}: {lines[0]}{more} · {price(event.cost)}", style="learned"), "✎ ", "learned")


def not_learned(event: ReflectionFailed) -> str:
    """Why a reflection failed or was not begun, and whether it will be tried again."""
    if event.paused:
        return f"learning paused: {one_line(event.reason)}"
    again = "will retry later" if event.kept else "will not be retried"
    return f"could not learn from T{event.interaction}: {one_line(event.reason)} · {again}"


def retried(event: StepRetried) -> str:
    """A request that goes out once more."""
    wait = f"in {event.wait:.0f} s" if event.wait >= 0.5 else "now"
    return f"{one_line(event.reason)} · retrying {wait} (attempt {event.attempt})"


def windowed(event: WindowApplied) -> str:
    """What left the reflection window."""
    kept = "the last turn" if event.kept == 1 else f"the last {event.kept:,} turns"
    return f"keeping {kept} ({event.removed:,} older {'one' if event.removed == 1 else 'ones'} left out)"


def reduced(event: ContextReduced) -> str:
    """What was done to a request that was too long, or that was rebuilt for another reason."""
    done = "reduced" if event.after < event.before else "rebuilt"
    size = f"{event.before:,} → {event.after:,} tokens"
    detail = f" · {one_line(event.detail)}" if event.detail else ""
    return f"context {done} ({one_line(event.how)}): {size}{detail}"
