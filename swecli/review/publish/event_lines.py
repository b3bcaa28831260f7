"""Describes the events of a review in lines, the same for every interface."""

from __future__ import annotations

from swecli.models.counts import format_tokens, pluralize
from swecli.models.events import Event
from swecli.models.money import format_least
from swecli.models.review_events import (
    Estimate,
    FileCoverage,
    FindingsJudged,
    LoopWindowApplied,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.target.diffs import format_skips

_MAX_NAMED = 4  # files named in the coverage line
_MAX_SPANS = 3  # ranges of lines named for each of them
_MAX_PATHS = 2  # files of a part that are named
_STOPS = {
    "unreadable": "incomplete: a report could not be read",
    "max_loops": "stopped: reached the limit of requests without a report",
    "max_budget": "stopped: reached the cost limit",
    "interrupted": "interrupted: findings so far are kept",
    "failed": "failed: findings so far are kept",
}


def format_event(event: Event) -> list[str]:
    """Return an event as lines for people; [] for findings, which each interface lays out."""
    match event:
        case ReviewStarted():
            return [_describe_start(event)]
        case ReviewPlanned():
            return _describe_plan(event)
        case ReviewProgressed():
            return [_describe_progress(event)]
        case FindingsJudged():
            return [_describe_verdicts(event)]
        case LoopWindowApplied():
            kept_text = pluralize(event.kept, "message")
            return [
                f"keeping the last {kept_text} ({event.removed} older ones left out); findings stay"
            ]
        case ReviewFinished():
            return _describe_end(event)
    line = event.describe()
    return [line] if line else []


def _describe_verdicts(event: FindingsJudged) -> str:
    counts = [
        f"{event.confirmed} confirmed",
        f"{event.refuted} refuted",
        f"{event.cannot_tell} cannot tell",
    ]
    if event.pre_existing:
        counts.append(f"{event.pre_existing} older than the change")
    if event.intended:
        counts.append(f"{event.intended} intended by it")
    tried_count = sum(finding.proof is not None for finding in event.findings)
    if tried_count:
        counts.append(f"{tried_count} tried by a script")
    return f"checked against the code: {', '.join(counts)}"


def _describe_start(event: ReviewStarted) -> str:
    parts = [f"Reviewing {event.target} ({event.review})", pluralize(event.files, "file")]
    if event.loop:
        parts.append("continued")
    if event.checks:
        parts.append(pluralize(event.checks, "check"))
    return " · ".join(parts)


def _describe_plan(event: ReviewPlanned) -> list[str]:
    lines = [f"{pluralize(event.lines, event.unit.removesuffix('s'))} to read"]
    if event.skipped:
        lines.append(format_skips(event.skipped))
    if event.estimate is not None and event.parts:
        lines.append(_describe_estimate(event.estimate))
    return lines


def _describe_estimate(expected: Estimate) -> str:
    low, high = expected.tokens
    line = f"about {format_tokens(low)} to {format_tokens(high)} tokens"
    if expected.cost:
        line += f", ${expected.cost[0]:.2f} to ${expected.cost[1]:.2f}"
    return line


def _describe_progress(event: ReviewProgressed) -> str:
    coverage = event.coverage
    unit = coverage.get("unit", "lines")
    paths = ", ".join(event.paths[:_MAX_PATHS])
    more = ", …" if len(event.paths) > _MAX_PATHS else ""
    part = f"part {event.part} of {event.parts}" if event.parts > 1 else ""
    return " · ".join(
        [
            f"request {event.loop} of at most {event.loops}",
            *filter(None, [part]),
            f"{paths}{more}",
            f"read {coverage.get('read', 0):,} of {coverage.get('total', 0):,} {unit}",
            pluralize(event.findings, "finding"),
            pluralize(event.tokens, "token"),
            format_least(event.cost, 0),
        ]
    )


def _describe_end(event: ReviewFinished) -> list[str]:
    counts = [
        pluralize(event.unique, "finding"),
    ]
    if event.end in _STOPS:
        counts.append(_STOPS[event.end])
    expense = f"{format_tokens(event.usage.total)} tokens, {format_least(event.cost, 0)}"
    return [" · ".join(counts), format_coverage(event), expense]


def format_incomplete(end: ReviewFinished) -> str:
    """Return in what a review is incomplete, "" if it is not."""
    if end.complete:
        return ""
    if end.coverage.read < end.coverage.total:
        return "the review is incomplete: code that was not read may contain more findings"
    if end.coverage.unverified:
        count = pluralize(end.coverage.unverified, "finding")
        return f"the review is incomplete: everything was read, but {count} could not be verified"
    return "the review is incomplete: it ended early"


def format_coverage(end: ReviewFinished) -> str:
    """Return `read 812 of 1,040 changed lines · 140 shown, no report · 88 not read (limit of requests): a.py 40-80`."""
    coverage = end.coverage
    parts = [f"read {coverage.read:,} of {coverage.total:,} {coverage.unit}"]
    if coverage.earlier:
        parts.append(f"some by {coverage.earlier}")
    if coverage.shown:
        parts.append(f"{coverage.shown:,} shown, no report")
    if coverage.not_read:
        unread = [file for file in coverage.files if file.not_read]
        parts.append(f"{coverage.not_read:,} not read{_describe_unread(unread)}")
    if coverage.unverified:
        parts.append(f"{coverage.unverified:,} not verified")
    refuted = sum(finding.state == "refuted" for finding in end.findings)
    if refuted:
        parts.append(f"{refuted:,} of the findings refuted")
    return " · ".join(parts)


def _describe_unread(files: list[FileCoverage]) -> str:
    """Return why lines of these files were not read, and which: ` (limit of requests): a.py 40-80`."""
    reasons = ", ".join(dict.fromkeys(file.why for file in files if file.why))
    clause = f" ({reasons})" if reasons else ""
    listed = ", ".join(_describe_spans(file) for file in files[:_MAX_NAMED])
    more = ", …" if len(files) > _MAX_NAMED else ""
    return f"{clause}: {listed}{more}"


def _describe_spans(file: FileCoverage) -> str:
    spans = [f"{first}-{last}" if last > first else f"{first}" for first, last in file.not_read]
    more = ", …" if len(spans) > _MAX_SPANS else ""
    return f"{file.path} {', '.join(spans[:_MAX_SPANS])}{more}"
