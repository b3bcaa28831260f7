"""Compares the ledger with the files as they are now, and sets states by the user's word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from swecli.models.errors import BadInput, UsageError
from swecli.models.finding import Finding, FindingState, collapse_whitespace
from swecli.review.judge.grounding import ground, move
from swecli.review.judge.sources import Block, Source, Sources, project_sources
from swecli.store.reviews import ReviewStore
from swecli.tools.git import run_git

_OTHER_LAYOUT = "its code stands there with another indentation, or other text in quotes"


def recheck(
    store: ReviewStore, place: Path | Sources, names: Sequence[str] = (), paths: Iterable[str] = ()
) -> list[tuple[Finding, Finding]]:
    """Compare the named findings (default: all, or those in `paths`) with files, or with those of the project that
    `place` belongs to. Store what changed and return the visible changes as (before, after). Raises BadInput for an
    unknown id."""
    sources = place if isinstance(place, Sources) else project_sources(place)
    findings = [store.get(name) for name in names] or store.findings(paths=paths)
    findings.sort(key=lambda finding: finding.path)  # so that each file is read once
    pairs = [(finding, recheck_finding(finding, sources)) for finding in findings]
    changes = [(before, after) for before, after in pairs if before != after]
    store.update((after for _, after in changes), "recheck", "rule")
    return [(before, after) for before, after in changes if format_change(before, after)]


def set_state(store: ReviewStore, name: str, state: FindingState, reason: str = "") -> Finding:
    """Give a finding the state that the user names. Raises BadInput for an unknown id, UsageError for a wrong state."""
    before = store.get(name)
    if before.state == state != "dismissed":  # dismissed again: for another reason
        problem = f"{before.id} is {before.state}, it cannot become {state}."
        raise UsageError(problem, "See: /findings show")
    finding = replace(before, state=state, reason=reason)
    store.update([finding], "user", "user")
    return finding


def recheck_finding(finding: Finding, sources: Sources) -> Finding:
    """Return the finding compared with its file, without a model. It moves with its lines, also into a renamed file. It
    becomes fixed when its file was deleted and its lines are in no other file; gone, which is not verified, when its
    lines are nowhere, or do something else because of their layout. What the change removed cannot change while its
    file has no lines."""
    source = sources.get(finding.path)
    if source.hash == finding.file_hash and not source.is_missing:
        return finding
    if finding.removed and not source.lines:
        return finding
    if not (finding.anchor or finding.block):
        if not source.hash:
            return finding
        return replace(ground([finding], sources)[0], fingerprint=finding.fingerprint)
    if source.is_missing:
        return _recheck_missing_file(finding, sources)
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = Block.load(finding.block, finding.anchor)
    lines = _find_lines(finding, block, source)
    if lines is None:
        return replace(
            move(finding, "vanished", "the code it named is gone"), file_hash=source.hash
        )
    return _follow(finding, block, source, lines)


def _find_lines(finding: Finding, block: Block, source: Source) -> tuple[int, int] | None:
    """Return the first and last line of a finding's block: of several places one in its function, then one that does
    the same, then the nearest. None if it is nowhere."""

    def rank(lines: tuple[int, int]) -> tuple[bool, bool, int]:
        is_elsewhere = source.symbol_at(lines[0]).name != finding.symbol
        return (
            is_elsewhere,
            not source.block(*lines).is_same_code(block),
            abs(lines[0] - finding.line),
        )

    return min(source.find_block(block, finding.anchor), key=rank, default=None)


def _follow(finding: Finding, block: Block, source: Source, lines: tuple[int, int]) -> Finding:
    """Return the finding at the first and last line where its code stands now; it is gone where that does something
    else there."""
    first, last = lines
    moved_finding = replace(
        finding,
        line=first,
        end_line=last if finding.end_line else None,
        anchor=finding.anchor or collapse_whitespace(source.lines[first - 1]),
        file_hash=source.hash,
        verified=True,
        why="",
    )
    if source.block(first, last).is_same_code(block):
        return move(moved_finding, "there", "its code is back")
    return move(moved_finding, "vanished", _OTHER_LAYOUT)


def _recheck_missing_file(finding: Finding, sources: Sources) -> Finding:
    block = Block.load(finding.block, finding.anchor)
    for path in sources.similar_files(finding.path):
        source = sources.get(path)
        lines = _find_lines(finding, block, source)
        if lines is not None:
            return replace(_follow(finding, block, source, lines), path=path)
    finding = replace(finding, file_hash="")
    elsewhere = ""
    with suppress(BadInput):  # no repository, or no commit
        commits = ("--branches", "--remotes", "--not", "HEAD")
        path = f":(literal){finding.path}"
        elsewhere = run_git(sources.root, "show", "-s", "-1", "--format=%h", *commits, "--", path)
    if elsewhere:
        return move(finding, "vanished", "its file is on other branches only")
    return move(finding, "fixed", "the file was deleted, and its code is in no other file")


def format_change(before: Finding, after: Finding) -> str:
    """Return the change as a line; "" for one that no user would see."""
    if before.state != after.state:
        reason = f" ({after.reason})" if after.reason else ""
        return f"{after.id} {after.place}: {before.state} → {after.state}{reason}"
    if before.key[:2] != after.key[:2]:
        return f"{after.id} {before.place} → {after.place}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code is unchanged'}"
