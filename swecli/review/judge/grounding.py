"""Findings compared with the files they speak of: what does not fit is marked, never dropped."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate

from swecli.models.finding import Finding, Judgement, fingerprint, one_spaced
from swecli.review.judge.measures import LIMITS, function_at, measure
from swecli.review.judge.places import block_of, squeezed
from swecli.review.judge.sources import Source, Sources
from swecli.review.judge.states import Cause, move

NEAR = 3  # lines around the finding in which its quote may stand
LONGEST_ANCHOR = 400
SHORTEST_QUOTE = 6  # letters from which on a quote can place a finding


def ground(findings: Iterable[Finding], sources: Sources) -> list[Finding]:
    """Each finding with `verified`, `why`, `anchor`, `block`, `symbol`, `file_hash` and `fingerprint` as its file says.

    Verified: the file exists, the lines are in it, and the quoted code stands there. A quote that stands elsewhere
    exactly once corrects the line. Without a file or a line to hold on to, the finding is refuted by rule.
    """
    return [_grounded(found, sources) for found in findings]


def _grounded(finding: Finding, sources: Sources) -> Finding:
    source = sources.get(finding.path)
    path = source.path if source.hash else finding.path
    finding = _placed(finding, source)
    why = _what_is_wrong(finding, source)
    inside = 1 <= finding.line <= len(source.lines)
    anchor = one_spaced(source.lines[finding.line - 1])[:LONGEST_ANCHOR] if inside else ""
    # without a line to hold on to, two findings differ by their words alone
    mark = anchor or f"{one_spaced(finding.evidence)} {one_spaced(finding.message)}"
    count = occurrence(source, finding.line) if anchor else 1
    placed = replace(
        finding,
        path=path,
        verified=not why,
        why=why,
        anchor=anchor,
        block=_block(finding, source, sources) if anchor else "",
        symbol=sources.symbol(path, finding.line).name if anchor else "",
        file_hash=source.hash,
        fingerprint=fingerprint(finding.code_smell_type, path, mark, count),
    )
    if anchor:
        return placed
    refuted = Judgement("refuted", why=why, by="rule")
    return move(replace(placed, verdict="refuted", judgement=refuted), Cause("refuted", "rule", why, judgement=refuted))


def _placed(finding: Finding, source: Source) -> Finding:
    """At the lines where its quote stands, if it stands in just one place and not where it was reported."""
    quote = squeezed(finding.evidence.strip().strip("`"))
    if len(quote) < SHORTEST_QUOTE or not source.lines:
        return finding
    inside = 1 <= finding.line <= len(source.lines)
    if inside and not _quote(finding, source):
        return finding
    texts = [squeezed(line) for line in source.lines]
    whole = "".join(texts)
    if whole.count(quote) != 1:
        return finding
    length = max(0, (finding.end_line or finding.line) - finding.line) if finding.line > 0 else 0
    line = bisect_right([0, *accumulate(map(len, texts))], whole.index(quote))
    return replace(finding, line=line, end_line=min(line + length, len(source.lines)) if finding.end_line else None)


def _block(finding: Finding, source: Source, sources: Sources) -> str:
    """What must stand unchanged for the finding to be true still: its lines, or the function that was measured."""
    last, measured = finding.end_line or finding.line, None
    if finding.code_smell_type in LIMITS:
        function = function_at(sources.symbols(source.path), finding.line)
        if function is not None:
            last, measured = max(last, function.last), measure(function, finding.code_smell_type)
    return block_of(source.lines[finding.line - 1 : last], measured).stored()


def occurrence(source: Source, line: int) -> int:
    """How often the text of that line stands in the file up to there, itself included."""
    wanted = one_spaced(source.lines[line - 1])
    return sum(one_spaced(text) == wanted for text in source.lines[:line])


def _what_is_wrong(finding: Finding, source: Source) -> str:
    if source.problem:
        return source.problem
    if finding.line < 1:
        return "it names no line, and no code that stands in one place"
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
    return "the quoted code is not there"
