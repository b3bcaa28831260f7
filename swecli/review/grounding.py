"""Findings compared with the files they speak of: what does not fit is marked, never dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from swecli.models.finding import Finding, fingerprint, one_spaced
from swecli.review.sources import Source, Sources

NEAR = 3  # lines around the finding in which its quote may stand
LONGEST_ANCHOR = 400


def ground(findings: Iterable[Finding], sources: Sources) -> list[Finding]:
    """Each finding with `verified`, `why`, `anchor`, `file_hash` and `fingerprint` as its file says.

    Verified means: the file exists, the line is in it, and the quoted code stands there. Fingerprints of one call
    are different where the lines are.
    """
    return [_apart(found, sources) for found in findings]


def _apart(finding: Finding, sources: Sources) -> Finding:
    source = sources.get(finding.path)
    path = source.path if source.hash else finding.path
    why = _what_is_wrong(finding, source)
    inside = finding.line <= len(source.lines)
    anchor = one_spaced(source.lines[finding.line - 1])[:LONGEST_ANCHOR] if inside else ""
    # without a line to hold on to, the words are what tells two findings apart
    mark = anchor or f"{one_spaced(finding.evidence)} {one_spaced(finding.message)}"
    count = occurrence(source, finding.line) if anchor else 1
    return replace(
        finding,
        path=path,
        verified=not why,
        why=why,
        anchor=anchor,
        file_hash=source.hash,
        fingerprint=fingerprint(finding.code_smell_type, path, mark, count),
    )


def occurrence(source: Source, line: int) -> int:
    """How often the text of that line stands in the file up to there, itself included."""
    wanted = one_spaced(source.lines[line - 1])
    return sum(one_spaced(text) == wanted for text in source.lines[:line])


def _what_is_wrong(finding: Finding, source: Source) -> str:
    if source.problem:
        return source.problem
    if finding.line > len(source.lines):
        return f"line {finding.line:,} is past the end of the file ({len(source.lines):,} lines)"
    if finding.end_line and finding.end_line > len(source.lines):
        return f"its last line {finding.end_line:,} is past the end of the file ({len(source.lines):,} lines)"
    return _quote(finding, source)


def _quote(finding: Finding, source: Source) -> str:
    wanted = one_spaced(finding.evidence.strip().strip("`"))
    if not wanted:
        return ""
    first, last = max(0, finding.line - 1 - NEAR), (finding.end_line or finding.line) + NEAR
    if wanted in one_spaced("\n".join(source.lines[first : last + wanted.count(" ")])):
        return ""
    head = one_spaced(finding.evidence.strip().strip("`").split("\n")[0])
    elsewhere = next((n for n, text in enumerate(source.lines, 1) if head and head in one_spaced(text)), 0)
    return f"the quoted code stands at line {elsewhere:,}" if elsewhere else "the quoted code is not in the file"


def rechecked(finding: Finding, sources: Sources) -> Finding:
    """The finding as its file says now: moved with its code, fixed when the code is gone, regressed when it is back.

    A file whose digest has not changed is not looked at again. A dismissed finding stays dismissed. What is fixed by
    the word of the user while its code is unchanged stays fixed until the file changes.
    """
    source = sources.get(finding.path)
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if not finding.anchor:
        return ground([finding], sources)[0] if source.hash else finding
    lines = [n for n, text in enumerate(source.lines, 1) if one_spaced(text)[:LONGEST_ANCHOR] == finding.anchor]
    if not lines:
        if source.problem and not source.missing:
            return replace(finding, verified=False, why=source.problem)
        if not finding.is_open:
            return replace(finding, file_hash=source.hash)
        why = "the file is gone" if source.missing else "the code it spoke of is gone"
        return replace(finding, state="fixed", reason=why, file_hash=source.hash)
    line = min(lines, key=lambda n: abs(n - finding.line))
    end = finding.end_line + line - finding.line if finding.end_line else None
    state = "regressed" if finding.state == "fixed" and finding.reason.endswith("gone") else finding.state
    return replace(
        finding, line=line, end_line=end, file_hash=source.hash, verified=True, why="", state=state,
        reason="" if state == "regressed" else finding.reason,
    )  # fmt: skip


def digest_of_open(findings: Iterable[Finding], paths: Iterable[str] = (), most: int = 20) -> str:
    """The open findings of the files at hand as prompt text; "" when there is none. No paths means all files."""
    wanted = set(paths)
    chosen = [f for f in findings if f.is_open and (not wanted or f.path in wanted)]
    if not chosen:
        return ""
    rows = [f"- [{f.id}] {f.place} {f.code_smell_type} ({f.severity}): {one_spaced(f.message)[:160]}" for f in chosen]
    more = [f"- … and {len(rows) - most} more: /findings"] if len(rows) > most else []
    return "Open review findings in these files:\n" + "\n".join([*rows[:most], *more])
