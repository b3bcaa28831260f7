"""Exports findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from swecli import __version__
from swecli.models.finding import SMELLS, Finding
from swecli.models.review_events import FileCoverage, ReviewFinished
from swecli.redact import redact_value
from swecli.review.publish.gate import Gate

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_DEFAULT = Gate()
_LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
_SAFE = "/-._~!$&'()*+,;=@"  # characters of a path that RFC 3986 allows in a URI


def as_sarif(
    findings: Sequence[Finding],
    end: ReviewFinished | None = None,
    code: int = 0,
    gate: Gate = _DEFAULT,
) -> dict[str, Any]:
    """Return a log of one run. Dismissed findings are suppressed, fixed and refuted ones omitted; fingerprints contain
    no line numbers, and secrets are redacted. `code` is the exit code of the program, `gate` says which findings count
    in it."""
    present = [finding for finding in findings if finding.state not in ("fixed", "refuted")]
    rules = list(dict.fromkeys(_rule_of(finding) for finding in present))
    driver = {
        "name": "swecli",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_build_rule(name, present) for name in rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(finding, rules, gate) for finding in present],
    }
    if end is not None:
        run["invocations"] = [_build_invocation(end, code)]
    log: dict[str, Any] = redact_value({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    return log


def _rule_of(finding: Finding) -> str:
    return finding.code_smell_type or finding.kind


def _build_rule(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    kinds = {finding.kind for finding in findings if _rule_of(finding) == name}
    return {
        "id": name,
        "shortDescription": {"text": SMELLS.get(name, name)},
        "properties": {"tags": sorted(kinds)},
    }


def _build_invocation(end: ReviewFinished, code: int) -> dict[str, Any]:
    """Return how the review ended, with a notification for each file that was not wholly read."""
    unread = [file for file in end.coverage.files if not file.whole]
    return {
        "executionSuccessful": end.complete,
        "exitCode": code,
        "toolExecutionNotifications": [_build_notification(file) for file in unread],
    }


def _build_notification(file: FileCoverage) -> dict[str, Any]:
    reason = file.why or "no report of it could be read"
    spans = (*file.shown, *file.not_read)
    return {
        "level": "error",
        "message": {"text": f"{file.path} was not wholly read: {reason}"},
        "locations": [_build_location(file.path, first, last) for first, last in spans],
    }


def _build_location(path: str, first: int, last: int | None) -> dict[str, Any]:
    artifact = {"uri": quote(path, safe=_SAFE), "uriBaseId": "%SRCROOT%"}
    location: dict[str, Any] = {"artifactLocation": artifact}
    if first > 0:
        location["region"] = {"startLine": first}
    if last and last >= first > 0:
        location["region"]["endLine"] = last
    return {"physicalLocation": location}


def _build_result(finding: Finding, rules: Sequence[str], gate: Gate) -> dict[str, Any]:
    """Return a result. What the verifier doubts is for a person to review, and has no level, unless the user lets it
    count."""
    name = _rule_of(finding)
    is_sure = finding.verdict in ("introduced", "confirmed", "") or gate.counts(finding)
    text = f"{finding.message}\n{finding.improvement}".strip()
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "kind": "fail" if is_sure else "review",
        "level": _LEVELS.get(finding.severity, "warning") if is_sure else "none",
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
        reason = finding.reason or "dismissed"
        result["suppressions"] = [{"kind": "external", "justification": reason}]
    return result
