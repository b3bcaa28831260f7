"""Render the progress, the findings and the end of a review."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.finding import Finding
from swecli.models.review_events import (
    FindingsAccumulated,
    ReviewEvent,
    ReviewFinished,
    ReviewStarted,
)
from swecli.repl.render.diff import render_diff
from swecli.repl.render.prefix import add_prefix
from swecli.review.publish.event_lines import format_event
from swecli.review.publish.view import FindingView, row_view
from swecli.text import one_line, sanitize

_MAX_LOST = 5  # unreadable reports shown
_MAX_ROW = 300  # characters of a finding's message in a list
_MAX_MESSAGE = 4_000  # characters of it where the finding is shown whole


def render_review_event(event: ReviewEvent) -> RenderableType | None:
    """Render an event of a review; None if it has no lines."""
    match event:
        case FindingsAccumulated():
            if not event.findings:
                return None
            lines = [_summarize(row_view(finding), finding, _MAX_ROW) for finding in event.findings]
            return Group(*(add_prefix(line, "  ") for line in lines))
        case ReviewFinished():
            return _render_review_end(event)
    style = "head" if isinstance(event, ReviewStarted) else "quiet"
    return Group(*(Text(one_line(line, 600), style) for line in format_event(event)))


def render_finding(finding: Finding, view: FindingView) -> RenderableType:
    """Render a finding with its facts, its code and its suggestion as a diff."""
    parts: list[RenderableType] = [_summarize(view, finding, _MAX_MESSAGE)]
    for label, text in view.facts:
        name = f"{one_line(label)}: " if label else ""
        fact = Text(name, style="quiet").append(one_line(text, 1_000), "quiet")
        parts.append(add_prefix(fact, "  "))
    parts += [Text(f"    {sanitize(line)}", "quiet", tab_size=4) for line in view.script]
    if view.code:
        parts.append(Text("code:", style="quiet"))
    for line in view.code:
        style = "" if line.startswith(">") else "quiet"
        parts.append(Text(sanitize(line), style, tab_size=4))
    if view.diff:
        parts.append(Text("suggested:", style="quiet"))
        parts.append(add_prefix(render_diff("\n".join(view.diff)), " "))
    return Group(*parts)


def _summarize(view: FindingView, finding: Finding, max_chars: int) -> Text:
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
        listed = ", ".join(f"{one_line(name, 60)} {count}" for name, count in by_type)
        lines.append(Text(listed, style="quiet"))
    lines.append(Text(one_line(coverage, 600), style="quiet" if event.complete else "warn"))
    lines.append(Text(usage, style="quiet"))
    for line in event.lost[:_MAX_LOST]:
        lines.append(Text(f"lost: {one_line(line, 400)}", style="warn"))
    if len(event.lost) > _MAX_LOST:
        lines.append(Text(f"lost: {len(event.lost) - _MAX_LOST} more", style="warn"))
    if event.unique:
        lines.append(Text("/findings walk goes through them · /findings lists them", style="quiet"))
    return Group(*lines)
