"""Render single events as lines: the end of a turn, what was learned, the progress and findings of a review; and the
live region: the spinner line, the output of running calls, reasoning and the to-do list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.events import Event, Notice, TurnFinished, WindowApplied
from swecli.models.finding import Finding
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import Usage
from swecli.models.review_events import (
    FindingsAccumulated,
    ReviewEvent,
    ReviewFinished,
    ReviewStarted,
)
from swecli.repl.render.diff import render_diff
from swecli.repl.render.formatting import format_dollars, format_duration, format_tokens
from swecli.repl.render.prefix import add_prefix
from swecli.review.publish.event_lines import format_event
from swecli.review.publish.view import FindingView, row_view
from swecli.text import one_line, sanitize

_TURN_STOPS = {
    "max_turns": "stopped: reached the limit of requests per turn",
    "max_budget": "stopped: reached the cost limit",
    "loop": "stopped: the same calls kept repeating",
    "length": "stopped: the answer reached the length limit",
    "refusal": "stopped: the model refused to answer",
    "content_filter": "stopped: the service withheld the rest of the answer",
    "cancelled": "interrupted",
}
_MAX_REMARK = 2_000  # characters
_MAX_LOST = 5  # unreadable reports shown


def render_turn_end(event: TurnFinished) -> RenderableType:
    """Render duration, tokens and cost of a turn, and why it stopped unless it is done."""
    parts = [format_duration(event.duration_ms)]
    if event.usage.total:
        parts.append(
            f"{event.usage.prompt:,} in / {event.usage.output + event.usage.reasoning:,} out"
        )
    parts.append(_format_cost(event.cost))
    text = Text()
    if event.reason in _TURN_STOPS:
        text.append(_TURN_STOPS[event.reason], "warn").append(" · ", "quiet")
    return text.append(" · ".join(parts), "quiet")


def _format_cost(cost: float | None) -> str:
    """Format US dollars, with words for no cost and for an unknown one."""
    if cost is None:
        return "cost unknown"
    return format_dollars(cost) if cost else "no cost"


def render_remark(event: Event) -> RenderableType | None:
    """Render an event that does not belong to the turn's text or calls; None if it has no lines."""
    match event:
        case WindowApplied():
            return _render_window(event)
        case PlaybookUpdated():
            return _render_playbook_update(event)
        case ReviewEvent():
            return _render_review_event(event)
    text = one_line(event.describe(), _MAX_REMARK)
    if isinstance(event, ReflectionFailed) or (
        isinstance(event, Notice) and event.level == "warning"
    ):
        return add_prefix(Text(text, style="warn"), "! ", "warn")
    return Text(text, style="quiet") if text else None


def _render_playbook_update(event: PlaybookUpdated) -> RenderableType | None:
    """Render what was learned and its cost in one line; None if nothing was, and no model was asked."""
    text = one_line(event.describe("/playbook review"), _MAX_REMARK)
    return add_prefix(Text(text), "✎ ") if text else None


def _render_window(event: WindowApplied) -> RenderableType | None:
    if not event.removed:
        return None
    kept = "the last turn" if event.kept == 1 else f"the last {event.kept:,} turns"
    left_out = f"{event.removed:,} older {'one' if event.removed == 1 else 'ones'} left out"
    return Text(f"keeping {kept} ({left_out})", style="quiet")


def _render_review_event(event: ReviewEvent) -> RenderableType | None:
    """Render an event of a review; None if it has no lines."""
    match event:
        case FindingsAccumulated():
            rows = [
                add_prefix(_finding_head(row_view(finding), finding, 300), "  ")
                for finding in event.findings
            ]
            return Group(*rows) if rows else None
        case ReviewFinished():
            return _render_review_end(event)
    style = "head" if isinstance(event, ReviewStarted) else "quiet"
    return Group(*(Text(one_line(line, 600), style) for line in format_event(event)))


def render_finding(finding: Finding, view: FindingView) -> RenderableType:
    """Render a finding with its facts, its code and its suggestion as a diff."""
    parts: list[RenderableType] = [_finding_head(view, finding, 4_000)]
    for label, text in view.facts:
        fact = Text(f"{one_line(label)}: " if label else "", style="quiet").append(
            one_line(text, 1_000), "quiet"
        )
        parts.append(add_prefix(fact, "  "))
    parts += [
        Text(sanitize(line), "" if line.startswith(">") else "quiet", tab_size=4)
        for line in view.code
    ]
    if view.diff:
        parts += [
            Text("suggested:", style="quiet"),
            add_prefix(render_diff("\n".join(view.diff)), " "),
        ]
    return Group(*parts)


def _finding_head(view: FindingView, finding: Finding, max_chars: int) -> Text:
    text = Text().append(f"{one_line(view.place, 200)} ", "head")
    text.append(one_line(view.claim, 80), "error" if finding.at_least("high") else "warn")
    text.append(f" {one_line(view.message, max_chars)}")
    for mark in view.marks:
        text.append(f" · {one_line(mark, 130)}", "quiet")
    return text


def _render_review_end(event: ReviewFinished) -> RenderableType:
    counts, coverage, usage = format_event(event)
    lines: list[RenderableType] = [Text(counts, "head")]
    if event.by_type:
        by_type = sorted(event.by_type.items(), key=lambda item: (-item[1], item[0]))
        lines.append(
            Text(
                ", ".join(f"{one_line(name, 60)} {count}" for name, count in by_type), style="quiet"
            )
        )
    lines += [
        Text(one_line(coverage, 600), style="quiet" if event.complete else "warn"),
        Text(usage, style="quiet"),
    ]
    lines += [Text(f"lost: {one_line(line, 400)}", style="warn") for line in event.lost[:_MAX_LOST]]
    if len(event.lost) > _MAX_LOST:
        lines.append(Text(f"lost: {len(event.lost) - _MAX_LOST} more", style="warn"))
    if event.unique:
        lines.append(Text("/findings walk goes through them · /findings lists them", style="quiet"))
    return Group(*lines)


