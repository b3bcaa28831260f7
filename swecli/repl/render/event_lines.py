"""Render single events as lines: the end of a turn, what was learned, and remarks."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from swecli.models.events import Event, ModelChanged, Notice, TurnFinished, WindowApplied
from swecli.models.goal_events import GoalEnded
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.money import format_dollars
from swecli.models.review_events import ReviewEvent
from swecli.repl.render.formatting import format_duration
from swecli.repl.render.prefix import add_prefix
from swecli.repl.render.review_lines import render_review_event
from swecli.text import one_line

_TURN_STOPS = {
    "max_turns": "stopped: reached the limit of requests per turn",
    "max_budget": "stopped: reached the cost limit",
    "loop": "stopped: the same calls kept repeating",
    "length": "stopped: the answer reached the length limit",
    "refusal": "stopped: the model refused to answer",
    "content_filter": "stopped: the service withheld the rest of the answer",
    "cancelled": "interrupted",
    "hook": "stopped: a hook ended the turn",
}
_MAX_REMARK = 2_000  # characters


def render_turn_end(event: TurnFinished) -> RenderableType:
    """Render duration, tokens and cost of a turn, and why it stopped unless it is done."""
    parts = [format_duration(event.duration_ms)]
    usage = event.usage
    if usage.total:
        parts.append(f"{usage.prompt:,} in / {usage.output + usage.reasoning:,} out")
    parts.append(_format_cost(event.cost))
    text = Text()
    if event.reason in _TURN_STOPS:
        text.append(_TURN_STOPS[event.reason], "warn").append(" · ", "quiet")
    return text.append(" · ".join(parts), "quiet")


def _format_cost(cost: float | None) -> str:
    """Format US dollars, with words for no cost and for an unknown one."""
    if cost is None:
        return "price not known"
    return format_dollars(cost) if cost else "no cost"


def render_remark(event: Event, left_hint: str = "") -> RenderableType | None:
    """Render an event that does not belong to the turn's text or calls; None if it has no lines. `left_hint` says how
    to see the turns that left the window."""
    match event:
        case WindowApplied():
            return _render_window(event, left_hint)
        case PlaybookUpdated():
            return _render_playbook_update(event)
        case ReviewEvent():
            return render_review_event(event)
    text = one_line(event.describe(), _MAX_REMARK)
    if _is_warning(event):
        return add_prefix(Text(text, style="warn"), "! ", "warn")
    return Text(text, style="quiet") if text else None


def _is_warning(event: Event) -> bool:
    if isinstance(event, ModelChanged):
        return True
    if isinstance(event, Notice):
        return event.level == "warning"
    if isinstance(event, GoalEnded):
        return bool(event.lost)
    return isinstance(event, ReflectionFailed)


def _render_playbook_update(event: PlaybookUpdated) -> RenderableType | None:
    """Render what was learned and its cost in one line; None if nothing was, and no model was asked."""
    text = one_line(event.describe("/playbook review"), _MAX_REMARK)
    return add_prefix(Text(text), "✎ ") if text else None


def _render_window(event: WindowApplied, left_hint: str) -> RenderableType | None:
    if not event.removed:
        return None
    kept_turns = "the last turn" if event.kept == 1 else f"the last {event.kept:,} turns"
    ones = "one" if event.removed == 1 else "ones"
    remark = f"keeping {kept_turns} ({event.removed:,} older {ones} left out)"
    return Text(" · ".join(filter(None, (remark, left_hint))), style="quiet")
