"""Findings compared with the files they speak of: what does not fit is marked, never dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from swecli.models.finding import Finding, fingerprint, one_spaced
from swecli.review.judge.measures import LIMITS, function_at
from swecli.review.judge.places import block_of
from swecli.review.judge.sources import Source, Sources

NEAR = 3  # lines around the finding in which its quote may stand
LONGEST_ANCHOR = 400


def ground(findings: Iterable[Finding], sources: Sources) -> list[Finding]:
    """Each finding with `verified`, `why`, `anchor`, `block`, `file_hash` and `fingerprint` as its file says.

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
        block=_block(finding, source, sources) if anchor else "",
        file_hash=source.hash,
        fingerprint=fingerprint(finding.code_smell_type, path, mark, count),
    )


def _block(finding: Finding, source: Source, sources: Sources) -> str:
    """What must stand unchanged for the finding to be true still: its lines, or the function that was measured."""
    last, measure = finding.end_line or finding.line, None
    if finding.code_smell_type in LIMITS:
        function = function_at(sources.functions(source.path), finding.line)
        if function is not None:
            last, measure = max(last, function.last), function.measure(finding.code_smell_type)
    return block_of(source.lines[finding.line - 1 : last], measure).stored()


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
