"""A review on the screen: how far it is, what it found, and the sum at its end."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.models.finding import Finding, counted
from swecli.models.review_events import (
    FindingsAccumulated,
    FindingsJudged,
    LoopWindowApplied,
    ReviewEvent,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.repl.render.formatting import money
from swecli.repl.render.layout import prefixed
from swecli.repl.render.sanitise import one_line
from swecli.repl.render.theme import Look
from swecli.review.read.coverage import in_words as coverage_line
from swecli.review.target.skips import in_words

ENDS = {
    "unreadable": "incomplete: a report could not be read",
    "max_loops": "stopped: as many loops as a review may make",
    "max_budget": "stopped: it has cost as much as it may",
    "interrupted": "interrupted: what was found so far is kept",
    "failed": "stopped by a failure: what was found so far is kept",
}


def drawn(event: ReviewEvent, look: Look) -> RenderableType | None:
    """The lines of one event; None for one without any."""
    dot = f" {look.glyphs.dot} "
    match event:
        case ReviewStarted():
            again = f"goes on behind loop {event.loop}" if event.loop else f"up to {counted(event.loops, 'loop')}"
            parts = [f"review {event.review} of {one_line(event.target)}", counted(event.files, "file"), again]
            parts += [counted(event.leads, "lead")] if event.leads else []
            parts += [counted(event.checks, "check")] if event.checks else []
            return Text(dot.join(parts), style="head")
        case ReviewProgressed():
            cost = "cost unknown" if event.cost is None else money(event.cost)
            got = event.coverage
            parts = [f"loop {event.loop} of {event.loops}", f"part {event.part} of {event.parts}"]
            parts.append(one_line(", ".join(event.paths[:2]), 60) + (", …" if len(event.paths) > 2 else ""))
            parts.append(f"read {got.get('read', 0):,} of {got.get('total', 0):,} {got.get('unit', 'lines')}")
            parts += [counted(event.findings, "finding"), counted(event.tokens, "token"), cost]
            return Text(dot.join(parts), style="quiet")
        case ReviewPlanned():
            planned = f"{event.lines:,} {event.unit} in {counted(event.parts, 'part')}"
            return Text(dot.join([planned, *([in_words(event.skipped)] if event.skipped else [])]), style="quiet")
        case FindingsJudged():
            judged = [f"{event.confirmed} confirmed", f"{event.refuted} refuted", f"{event.cannot_tell} cannot tell"]
            return Text(f"checked against the code: {', '.join(judged)}", style="quiet")
        case FindingsAccumulated():
            return Group(*(row(finding, look) for finding in event.findings)) if event.findings else None
        case LoopWindowApplied():
            return Text(
                f"keeping the last {counted(event.kept, 'message')} ({event.removed} older ones left out); "
                "findings stay",
                style="quiet",
            )
        case ReviewFinished():
            return summary(event, look)
    return None


def row(finding: Finding, look: Look) -> RenderableType:
    """One finding on a line or two."""
    text = Text().append(f"{finding.id} {one_line(finding.place, 200)} ", "head")
    style = "error" if finding.at_least("high") else "warn"
    text.append(f"{one_line(finding.code_smell_type, 60)} ({finding.severity})", style)
    text.append(f" {one_line(finding.message, 300)}")
    if finding.doubt:
        text.append(f" {look.glyphs.dot} {one_line(finding.doubt, 130)}", "quiet")
    if finding.state != "open":
        text.append(f" {look.glyphs.dot} {finding.state}", "quiet")
    return prefixed(text, "  ")


def summary(event: ReviewFinished, look: Look) -> RenderableType:
    """How it ended, in counts; what could not be read is said."""
    dot = f" {look.glyphs.dot} "
    counts = [counted(event.unique, "finding"), counted(event.total, "report"), counted(event.loops, "loop")]
    lines: list[RenderableType] = [Text(dot.join([*counts, *([ENDS[event.end]] if event.end in ENDS else [])]), "head")]
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
