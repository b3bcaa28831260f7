"""Findings as SARIF 2.1.0, the format code scanning services take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from swecli import __version__
from swecli.models.finding import SMELLS, Finding
from swecli.redact import has_secret, redact_value

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
# what code scanning sorts security findings by (0.1 to 10)
SECURITY = {"low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
PRINT = "swecliFingerprint/v1"


def as_sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """A log of one run. Dismissed findings are suppressed, fixed ones absent; fingerprints hold no line numbers, and
    secrets are redacted."""
    kept = [finding for finding in findings if finding.state != "fixed"]
    rules = list(dict.fromkeys(finding.code_smell_type or finding.kind for finding in kept))
    driver = {
        "name": "swecli",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(name, kept) for name in rules],
    }
    results = [_result(finding, rules) for finding in kept]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log: dict[str, Any] = redact_value({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    return log


def _rule(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    theirs = [finding for finding in findings if (finding.code_smell_type or finding.kind) == name]
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": SMELLS.get(name, name)}}
    properties: dict[str, Any] = {"tags": sorted({finding.kind for finding in theirs})}
    if any(finding.kind == "security" for finding in theirs):
        properties["security-severity"] = max(SECURITY.get(finding.severity, "5.5") for finding in theirs)
    return rule | {"properties": properties}


def _result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    name = finding.code_smell_type or finding.kind
    region: dict[str, Any] = {"startLine": finding.line}
    if finding.end_line and finding.end_line >= finding.line:
        region["endLine"] = finding.end_line
    artifact = {"uri": quote(finding.path.lstrip("/"), safe="/-._~!$&'()*+,;=@")}
    if not finding.path.startswith("/"):
        artifact["uriBaseId"] = "%SRCROOT%"
    place = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    text = f"{finding.message}\n{finding.improvement}".strip()
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "level": LEVELS.get(finding.severity, "warning"),
        "message": {"text": text or name},
        "locations": [place],
        "properties": {"id": finding.id, "verified": finding.verified, "state": finding.state},
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
