"""Findings as SARIF 2.1.0, the format code scanning services take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from swecli import __version__
from swecli.models.finding import SMELLS, Finding
from swecli.models.review_events import ReviewFinished
from swecli.redact import has_secret, redact_value

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
# what code scanning sorts security findings by (0.1 to 10)
SECURITY = {"low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
PRINT = "swecliFingerprint/v1"


def as_sarif(findings: Sequence[Finding], end: ReviewFinished | None = None, code: int = 0) -> dict[str, Any]:
    """A log of one run. Dismissed findings are suppressed, fixed and refuted ones absent; fingerprints hold no line
    numbers, and secrets are redacted. `end` names what was not read, `code` what the program exits with."""
    kept = [finding for finding in findings if finding.state not in ("fixed", "refuted") and finding.line > 0]
    rules = list(dict.fromkeys(finding.code_smell_type or finding.kind for finding in kept))
    driver = {
        "name": "swecli",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(name, kept) for name in rules],
    }
    results = [_result(finding, rules) for finding in kept]
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if end is not None:
        run["invocations"] = [_invocation(end, code)]
    log: dict[str, Any] = redact_value({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    return log


def _invocation(end: ReviewFinished, code: int) -> dict[str, Any]:
    """How the run went: an incomplete or failed one was not successful, with a notification for each file left."""
    notes = [
        {
            "level": "error",
            "message": {"text": f"{file.path} was not wholly read: {file.why or 'no report of it could be read'}"},
            "locations": [
                {"physicalLocation": {"artifactLocation": _artifact(file.path), "region": _region(first, last)}}
                for first, last in (*file.shown, *file.not_read)
            ],
        }
        for file in end.coverage.files
        if not file.whole
    ]
    return {"executionSuccessful": end.complete, "exitCode": code, "toolExecutionNotifications": notes}


def _artifact(path: str) -> dict[str, str]:
    artifact = {"uri": quote(path.lstrip("/"), safe="/-._~!$&'()*+,;=@")}
    return artifact if path.startswith("/") else artifact | {"uriBaseId": "%SRCROOT%"}


def _region(first: int, last: int | None) -> dict[str, int]:
    return {"startLine": first} | ({"endLine": last} if last and last >= first else {})


def _rule(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    theirs = [finding for finding in findings if (finding.code_smell_type or finding.kind) == name]
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": SMELLS.get(name, name)}}
    properties: dict[str, Any] = {"tags": sorted({finding.kind for finding in theirs})}
    if any(finding.kind == "security" for finding in theirs):
        properties["security-severity"] = max(SECURITY.get(finding.severity, "5.5") for finding in theirs)
    return rule | {"properties": properties}


def _result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    name = finding.code_smell_type or finding.kind
    artifact = _artifact(finding.path)
    place = {"physicalLocation": {"artifactLocation": artifact, "region": _region(finding.line, finding.end_line)}}
    text, sure = f"{finding.message}\n{finding.improvement}".strip(), finding.verdict in ("confirmed", "")
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "kind": "fail" if sure else "review",
        "level": LEVELS.get(finding.severity, "warning") if sure else "none",
        "message": {"text": text or name},
        "locations": [place],
        "properties": {"id": finding.id, "verdict": finding.verdict or "unverified", "state": finding.state},
    }
    if finding.fingerprint:
        result["partialFingerprints"] = {PRINT: finding.fingerprint}
    if finding.state == "dismissed":
        result["suppressions"] = [{"kind": "external", "justification": finding.reason or "dismissed"}]
    if finding.suggestion and not has_secret(finding.suggestion):  # code with a hole in it mends nothing
        result["fixes"] = [_fix(finding, artifact)]
    return result


def _fix(finding: Finding, artifact: dict[str, str]) -> dict[str, Any]:
    end = max(finding.line, finding.end_line or finding.line)
    replaced = {
        "deletedRegion": {"startLine": finding.line, "endLine": end},
        "insertedContent": {"text": finding.suggestion},
    }
    return {"artifactChanges": [{"artifactLocation": artifact, "replacements": [replaced]}]}
