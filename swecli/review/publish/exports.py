"""Export findings as Markdown, as plain JSON, and as SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from swecli import __version__
from swecli.models.finding import SEVERITIES, SMELLS, Finding, collapse_whitespace
from swecli.models.review_events import ReviewFinished
from swecli.redact import redact, redact_value
from swecli.review.publish.view import format_coverage

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
# scores by which code scanning sorts security findings, 0.1 to 10
_SECURITY = {"low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}


def as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return each finding as plain JSON values, with secrets redacted."""
    return [redact_value(finding.to_json()) for finding in findings]


def as_seed(end: ReviewFinished, posted: int = 0, failed: int = 0) -> dict[str, Any]:
    """Return the value of seed 000's review: each finding has its suggestion as a block in `improvement`."""
    issues = []
    for finding in [finding for finding in end.findings if finding.state != "refuted"]:
        suggestion = [fence_code(finding.suggestion, "suggestion")] if finding.suggestion else []
        issues.append({
            "type": "code_smell", "codeSmellType": finding.code_smell_type, "path": finding.path,
            "range": {"startLine": finding.line, "endLine": finding.end_line or finding.line},
            "severity": finding.severity, "message": finding.message,
            "improvement": "\n\n".join([*filter(None, [finding.improvement]), *suggestion]),
        })  # fmt: skip
    response = f"{end.total} issues ({end.unique} unique) in {end.loops} loops. {format_coverage(end)}"
    workflow = {"postedCount": posted, "failedCount": failed}
    out = {"response": response, "loops": end.loops, "structured": {"issues": issues}, "suggestionWorkflow": workflow}
    return dict(redact_value(out))


def as_markdown(findings: Sequence[Finding], title: str = "Review", end: ReviewFinished | None = None) -> str:
    """Return a report: counts, what was not read, then the findings by severity, the worst first. Foreign text is
    escaped, and secrets are redacted."""
    parts = [f"# {collapse_whitespace(title)}"]
    if end is not None and not end.coverage.complete:
        parts.append(f"**Incomplete:** {escape_markdown(format_coverage(end))}")
    open_ones = sum(finding.is_open for finding in findings)
    parts.append(f"{len(findings)} findings, {open_ones} of them open." if findings else "No findings.")
    for severity in reversed(SEVERITIES):
        chosen = [finding for finding in findings if finding.severity == severity]
        parts += [f"## {severity.capitalize()} ({len(chosen)})"] if chosen else []
        for finding in chosen:
            place = collapse_whitespace(finding.place).replace("`", "")
            parts.append(f"### {f'{finding.id} '.lstrip()}{escape_markdown(finding.code_smell_type)} in `{place}`")
            facts = [finding.kind, finding.state, escape_markdown(finding.doubt)]
            facts += [f"reason: {escape_markdown(finding.reason)}"] if finding.reason else []
            parts += [", ".join(filter(None, facts)), *format_claim(finding)]
    return "\n\n".join(parts) + "\n"


def format_claim(finding: Finding, *, with_suggestion: bool = True) -> list[str]:
    """Return the paragraphs of a finding's message, improvement and suggestion."""
    code = fence_code(finding.suggestion, "suggestion") if finding.suggestion and with_suggestion else ""
    return [text for text in (escape_markdown(finding.message), escape_markdown(finding.improvement), code) if text]


def escape_markdown(text: str) -> str:
    """Return foreign text as one paragraph without headings, HTML, mentions and secrets."""
    folded = collapse_whitespace(redact(text)).replace("<", "&lt;").replace("@", "@\u200b")
    return f"\\{folded}" if folded[:1] in "#>-+*=|" and folded else folded


def fence_code(code: str, language: str = "") -> str:
    """Return code in a fence longer than any inside, with secrets redacted."""
    code = redact(code)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


# SARIF


def as_sarif(findings: Sequence[Finding], end: ReviewFinished | None = None, code: int = 0) -> dict[str, Any]:
    """Return a log of one run. Dismissed findings are suppressed, fixed and refuted ones omitted; fingerprints contain
    no line numbers, and secrets are redacted. `code` is the exit code of the program."""
    kept = [finding for finding in findings if finding.state not in ("fixed", "refuted") and finding.line > 0]
    rules = list(dict.fromkeys(finding.code_smell_type or finding.kind for finding in kept))
    driver: dict[str, Any] = {"name": "swecli", "version": __version__, "semanticVersion": __version__}
    driver |= {"rules": [_build_rule(name, kept) for name in rules]}
    results = [_build_result(finding, rules) for finding in kept]
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if end is not None:
        run["invocations"] = [_build_invocation(end, code)]
    log: dict[str, Any] = redact_value({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    return log


def _build_invocation(end: ReviewFinished, code: int) -> dict[str, Any]:
    """Return the invocation; it is unsuccessful with a notification for each file that was not wholly read."""
    notes = [
        {
            "level": "error",
            "message": {"text": f"{file.path} was not wholly read: {file.why or 'no report of it could be read'}"},
            "locations": [_build_location(file.path, *span) for span in (*file.shown, *file.not_read)],
        }
        for file in end.coverage.files
        if not file.whole
    ]
    return {"executionSuccessful": end.complete, "exitCode": code, "toolExecutionNotifications": notes}


def _build_location(path: str, first: int, last: int | None) -> dict[str, Any]:
    region = {"startLine": first} | ({"endLine": last} if last and last >= first else {})
    artifact = {"uri": quote(path, safe="/-._~!$&'()*+,;=@"), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _build_rule(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    of_rule = [finding for finding in findings if (finding.code_smell_type or finding.kind) == name]
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": SMELLS.get(name, name)}}
    properties: dict[str, Any] = {"tags": sorted({finding.kind for finding in of_rule})}
    if any(finding.kind == "security" for finding in of_rule):
        properties["security-severity"] = max(_SECURITY.get(finding.severity, "5.5") for finding in of_rule)
    return rule | {"properties": properties}


def _build_result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    name = finding.code_smell_type or finding.kind
    text, sure = f"{finding.message}\n{finding.improvement}".strip(), finding.verdict in ("confirmed", "")
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "kind": "fail" if sure else "review",
        "level": _LEVELS.get(finding.severity, "warning") if sure else "none",
        "message": {"text": text or name},
        "locations": [_build_location(finding.path, finding.line, finding.end_line)],
        "properties": {"id": finding.id, "verdict": finding.verdict or "unverified", "state": finding.state},
    }
    if finding.fingerprint:
        result["partialFingerprints"] = {"swecliFingerprint/v1": finding.fingerprint}
    if finding.state == "dismissed":
        result["suppressions"] = [{"kind": "external", "justification": finding.reason or "dismissed"}]
    return result
