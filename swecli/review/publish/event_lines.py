"""The events of a review as lines for people: the same at the prompt and on stderr."""

from __future__ import annotations

from swecli.models.finding import counted
from swecli.models.review_events import (
    FindingsJudged,
    LoopWindowApplied,
    ReviewEvent,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.read.coverage import in_words as coverage_in_words
from swecli.review.read.estimate import beside
from swecli.review.read.estimate import in_words as estimate_in_words
from swecli.review.target.skips import in_words as skips_in_words


def event_lines(event: ReviewEvent) -> list[str]:
    """How far a review is; of its end what was read and what it took; [] for findings, which each place draws."""
    match event:
        case ReviewStarted():
            loops = f"continues after loop {event.loop}" if event.loop else f"up to {counted(event.loops, 'loop')}"
            parts = [f"review {event.review} of {event.target}", counted(event.files, "file"), loops]
            parts += [counted(event.leads, "lead")] if event.leads else []
            return [" · ".join(parts + ([counted(event.checks, "check")] if event.checks else []))]
        case ReviewPlanned():
            return planned_lines(event)
        case ReviewProgressed():
            got = event.coverage
            parts = [f"loop {event.loop} of {event.loops}", f"part {event.part} of {event.parts}"]
            parts.append(", ".join(event.paths[:2]) + (", …" if len(event.paths) > 2 else ""))
            parts.append(f"read {got.get('read', 0):,} of {got.get('total', 0):,} {got.get('unit', 'lines')}")
            parts += [counted(event.findings, "finding"), counted(event.tokens, "token")]
            return [" · ".join([*parts, "cost unknown" if event.cost is None else f"${event.cost:.4f}"])]
        case FindingsJudged():
            judged = f"{event.confirmed} confirmed, {event.refuted} refuted, {event.cannot_tell} cannot tell"
            return [f"checked against the code: {judged}"]
        case LoopWindowApplied():
            kept = counted(event.kept, "message")
            return [f"keeping the last {kept} ({event.removed} older ones left out); findings stay"]
        case ReviewFinished():
            return [coverage_in_words(event.coverage), beside(event.estimate, event.usage.total, event.cost)]
    return []


def planned_lines(event: ReviewPlanned) -> list[str]:
    """What will be read, what is skipped, and what it is expected to take."""
    lines = [f"plan: {event.lines:,} {event.unit} in {counted(event.hunks, 'hunk')}, {counted(event.parts, 'part')}"]
    if event.skipped:
        lines.append(f"{skips_in_words(event.skipped)}; --include PATTERN brings them back")
    return [*lines, *([estimate_in_words(event.estimate)] if event.estimate else [])]
