"""How one finding reads, for every face: headline, facts, the code around it, its suggestion as a diff; and filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from fnmatch import fnmatch

from swecli.models.errors import BadInput
from swecli.models.finding import OPEN_STATES, SEVERITIES, STATES, Change, Finding, worst_first
from swecli.review.judge.sources import Sources

AROUND = 4  # lines of code above and below the place
_VERDICTS = {"confirmed": "confirmed", "cannot_tell": "cannot_tell", "unverified": "", "refuted": "refuted"}


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding laid out: faces only colour it. `facts` are (label, text)."""

    headline: str
    message: str
    facts: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """As plain lines."""
        facts = [f"{label}: {text}" if label else text for label, text in self.facts]
        return [self.headline, self.message, *facts, *(["code:", *self.code] if self.code else []), *self.diff]


def view(finding: Finding, sources: Sources, history: Sequence[Change] = ()) -> FindingView:
    """Lay a finding out, with the code as it is now."""
    facts = [("", f"{finding.kind}, {finding.standing}, found in loop {finding.loop}")]
    facts += [("reason", finding.reason)] if finding.reason else []
    facts += [("", finding.doubt)] if finding.doubt else []
    if (judged := finding.judgement) is not None:
        place = f" {judged.path}:{judged.line} `{judged.quote}`" if judged.quote else ""
        facts.append(("checked", f"{judged.verdict.replace('_', ' ')} by {judged.by}: {judged.why}{place}"))
    facts += [("improvement", finding.improvement)] if finding.improvement else []
    facts += [
        (change.at, f"{change.before} → {change.after} by {change.by} {change.why}".strip()) for change in history
    ]
    lines = sources.get(finding.path).lines
    last = finding.end_line or finding.line
    around = range(max(1, finding.line - AROUND), min(len(lines), last + AROUND) + 1) if finding.line > 0 else range(0)
    code = tuple(f"{'>' if finding.line <= n <= last else ' '}{n:>5} {lines[n - 1]}" for n in around)
    headline = f"{finding.id}  {finding.place}  {finding.code_smell_type} ({finding.severity})"
    return FindingView(headline, finding.message, tuple(facts), code, _diff(finding, lines))


def _diff(finding: Finding, lines: Sequence[str]) -> tuple[str, ...]:
    if not finding.suggestion or not 1 <= finding.line <= len(lines):
        return ()
    present = lines[finding.line - 1 : finding.end_line or finding.line]
    made = unified_diff(present, finding.suggestion.split("\n"), "now", "suggested", lineterm="", n=0)
    return tuple(made)[2:]


def chosen(findings: Iterable[Finding], words: Sequence[str]) -> list[Finding]:
    """Those that the words ask for, the surest and worst first.

    Words are states, `all`, `severity>=high`, `path:src/**`, `type:LEAK`, `verdict:confirmed`, or text that the finding
    holds; without a state the open ones. Raises BadInput for a value that no finding can have.
    """
    states = [word for word in words if word in STATES]
    kept = [f for f in findings if "all" in words or f.state in (states or OPEN_STATES)]
    for word in words:
        if word not in STATES and word != "all":
            kept = [finding for finding in kept if _has(finding, word)]
    return sorted(kept, key=worst_first)


def _has(finding: Finding, word: str) -> bool:
    name, sign, value = word.partition(">=") if ">=" in word else word.partition(":")
    if sign and name == "severity":
        _known(value, SEVERITIES)
        return finding.at_least(value) if sign == ">=" else finding.severity == value
    if sign and name == "path":
        return fnmatch(finding.path, value) or finding.path.startswith(f"{value.rstrip('/')}/")
    if sign and name == "type":
        return value.upper() in finding.code_smell_type.upper()
    if sign and name == "verdict":
        _known(value, tuple(_VERDICTS))
        return finding.verdict == _VERDICTS[value]
    return word.lower() in f"{finding.id} {finding.place} {finding.code_smell_type} {finding.message}".lower()


def _known(value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise BadInput(f"There is no {value!r}.", f"There are: {', '.join(known)}")
