"""Lays out findings, the same for every interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from swecli.models.finding import Finding, Judgement, StateChange
from swecli.review.judge.sources import Sources

_CONTEXT = 4  # lines of code above and below the place


@dataclass(frozen=True, slots=True)
class FindingView:
    """The layout of a finding."""

    place: str
    claim: str
    message: str
    marks: tuple[str, ...] = ()  # its state and doubts
    facts: tuple[tuple[str, str], ...] = ()  # (label, text)
    code: tuple[str, ...] = ()  # its lines with those around them
    diff: tuple[str, ...] = ()  # its suggestion as a unified diff
    script: tuple[str, ...] = ()  # what was run on both sides of the change

    @property
    def headline(self) -> str:
        return f"{self.place} {self.claim}"

    @property
    def line(self) -> str:
        marks = "".join(f" [{mark}]" for mark in self.marks)
        return f"{self.headline}: {self.message}{marks}"

    def lines(self) -> list[str]:
        lines = [self.headline, ", ".join(self.marks), self.message]
        lines += [f"{label}: {text}" if label else text for label, text in self.facts]
        lines += [f"    {line}" for line in self.script]
        if self.code:
            lines += ["code:", *self.code]
        return [*lines, *self.diff]


def row_view(finding: Finding) -> FindingView:
    """Return the layout of a finding in a list."""
    marks = dict.fromkeys(mark for mark in (finding.status, finding.doubt) if mark)
    claim = f"{finding.code_smell_type} ({finding.severity})"
    return FindingView(f"{finding.id} {finding.place}", claim, finding.message, tuple(marks))


def view(finding: Finding, root: Path, history: Sequence[StateChange] = ()) -> FindingView:
    """Return the full layout of a finding, with the code as it is now below `root`."""
    lines = Sources(root).get(finding.path).lines
    return replace(
        row_view(finding),
        facts=tuple(_list_facts(finding, history)),
        code=tuple(_show_code(finding, lines)),
        diff=tuple(_show_suggestion(finding, lines)),
        script=tuple(finding.proof.script.strip("\n").split("\n")) if finding.proof else (),
    )


def _list_facts(finding: Finding, history: Sequence[StateChange]) -> list[tuple[str, str]]:
    facts = [("", f"{finding.kind}, found in loop {finding.loop}")]
    if finding.improvement:
        facts.append(("improvement", finding.improvement))
    if finding.reason:
        facts.append(("reason", finding.reason))
    if finding.judgement is not None:
        facts.append(_describe_judgement(finding.judgement))
    for change in history:
        line = f"{change.before} → {change.after} by {change.by} {change.why}"
        facts.append((change.at, line.strip()))
    if finding.proof is not None:  # last: its lines follow
        facts.append(("script", str(finding.proof)))
    return facts


def _describe_judgement(judgement: Judgement) -> tuple[str, str]:
    if judgement.by == "failure":
        return "not verified", judgement.why
    label = f"checked by {judgement.by}"
    verdict = f"{judgement.verdict.replace('_', ' ')}. {judgement.why}".rstrip()
    if not judgement.quote:
        return label, verdict
    return label, f"{verdict} {judgement.path}:{judgement.line} `{judgement.quote}`"


def _show_code(finding: Finding, lines: Sequence[str]) -> list[str]:
    """Return the lines around the place, its own marked; [] for a finding without a line."""
    if finding.line <= 0:
        return []
    last = finding.end_line or finding.line
    code: list[str] = []
    for number in range(max(1, finding.line - _CONTEXT), min(len(lines), last + _CONTEXT) + 1):
        sign = ">" if finding.line <= number <= last else " "
        code.append(f"{sign}{number:>5} {lines[number - 1]}")
    return code


def _show_suggestion(finding: Finding, lines: Sequence[str]) -> list[str]:
    """Return the suggestion as a diff of the code as it is now; [] if it changes nothing."""
    if not finding.suggestion or finding.line <= 0:
        return []
    present = lines[finding.line - 1 : finding.end_line or finding.line]
    if not present:
        return []
    new = finding.suggestion.split("\n")
    diff = list(unified_diff(present, new, lineterm="", n=len(lines)))
    if not diff:
        return []
    header = f"@@ -{finding.line},{len(present)} +{finding.line},{len(new)} @@"
    return [f"--- {finding.path}", f"+++ {finding.path}", header, *diff[3:]]
