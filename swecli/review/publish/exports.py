"""Findings for others: as Markdown for people, as plain JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from swecli.models.coverage import Coverage
from swecli.models.errors import BadInput
from swecli.models.finding import SEVERITIES, Finding, one_spaced
from swecli.models.review_events import ReviewFinished
from swecli.redact import redact, redact_value
from swecli.review.publish.sarif import as_sarif
from swecli.review.read.coverage import in_words as coverage_line


def as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Each finding as plain JSON values, with secrets redacted."""
    return [redact_value(finding.to_json()) for finding in findings]


def as_seed(end: ReviewFinished, posted: int = 0, failed: int = 0) -> dict[str, Any]:
    """What seed 000's review returned: each unique finding with its suggestion as a block in `improvement`."""
    issues = [
        {
            "type": "code_smell",
            "codeSmellType": finding.code_smell_type,
            "path": finding.path,
            "range": {"startLine": finding.line, "endLine": finding.end_line or finding.line},
            "severity": finding.severity,
            "message": finding.message,
            "improvement": "\n\n".join(
                filter(
                    None, [finding.improvement, fenced(finding.suggestion, "suggestion") if finding.suggestion else ""]
                )
            ),
        }
        for finding in end.findings
        if finding.state != "refuted"
    ]
    response = f"{end.total} issues ({end.unique} unique) in {end.loops} loops. {coverage_line(end.coverage)}"
    workflow = {"postedCount": posted, "failedCount": failed}
    out = {"response": response, "loops": end.loops, "structured": {"issues": issues}, "suggestionWorkflow": workflow}
    return dict(redact_value(out))


def as_markdown(findings: Sequence[Finding], title: str = "Review", coverage: Coverage | None = None) -> str:
    """A report: counts, what was not read, then each finding under its severity, the worst first. Foreign text cannot
    break out, and secrets it quotes are redacted."""
    left = coverage_line(coverage) if coverage is not None and not coverage.complete else ""
    left = f"**Incomplete:** {safe(left)}\n\n" if left else ""
    if not findings:
        return f"# {one_spaced(title)}\n\n{left}No findings.\n"
    open_ones = sum(finding.is_open for finding in findings)
    parts = [
        f"# {one_spaced(title)}",
        *([left.strip()] if left else []),
        f"{len(findings)} findings, {open_ones} of them open.",
    ]
    for severity in reversed(SEVERITIES):
        chosen = [finding for finding in findings if finding.severity == severity]
        if chosen:
            parts += [f"## {severity.capitalize()} ({len(chosen)})", *(entry(finding) for finding in chosen)]
    return "\n\n".join(parts) + "\n"


def entry(finding: Finding) -> str:
    """One finding as a section."""
    facts: list[str] = [finding.kind, finding.state]
    facts += [safe(finding.doubt)] if finding.doubt else []
    facts += [f"reason: {safe(finding.reason)}"] if finding.reason else []
    head = f"{finding.id} " if finding.id else ""
    parts = [f"### {head}{safe(finding.code_smell_type)} in `{one_spaced(finding.place).replace('`', '')}`"]
    parts += [", ".join(facts), safe(finding.message)]
    parts += [safe(finding.improvement)] if finding.improvement else []
    parts += [fenced(finding.suggestion, "suggestion")] if finding.suggestion else []
    return "\n\n".join(parts)


def safe(text: str) -> str:
    """One paragraph of foreign text: no heading, no HTML, no mention of anybody, no secret."""
    folded = one_spaced(redact(text)).replace("<", "&lt;").replace("@", "@\u200b")
    return f"\\{folded}" if folded[:1] in "#>-+*=|" and folded else folded


def fenced(code: str, language: str = "") -> str:
    """Code in a fence longer than any inside, with secrets redacted."""
    code = redact(code)
    longest = max((len(run) for run in code.replace("\n", " ").split(" ") if set(run) == {"`"}), default=0)
    inner = max(longest, 3 if "```" in code else 0)
    fence = "`" * max(3, inner + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def write_findings(findings: Sequence[Finding], style: str, path: Path) -> int:
    """Write them to a file as "markdown", "json" or "sarif"; how many. Raises BadInput when it cannot be written."""
    if style == "markdown":
        text = as_markdown(findings, "Findings")
    else:
        text = json.dumps(as_json(findings) if style == "json" else as_sarif(findings), indent=2) + "\n"
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error
    return len(findings)
