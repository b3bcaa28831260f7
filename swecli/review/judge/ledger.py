"""The ledger compared with the files as they are now, and changed by the user's word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.finding import Finding, FindingState, one_spaced
from swecli.review.judge.grounding import ground
from swecli.review.judge.measures import LIMITS, function_at, function_named, in_words, measure
from swecli.review.judge.places import places, read_block
from swecli.review.judge.sources import Source, Sources
from swecli.review.judge.states import Cause, move
from swecli.review.judge.symbols import Symbol
from swecli.store.reviews import ReviewStore

CODE_GONE, FILE_GONE = "its code stands nowhere", "the file was deleted, and its code stands nowhere else"
_MEASURED = re.compile(r"`\w+` has \d+ \w+ now, at most \d+ are meant")


def recheck(store: ReviewStore, here: Path, refs: Sequence[str] = ()) -> list[tuple[Finding, Finding]]:
    """Compare the named findings (all, where none is named) with the files and commit what changed: (before, after).

    `here` is a folder of the project. Raises BadInput for an unknown id.
    """
    chosen = [store.get(ref) for ref in refs] if refs else store.findings()
    sources = Sources(project_root(here))
    changed = [(before, after) for before in by_path(chosen) if (after := rechecked(before, sources)) != before]
    store.put((after for _, after in changed), "recheck", "rule")
    return [(before, after) for before, after in changed if change_line(before, after)]


def settle(store: ReviewStore, ref: str, state: FindingState, reason: str = "") -> Finding:
    """Give a finding the state that the user names. Raises BadInput for an unknown id, UsageError for a wrong state."""
    finding = move(store.get(ref), Cause("user", "user", reason, state))
    store.put([finding], "user", "user")
    return finding


def rechecked(finding: Finding, sources: Sources) -> Finding:
    """The finding as its file is now, by rule and without a model.

    It moves with its lines, however they are laid out, also into a renamed file; is fixed when a function that was too
    much by measure no longer is, or when its file was deleted and its lines stand in no other; regresses when the
    measure is over the limit again. Where its lines stand nowhere it is gone, which is not verified. A file whose
    digest has not changed is not looked at again.
    """
    source = sources.get(finding.path)
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if source.missing:
        return _without_file(finding, sources) if finding.block or finding.anchor else finding
    if not (finding.anchor or finding.block):
        return ground([finding], sources)[0] if source.hash else finding
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = read_block(finding.block, finding.anchor)
    found = places(block, finding.anchor, source.lines)
    line, last = min(found, key=lambda place: abs(place[0] - finding.line), default=(0, 0))
    function = _function(finding, sources, line)
    if function is not None and block.measure is not None:
        limit, now = LIMITS[finding.code_smell_type], measure(function, finding.code_smell_type)
        if now <= limit < block.measure:
            fixed = move(finding, Cause("measured", "rule", in_words(function, finding.code_smell_type)))
            return replace(fixed, file_hash=source.hash, line=function.line, verified=True, why="")
        if min(now, block.measure) > limit:
            again = finding.state == "fixed" and _MEASURED.fullmatch(finding.reason)
            back = move(finding, Cause("over the limit", "rule")) if again else finding
            return _there(back, source, line or function.line, last)
    if line:
        return _there(finding, source, line, last)
    return replace(move(finding, Cause("vanished", "rule", CODE_GONE)), file_hash=source.hash)


def _without_file(finding: Finding, sources: Sources) -> Finding:
    """Moved with its lines where they stand in another file, as after a rename; fixed with its file where in none."""
    block = read_block(finding.block, finding.anchor)
    for path in sources.alike(finding.path):
        source = sources.get(path)
        if found := places(block, finding.anchor, source.lines):
            return replace(_there(finding, source, *found[0]), path=path)
    fixed = move(finding, Cause("deleted", "rule", FILE_GONE))
    return replace(fixed, file_hash=sources.get(finding.path).hash)


def _function(finding: Finding, sources: Sources, line: int) -> Symbol | None:
    """The function that is to be measured for it; None for a smell without a measure."""
    if finding.code_smell_type not in LIMITS:
        return None
    functions = sources.symbols(finding.path)
    return function_at(functions, line) if line else function_named(functions, finding.anchor, finding.line)


def _there(finding: Finding, source: Source, line: int, last: int) -> Finding:
    end = last if finding.end_line else None
    back = move(finding, Cause("reported", "rule", "its code is back")) if finding.state == "gone" else finding
    anchor = finding.anchor or one_spaced(source.lines[line - 1])
    return replace(back, line=line, end_line=end, anchor=anchor, file_hash=source.hash, verified=True, why="")


def by_path(findings: Iterable[Finding]) -> list[Finding]:
    """Those of one file together, so that it is read once."""
    return sorted(findings, key=lambda finding: (finding.path, finding.number))


def named_from(here: Path, paths: Iterable[str]) -> list[str]:
    """Paths as findings have them, for paths as one writes them in the folder `here`; both readings of each."""
    top = project_root(here)
    meant = [(here / path).resolve() for path in paths]
    return [*paths, *(path.relative_to(top).as_posix() for path in meant if path.is_relative_to(top))]


def change_line(before: Finding, after: Finding) -> str:
    """What changed, in a line; "" for what nobody would see."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.key[:2] != after.key[:2]:
        return f"{after.id} {before.place} → {after.place}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code stands as before'}"
