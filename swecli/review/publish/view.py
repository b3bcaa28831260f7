"""Lay out findings and a review's events, the same for every interface; filter findings by words, and export them as
SARIF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any
from urllib.parse import quote

from swecli import __version__
from swecli.models.errors import BadInput
from swecli.models.events import Event
from swecli.models.finding import (
    OPEN_STATES,
    SEVERITIES,
    SMELLS,
    STATES,
    Finding,
    StateChange,
    pluralize,
    worst_first,
)
from swecli.models.review_events import (
    FindingsJudged,
    LoopWindowApplied,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.redact import redact_value
from swecli.review.judge.sources import Sources
from swecli.review.target.diffs import format_skips, is_included

_CONTEXT = 4  # lines of code above and below the place
_MAX_NAMED = 4  # files named in the coverage line
_VERDICTS = {
    "confirmed": "confirmed",
    "cannot_tell": "cannot_tell",
    "unverified": "",
    "refuted": "refuted",
}
_STOPS = {
    "unreadable": "incomplete: a report could not be read",
    "max_loops": "stopped: reached the limit of loops",
    "max_budget": "stopped: reached the cost limit",
    "interrupted": "interrupted: findings so far are kept",
    "failed": "failed: findings so far are kept",
}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}


@dataclass(frozen=True, slots=True)
class FindingView:
    """The layout of a finding. `marks` are its state and doubts, `facts` are (label, text), `code` its lines with those
    around them, `diff` its suggestion as a unified diff."""

    place: str
    claim: str
    message: str
    marks: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        return f"{self.place} {self.claim}: {self.message}{''.join(f' [{mark}]' for mark in self.marks)}"

    def lines(self) -> list[str]:
        facts = [f"{label}: {text}" if label else text for label, text in self.facts]
        head = [f"{self.place} {self.claim}", ", ".join(self.marks), self.message]
        return [*head, *facts, *(["code:", *self.code] if self.code else []), *self.diff]


def row_view(finding: Finding) -> FindingView:
    """Return the layout of a finding in a list."""
    marks = tuple(
        filter(None, (finding.status, finding.doubt if finding.doubt != finding.status else ""))
    )
    claim = f"{finding.code_smell_type} ({finding.severity})"
    return FindingView(f"{finding.id} {finding.place}", claim, finding.message, marks)


def view(finding: Finding, root: Path, history: Sequence[StateChange] = ()) -> FindingView:
    """Return the full layout of a finding, with the code as it is now below `root`."""
    facts = [("", f"{finding.kind}, found in loop {finding.loop}")]
    facts += [("improvement", finding.improvement)] if finding.improvement else []
    facts += [("reason", finding.reason)] if finding.reason else []
    if (judged := finding.judgement) is not None:
        place = f" {judged.path}:{judged.line} `{judged.quote}`" if judged.quote else ""
        facts.append(
            ("checked", f"{judged.verdict.replace('_', ' ')} by {judged.by}: {judged.why}{place}")
        )
    facts += [
        (row.at, f"{row.before} → {row.after} by {row.by} {row.why}".strip()) for row in history
    ]
    lines = Sources(root).get(finding.path).lines
    last = finding.end_line or finding.line
    shown = range(max(1, finding.line - _CONTEXT), min(len(lines), last + _CONTEXT) + 1)
    code = [
        f"{'>' if finding.line <= n <= last else ' '}{n:>5} {lines[n - 1]}"
        for n in shown
        if finding.line > 0
    ]
    present, new = (
        lines[finding.line - 1 : last] if finding.line > 0 else (),
        finding.suggestion.split("\n"),
    )
    diff = (
        list(unified_diff(present, new, lineterm="", n=len(lines)))
        if finding.suggestion and present
        else []
    )
    if diff:
        head = f"@@ -{finding.line},{len(present)} +{finding.line},{len(new)} @@"
        diff[:3] = [f"--- {finding.path}", f"+++ {finding.path}", head]
    return replace(row_view(finding), facts=tuple(facts), code=tuple(code), diff=tuple(diff))


def filter_findings(findings: Sequence[Finding], words: Sequence[str]) -> list[Finding]:
    """Return the findings that match all words, the surest and worst first. Words are states, `all`, `severity>=high`,
    `path:src/**`, `type:LEAK`, `verdict:confirmed`, or text; without a state the open ones are meant. Raises BadInput
    for an unknown value."""
    states = STATES if "all" in words else [word for word in words if word in STATES] or OPEN_STATES
    kept = [finding for finding in findings if finding.state in states]
    wanted = [word for word in words if word not in STATES and word != "all"]
    return sorted((f for f in kept if all(_matches(f, word) for word in wanted)), key=worst_first)


def _matches(finding: Finding, word: str) -> bool:
    name, sign, value = word.partition(">=" if ">=" in word else ":")
    known: Sequence[str] = {"severity": SEVERITIES, "verdict": tuple(_VERDICTS)}.get(
        name if sign else "", ()
    )
    if known and value not in known:
        raise BadInput(f"Unknown {name} {value!r}.", f"Choose: {', '.join(known)}")
    if sign and name == "severity":
        return finding.at_least(value)
    if sign and name == "path":
        return is_included(finding.path, (value,))
    if sign and name == "type":
        return value.upper() in finding.code_smell_type.upper()
    if sign and name == "verdict":
        return finding.verdict == _VERDICTS[value]
    return (
        word.lower()
        in f"{finding.id} {finding.place} {finding.code_smell_type} {finding.message}".lower()
    )


# Events


def format_event(event: Event) -> list[str]:
    """Return an event as lines for people; [] for findings, which each interface lays out."""
    match event:
        case ReviewStarted():
            limit = (
                f"continues after loop {event.loop}"
                if event.loop
                else f"up to {pluralize(event.loops, 'loop')}"
            )
            parts = [
                f"review {event.review} of {event.target}",
                pluralize(event.files, "file"),
                limit,
            ]
            parts += [pluralize(event.leads, "lead")] if event.leads else []
            return [
                " · ".join(parts + ([pluralize(event.checks, "check")] if event.checks else []))
            ]
        case ReviewPlanned():
            sizes = f"{pluralize(event.hunks, 'hunk')}, {pluralize(event.parts, 'part')}"
            lines = [f"plan: {event.lines:,} {event.unit} in {sizes}"]
            lines += [format_skips(event.skipped)] if event.skipped else []
            if (expected := event.estimate) is None:
                return lines
            cost = (
                f"${expected.cost[0]:.2f} to ${expected.cost[1]:.2f}"
                if expected.cost
                else "price unknown"
            )
            (loops, most), (low, high) = expected.loops, expected.tokens
            ranges = f"{expected.requests[0]} to {expected.requests[1]} requests, {low:,} to {high:,} tokens"
            more = (
                f"; --loops {expected.loops_for_all} for all parts"
                if expected.loops_for_all > most
                else ""
            )
            return [
                *lines,
                f"estimated from {expected.basis}: {loops} to {most} loops, {ranges}, {cost}{more}",
            ]
        case ReviewProgressed():
            got = event.coverage
            parts = [f"loop {event.loop} of {event.loops}", f"part {event.part} of {event.parts}"]
            parts.append(", ".join(event.paths[:2]) + (", …" if len(event.paths) > 2 else ""))
            parts.append(
                f"read {got.get('read', 0):,} of {got.get('total', 0):,} {got.get('unit', 'lines')}"
            )
            parts += [pluralize(event.findings, "finding"), pluralize(event.tokens, "token")]
            return [
                " · ".join([*parts, "cost unknown" if event.cost is None else f"${event.cost:.4f}"])
            ]
        case FindingsJudged():
            judged = f"{event.confirmed} confirmed, {event.refuted} refuted, {event.cannot_tell} cannot tell"
            return [f"checked against the code: {judged}"]
        case LoopWindowApplied():
            kept = pluralize(event.kept, "message")
            return [f"keeping the last {kept} ({event.removed} older ones left out); findings stay"]
        case ReviewFinished():
            cost = "price unknown" if event.cost is None else f"${event.cost:.4f}"
            low, high = event.estimate.tokens if event.estimate else (0, 0)
            more = f" (expected {low:,} to {high:,} tokens)" if event.estimate else ""
            counts = [pluralize(event.unique, "finding"), pluralize(event.total, "report")]
            counts += [
                pluralize(event.loops, "loop"),
                *([_STOPS[event.end]] if event.end in _STOPS else []),
            ]
            return [
                " · ".join(counts),
                format_coverage(event),
                f"took {event.usage.total:,} tokens, {cost}{more}",
            ]
    return [line] if (line := event.describe()) else []


def format_coverage(end: ReviewFinished) -> str:
    """Return `read 812 of 1,040 changed lines · 140 shown, no report · 88 not read (loop limit): a.py 40-80, …`."""
    coverage = end.coverage
    parts = [f"read {coverage.read:,} of {coverage.total:,} {coverage.unit}"]
    parts += [f"some by {coverage.earlier}"] if coverage.earlier else []
    parts += [f"{coverage.shown:,} shown, no report"] if coverage.shown else []
    left = [file for file in coverage.files if file.not_read]
    if coverage.not_read:
        whys = ", ".join(dict.fromkeys(file.why for file in left if file.why))
        listed = []
        for file in left[:_MAX_NAMED]:
            spans = [
                f"{first}-{last}" if last > first else f"{first}" for first, last in file.not_read
            ]
            listed.append(f"{file.path} {', '.join(spans[:3])}{', …' if len(spans) > 3 else ''}")
        more = ", …" if len(left) > _MAX_NAMED else ""
        parts.append(
            f"{coverage.not_read:,} not read{f' ({whys})' if whys else ''}: {', '.join(listed)}{more}"
        )
    parts += [f"{coverage.unverified:,} not verified"] if coverage.unverified else []
    refuted = sum(finding.state == "refuted" for finding in end.findings)
    parts += [f"{refuted:,} of the findings refuted"] if refuted else []
    return " · ".join(parts)


# SARIF 2.1.0, for code scanning


def as_sarif(
    findings: Sequence[Finding], end: ReviewFinished | None = None, code: int = 0
) -> dict[str, Any]:
    """Return a log of one run. Dismissed findings are suppressed, fixed and refuted ones omitted; fingerprints contain
    no line numbers, and secrets are redacted. `code` is the exit code of the program."""
    kept = [
        finding
        for finding in findings
        if finding.state not in ("fixed", "refuted") and finding.line > 0
    ]
    rules = list(dict.fromkeys(finding.code_smell_type or finding.kind for finding in kept))
    driver: dict[str, Any] = {
        "name": "swecli",
        "version": __version__,
        "semanticVersion": __version__,
    }
    kinds = {
        name: {f.kind for f in kept if (f.code_smell_type or f.kind) == name} for name in rules
    }
    driver["rules"] = [
        {
            "id": name,
            "shortDescription": {"text": SMELLS.get(name, name)},
            "properties": {"tags": sorted(kinds[name])},
        }
        for name in rules
    ]
    results = [_build_result(finding, rules) for finding in kept]
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    if end is not None:  # unsuccessful, with a notification for each file that was not wholly read
        notes = [
            {
                "level": "error",
                "message": {
                    "text": f"{file.path} was not wholly read: {file.why or 'no report of it could be read'}"
                },
                "locations": [
                    _build_location(file.path, *span) for span in (*file.shown, *file.not_read)
                ],
            }
            for file in end.coverage.files
            if not file.whole
        ]
        successful = {"executionSuccessful": end.complete, "exitCode": code}
        run["invocations"] = [successful | {"toolExecutionNotifications": notes}]
    log: dict[str, Any] = redact_value({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    return log


def _build_location(path: str, first: int, last: int | None) -> dict[str, Any]:
    region = {"startLine": first} | ({"endLine": last} if last and last >= first else {})
    artifact = {"uri": quote(path, safe="/-._~!$&'()*+,;=@"), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _build_result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    name = finding.code_smell_type or finding.kind
    text, sure = (
        f"{finding.message}\n{finding.improvement}".strip(),
        finding.verdict in ("confirmed", ""),
    )
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "kind": "fail" if sure else "review",
        "level": _LEVELS.get(finding.severity, "warning") if sure else "none",
        "message": {"text": text or name},
        "locations": [_build_location(finding.path, finding.line, finding.end_line)],
        "properties": {
            "id": finding.id,
            "verdict": finding.verdict or "unverified",
            "state": finding.state,
        },
    }
    if finding.fingerprint:
        result["partialFingerprints"] = {"swecliFingerprint/v1": finding.fingerprint}
    if finding.state == "dismissed":
        result["suppressions"] = [
            {"kind": "external", "justification": finding.reason or "dismissed"}
        ]
    return result
