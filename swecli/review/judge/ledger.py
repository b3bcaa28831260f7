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

_LAYOUT = "its code stands there with another indentation, or other text in quotes"


def recheck(
    store: ReviewStore, here: Path | Sources, refs: Sequence[str] = (), paths: Iterable[str] = ()
) -> list[tuple[Finding, Finding]]:
    """Compare the named findings (default: all, or those in `paths`) with files, or with those of the project that
    `here` belongs to. Store what changed and return the visible changes as (before, after). Raises BadInput for an
    unknown id."""
    sources = here if isinstance(here, Sources) else project_sources(here)
    found = [store.get(ref) for ref in refs] or store.findings(paths=paths)
    by_path = sorted(found, key=lambda finding: finding.path)  # so that each file is read once
    changed = [
        (before, after)
        for before in by_path
        if (after := recheck_finding(before, sources)) != before
    ]
    store.update((after for _, after in changed), "recheck", "rule")
    return [(before, after) for before, after in changed if format_change(before, after)]


def set_state(store: ReviewStore, ref: str, state: FindingState, reason: str = "") -> Finding:
    """Give a finding the state that the user names. Raises BadInput for an unknown id, UsageError for a wrong state."""
    before = store.get(ref)
    if before.state == state != "dismissed":  # dismissed again: for another reason
        raise UsageError(
            f"{before.id} is {before.state}, it cannot become {state}.", "See: /findings show"
        )
    finding = replace(before, state=state, reason=reason)
    store.update([finding], "user", "user")
    return finding


def recheck_finding(finding: Finding, sources: Sources) -> Finding:
    """Return the finding compared with its file, without a model. It moves with its lines, also into a renamed file. It
    becomes fixed when its file was deleted and its lines are in no other file; gone, which is not verified, when its
    lines are nowhere, or do something else because of their layout. What the change removed cannot change while its
    file has no lines."""
    source = sources.get(finding.path)
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if finding.removed and not source.lines:
        return finding
    if not (finding.anchor or finding.block):
        return (
            replace(ground([finding], sources)[0], fingerprint=finding.fingerprint)
            if source.hash
            else finding
        )
    if source.missing:
        return _recheck_missing_file(finding, sources)
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = Block.load(finding.block, finding.anchor)
    place = _find_place(finding, block, source)
    if place is None:
        return replace(move(finding, "vanished", "its code is in no file"), file_hash=source.hash)
    return _follow(finding, block, source, place)


def _find_place(finding: Finding, block: Block, source: Source) -> tuple[int, int] | None:
    """Return the first and last line of a finding's block: of several places one in its function, then one that does
    the same, then the nearest. None if it is nowhere."""

    def rank(place: tuple[int, int]) -> tuple[bool, bool, int]:
        is_elsewhere = source.symbol_at(place[0]).name != finding.symbol
        return is_elsewhere, not source.is_same(block, place), abs(place[0] - finding.line)

    return min(source.find_block(block, finding.anchor), key=rank, default=None)


def _follow(finding: Finding, block: Block, source: Source, place: tuple[int, int]) -> Finding:
    """Return the finding at the place where its code stands now; it is gone where that does something else there."""
    moved = _move_to_line(finding, source, *place)
    if source.is_same(block, place):
        return move(moved, "there", "its code is back")
    return move(moved, "vanished", _LAYOUT)


def _recheck_missing_file(finding: Finding, sources: Sources) -> Finding:
    block = Block.load(finding.block, finding.anchor)
    for path in sources.similar_files(finding.path):
        source = sources.get(path)
        if (place := _find_place(finding, block, source)) is not None:
            return replace(_follow(finding, block, source, place), path=path)
    finding = replace(finding, file_hash="")
    elsewhere = ""
    with suppress(BadInput):  # no repository, or no commit
        commits = ("--branches", "--remotes", "--not", "HEAD")
        path = f":(literal){finding.path}"
        elsewhere = run_git(sources.root, "show", "-s", "-1", "--format=%h", *commits, "--", path)
    if elsewhere:
        return move(finding, "vanished", "its file is on other branches only")
    return move(finding, "fixed", "the file was deleted, and its code is in no other file")


def _move_to_line(finding: Finding, source: Source, line: int, last: int) -> Finding:
    end = last if finding.end_line else None
    anchor = finding.anchor or collapse_whitespace(source.lines[line - 1])
    return replace(
        finding,
        line=line,
        end_line=end,
        anchor=anchor,
        file_hash=source.hash,
        verified=True,
        why="",
    )


def format_change(before: Finding, after: Finding) -> str:
    """Return the change as a line; "" for one that no user would see."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.key[:2] != after.key[:2]:
        return f"{after.id} {before.place} → {after.place}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code is unchanged'}"
