"""A review on the screen: how far it is, what it found, and the sum at its end."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.finding import Finding, pluralize
from swecli.models.review_events import FindingsAccumulated, ReviewEvent, ReviewFinished, ReviewStarted
from swecli.repl.render.formatting import one_line, sanitize
from swecli.repl.render.markdown import indented, prefixed
from swecli.repl.render.tools import render_diff
from swecli.review.publish.view import FindingView, format_event, row_view

_ENDS = {
    "unreadable": "incomplete: a report could not be read",
    "max_loops": "stopped: as many loops as a review may make",
    "max_budget": "stopped: it has cost as much as it may",
    "interrupted": "interrupted: what was found so far is kept",
    "failed": "stopped by a failure: what was found so far is kept",
}


def drawn(event: ReviewEvent) -> RenderableType | None:
    """The lines of one event; None for one without any."""
    match event:
        case FindingsAccumulated():
            return Group(*(row(finding) for finding in event.findings)) if event.findings else None
        case ReviewFinished():
            return summary(event)
    style = "head" if isinstance(event, ReviewStarted) else "quiet"
    return Group(*(Text(one_line(line, 600), style) for line in format_event(event)))


def row(finding: Finding) -> RenderableType:
    """One finding on a line or two."""
    return prefixed(_head(row_view(finding), finding, 300), "  ")


def render_finding(finding: Finding, laid_out: FindingView) -> RenderableType:
    """One finding with its code and its suggestion as a diff."""
    parts: list[RenderableType] = [_head(laid_out, finding, 4_000)]
    for label, text in laid_out.facts:
        fact = Text(f"{one_line(label)}: " if label else "", style="quiet").append(one_line(text, 1_000), "quiet")
        parts.append(prefixed(fact, "  "))
    parts += [Text(sanitize(line), "" if line.startswith(">") else "quiet", tab_size=4) for line in laid_out.code]
    if laid_out.diff:
        parts += [Text("suggested:", style="quiet"), indented(render_diff("\n".join(laid_out.diff)), 1)]
    return Group(*parts)


def _head(laid_out: FindingView, finding: Finding, most: int) -> Text:
    text = Text().append(f"{one_line(laid_out.place, 200)} ", "head")
    text.append(one_line(laid_out.claim, 80), "error" if finding.at_least("high") else "warn")
    text.append(f" {one_line(laid_out.message, most)}")
    for mark in laid_out.marks:
        text.append(f" · {one_line(mark, 130)}", "quiet")
    return text


def summary(event: ReviewFinished) -> RenderableType:
    """How it ended, in counts; with what could not be read."""
    counts = [pluralize(event.unique, "finding"), pluralize(event.total, "report"), pluralize(event.loops, "loop")]
    lines: list[RenderableType] = [
        Text(" · ".join([*counts, *([_ENDS[event.end]] if event.end in _ENDS else [])]), "head")
    ]
    if event.by_type:
        by_type = sorted(event.by_type.items(), key=lambda pair: (-pair[1], pair[0]))
        lines.append(Text(", ".join(f"{one_line(name, 60)} {count}" for name, count in by_type), style="quiet"))
    read, took = format_event(event)
    lines += [Text(one_line(read, 600), style="quiet" if event.complete else "warn"), Text(took, style="quiet")]
    lines += [Text(f"lost: {one_line(line, 400)}", style="warn") for line in event.lost[:5]]
    if len(event.lost) > 5:
        lines.append(Text(f"lost: {len(event.lost) - 5} more", style="warn"))
    if event.unique:
        lines.append(Text("/findings walk goes through them · /findings lists them", style="quiet"))
    return Group(*lines)
