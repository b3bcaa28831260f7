"""How one finding reads, for every face: headline, facts, the code around it, its suggestion as a diff; and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from fnmatch import fnmatch
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.models.finding import OPEN_STATES, SEVERITIES, STATES, Change, Finding, worst_first
from swecli.review.judge.sources import Sources
from swecli.store.reviews import ReviewStore

AROUND = 4  # lines of code above and below the place
_VERDICTS = {"confirmed": "confirmed", "cannot_tell": "cannot_tell", "unverified": "", "refuted": "refuted"}


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding laid out: faces only colour it. `marks` are its state and what keeps it from being sure, `facts`
    (label, text), `code` its lines with those around them, `diff` the suggestion as a unified diff."""

    place: str
    claim: str
    message: str
    marks: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """On one line."""
        return f"{self.place} {self.claim}: {self.message}{''.join(f' [{mark}]' for mark in self.marks)}"

    def lines(self) -> list[str]:
        """All of it as plain lines."""
        facts = [f"{label}: {text}" if label else text for label, text in self.facts]
        head = [f"{self.place} {self.claim}", ", ".join(self.marks), self.message]
        return [*head, *facts, *(["code:", *self.code] if self.code else []), *self.diff]


def brief(finding: Finding) -> FindingView:
    """A finding as a row of a list."""
    marks = tuple(filter(None, (finding.standing, finding.doubt if finding.doubt != finding.standing else "")))
    claim = f"{finding.code_smell_type} ({finding.severity})"
    return FindingView(f"{finding.id} {finding.place}", claim, finding.message, marks)


def view(finding: Finding, root: Path, history: Sequence[Change] = ()) -> FindingView:
    """Lay a finding out, with the code as it is now below `root`."""
    facts = [("", f"{finding.kind}, found in loop {finding.loop}")]
    facts += [("improvement", finding.improvement)] if finding.improvement else []
    facts += [("reason", finding.reason)] if finding.reason else []
    if (judged := finding.judgement) is not None:
        place = f" {judged.path}:{judged.line} `{judged.quote}`" if judged.quote else ""
        facts.append(("checked", f"{judged.verdict.replace('_', ' ')} by {judged.by}: {judged.why}{place}"))
    facts += [
        (change.at, f"{change.before} → {change.after} by {change.by} {change.why}".strip()) for change in history
    ]
    lines = Sources(root).get(finding.path).lines
    last = finding.end_line or finding.line
    around = range(max(1, finding.line - AROUND), min(len(lines), last + AROUND) + 1) if finding.line > 0 else range(0)
    code = tuple(f"{'>' if finding.line <= n <= last else ' '}{n:>5} {lines[n - 1]}" for n in around)
    return replace(brief(finding), facts=tuple(facts), code=code, diff=_diff(finding, lines))


def _diff(finding: Finding, lines: Sequence[str]) -> tuple[str, ...]:
    """What applying the suggestion would change, with the lines' numbers in the file."""
    if not finding.suggestion or finding.replaced is not None or not 1 <= finding.line <= len(lines):
        return ()
    present, new = lines[finding.line - 1 : finding.end_line or finding.line], finding.suggestion.split("\n")
    made = list(unified_diff(present, new, lineterm="", n=len(lines)))
    head = f"@@ -{finding.line},{len(present)} +{finding.line},{len(new)} @@"
    return (f"--- {finding.path}", f"+++ {finding.path}", head, *made[3:]) if made else ()


def chosen(store: ReviewStore, words: Sequence[str]) -> list[Finding]:
    """Those that the words ask for, the surest and worst first.

    Words are states, `all`, `severity>=high`, `path:src/**`, `type:LEAK`, `verdict:confirmed`, `since:R-2` (what that
    review or a later one reported), or text that the finding holds; without a state the open ones. Raises BadInput for
    a value that no finding can have.
    """
    states = [word for word in words if word in STATES]
    kept = store.findings(() if "all" in words else states or OPEN_STATES)
    for word in words:
        if word.startswith("since:"):
            ids = store.since(word.removeprefix("since:"))
            kept = [finding for finding in kept if finding.id in ids]
        elif word not in STATES and word != "all":
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
