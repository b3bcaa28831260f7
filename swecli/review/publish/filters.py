"""Filters findings by the words that a user types."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.errors import BadInput
from swecli.models.finding import OPEN_STATES, SEVERITIES, STATES, Finding, Verdict, worst_first
from swecli.review.target.diffs import is_included

_VERDICTS: dict[str, tuple[Verdict, ...]] = {
    "confirmed": ("confirmed", "introduced"),
    "introduced": ("introduced",),
    "pre_existing": ("pre_existing",),
    "intended": ("intended",),
    "cannot_tell": ("cannot_tell",),
    "unverified": ("",),
    "refuted": ("refuted",),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "severity": tuple(SEVERITIES),
    "verdict": tuple(_VERDICTS),
}


def filter_findings(findings: Sequence[Finding], words: Sequence[str]) -> list[Finding]:
    """Return the findings that match all words, the surest and worst first. Words are states, `all`, `severity>=high`,
    `path:src/**`, `type:LEAK`, `verdict:confirmed`, or text; without a state the open ones are meant. Raises BadInput
    for an unknown value."""
    states = [word for word in words if word in STATES] or list(OPEN_STATES)
    if "all" in words:
        states = list(STATES)
    others = [word for word in words if word not in STATES and word != "all"]
    matching = [
        finding
        for finding in findings
        if finding.state in states and all(_matches(finding, word) for word in others)
    ]
    return sorted(matching, key=worst_first)


def _matches(finding: Finding, word: str) -> bool:
    """Return whether a finding matches a word other than a state. Raises BadInput."""
    name, sign, value = word.partition(">=" if ">=" in word else ":")
    if not sign:
        return _contains(finding, word)
    choices = _CHOICES.get(name, ())
    if choices and value not in choices:
        raise BadInput(f"Unknown {name} {value!r}.", f"Choose: {', '.join(choices)}")
    match name:
        case "severity":
            return finding.at_least(value)
        case "path":
            return is_included(finding.path, (value,))
        case "type":
            return value.upper() in finding.code_smell_type.upper()
        case "verdict":
            return finding.verdict in _VERDICTS[value]
    return _contains(finding, word)


def _contains(finding: Finding, word: str) -> bool:
    text = f"{finding.id} {finding.place} {finding.code_smell_type} {finding.message}"
    return word.lower() in text.lower()