_OUTPUT_ROWS = 4
_REASONING_ROWS = 3
_MAX_LINE = 300  # characters shown of a line of output
_MAX_BUFFER = 4_000  # characters kept of output or reasoning, of which the end is shown
_SPINNER_FRAMES, _FRAMES_PER_SECOND = "◐◓◑◒", 5
_ESC_HINT = " · Esc to interrupt"
_TODO_ROWS = 5


@dataclass(slots=True)
class _RunningCall:
    summary: str
    started_at: float
    output: str = ""


@dataclass(slots=True)
class Reasoning:
    """Streamed reasoning."""

    started_at: float
    length: int = 0  # characters
    _pieces: list[str] = field(default_factory=list)
    _tail: str = ""  # the end, which is drawn while it grows

    def append(self, text: str) -> None:
        """Append a delta."""
        self.length += len(text)
        self._pieces.append(sanitize(text))
        self._tail = (self._tail + self._pieces[-1])[-_MAX_BUFFER:]

    def render_whole(self) -> RenderableType:
        """Render the whole text."""
        return add_prefix(Text("".join(self._pieces).strip(), style="reasoning"), "✻ ", "quiet")

    def render_tail(self, width: int) -> Text:
        """Render the last lines, wrapped to `width` columns."""
        wrapped = [
            line
            for part in self._tail.strip().split("\n")
            for line in wrap(part, max(2, width)) or [""]
        ]
        return Text("\n".join(wrapped[-_REASONING_ROWS:]), style="reasoning")

    def render_summary(self, width: int, now: float) -> RenderableType:
        """Render duration, length and last lines, for the scrollback."""
        duration = format_duration((now - self.started_at) * 1000)
        title = Text(f"thought for {duration} · {self.length:,} characters\n", style="quiet")
        return add_prefix(title + self.render_tail(width - 4), "✻ ", "quiet")


@dataclass(slots=True)
class Activity:
    """The running calls, and the label to show while none runs. Times are seconds of `clock`."""

    clock: Callable[[], float]
    label: str = "Working"
    started_at: float = 0.0
    sent: int = 0  # tokens of the turn's requests
    received: int = 0  # tokens of their replies
    running: dict[str, _RunningCall] = field(default_factory=dict)

    def set_label(self, label: str) -> None:
        """Show a label, its seconds counted from now."""
        self.label, self.started_at = label, self.clock()

    def add_usage(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        self.sent += usage.prompt
        self.received += usage.output + usage.reasoning

    def add_call(self, call_id: str, summary: str) -> None:
        self.running[call_id] = _RunningCall(summary, self.clock())

    def append_output(self, call_id: str, text: str) -> None:
        """Append output of a running call; ignore other calls."""
        if call := self.running.get(call_id):
            call.output = (call.output + text)[-_MAX_BUFFER:]

    def render_output(self) -> list[RenderableType]:
        """Render the last lines of output of each running call."""
        rows = _OUTPUT_ROWS if len(self.running) == 1 else 1
        lines = (
            line
            for call in self.running.values()
            for line in sanitize(call.output).rstrip("\n").split("\n")[-rows:]
            if line.strip()
        )
        return [add_prefix(Text(line[:_MAX_LINE], "output"), "    ") for line in lines]

    def render_spinner(self, width: int) -> Text:
        """Render `Run pytest -q · 12 s · ↑8.1k ↓320 · Esc to interrupt` in at most `width` columns, the tokens
        only where there is room."""
        now, calls = self.clock(), list(self.running.values())
        started_at = min((call.started_at for call in calls), default=self.started_at)
        frame = _SPINNER_FRAMES[int(now * _FRAMES_PER_SECOND) % len(_SPINNER_FRAMES)]
        end = f" · {int(now - started_at)} s"
        summary = calls[0].summary if calls else self.label
        label = Text(f"Running {len(calls)} tools" if len(calls) > 1 else one_line(summary))
        tokens = f" · ↑{format_tokens(self.sent)} ↓{format_tokens(self.received)}"
        if self.sent and 2 + label.cell_len + len(end + tokens + _ESC_HINT) <= width:
            end += tokens
        if 2 + label.cell_len + len(end + _ESC_HINT) <= width or width >= 60:
            end += _ESC_HINT
        label.truncate(max(1, width - 2 - len(end)), overflow="ellipsis")
        return Text.assemble((f"{frame} ", "spinner"), label, (end, "quiet"))


def render_todos(todos: Sequence[Mapping[str, str]], rows: int, width: int) -> list[Text]:
    """Render the open to-dos in at most `rows` lines of `width` columns; [] if all are done."""
    pending = [todo for todo in todos if todo["status"] != "done"]
    rows = min(rows, _TODO_ROWS)
    if not pending or rows < 2:
        return []
    shown = pending if len(pending) < rows else pending[: rows - 2]
    lines = [Text(f"  to do · {len(todos) - len(pending)} of {len(todos)} done", "quiet")]
    for todo in shown:
        mark, style = ("[>]", "head") if todo["status"] == "in_progress" else ("[ ]", "")
        lines.append(Text(f"  {mark} {one_line(todo['text'])}", style))
    lines += (
        [Text(f"  … {len(pending) - len(shown)} more", "quiet")]
        if len(shown) < len(pending)
        else []
    )
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines
