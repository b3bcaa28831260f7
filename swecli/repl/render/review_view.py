"""A review on the screen: how far it is, what it found, and the sum at its end."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.finding import Finding, counted
from swecli.models.review_events import FindingsAccumulated, ReviewEvent, ReviewFinished, ReviewStarted
from swecli.repl.render.layout import prefixed
from swecli.repl.render.sanitise import one_line
from swecli.review.publish.event_lines import event_lines
from swecli.review.read.coverage import in_words as coverage_line

ENDS = {
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
    return Group(*(Text(one_line(line, 600), style) for line in event_lines(event)))


def row(finding: Finding) -> RenderableType:
    """One finding on a line or two."""
    text = Text().append(f"{finding.id} {one_line(finding.place, 200)} ", "head")
    style = "error" if finding.at_least("high") else "warn"
    text.append(f"{one_line(finding.code_smell_type, 60)} ({finding.severity})", style)
    text.append(f" {one_line(finding.message, 300)}")
    if finding.doubt:
        text.append(f" · {one_line(finding.doubt, 130)}", "quiet")
    if finding.state != "open":
        text.append(f" · {finding.state}", "quiet")
    return prefixed(text, "  ")


def summary(event: ReviewFinished) -> RenderableType:
    """How it ended, in counts; what could not be read is said."""
    counts = [counted(event.unique, "finding"), counted(event.total, "report"), counted(event.loops, "loop")]
    lines: list[RenderableType] = [
        Text(" · ".join([*counts, *([ENDS[event.end]] if event.end in ENDS else [])]), "head")
    ]
    if event.by_type:
        by_type = sorted(event.by_type.items(), key=lambda pair: (-pair[1], pair[0]))
        lines.append(Text(", ".join(f"{one_line(name, 60)} {count}" for name, count in by_type), style="quiet"))
    lines.append(Text(one_line(coverage_line(event.coverage), 600), style="quiet" if event.complete else "warn"))
    lines += [Text(f"lost: {one_line(line, 400)}", style="warn") for line in event.lost[:5]]
    if len(event.lost) > 5:
        lines.append(Text(f"lost: {len(event.lost) - 5} more", style="warn"))
    if event.unique:
        lines.append(Text("/findings lists them, /findings show F-1 one of them", style="quiet"))
    return Group(*lines)
