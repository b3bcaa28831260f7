"""Comparing the ledger with the files as they are now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.finding import CHANGED, STATES, Finding
from swecli.review.judge.grounding import ground
from swecli.review.judge.measures import LIMITS, Function, function_at, function_named, in_words
from swecli.review.judge.places import places, read_block, trace
from swecli.review.judge.sources import Source, Sources
from swecli.store.reviews import ReviewStore

CODE_GONE, FILE_GONE = "the code it spoke of is gone", "the file is gone"
# reasons that were found here, not given by the user: what they decided is decided anew
_FOUND = re.compile(rf"{CODE_GONE}|{FILE_GONE}|`\w+` has \d+ \w+ now, at most \d+ are meant")


def recheck(store: ReviewStore, here: Path, refs: Sequence[str] = ()) -> list[tuple[Finding, Finding]]:
    """Look at the named findings (all, where none is named) again and commit what changed: (before, after) pairs.

    `here` is a folder of the project. Raises BadInput for an unknown id.
    """
    chosen = [store.get(ref) for ref in refs] if refs else store.findings()
    sources = Sources(project_root(here))
    changed = [(before, after) for before in by_path(chosen) if (after := rechecked(before, sources)) != before]
    store.put(after for _, after in changed)
    return [(before, after) for before, after in changed if told(before, after)]


def rechecked(finding: Finding, sources: Sources) -> Finding:
    """The finding as its file says now. What cannot be decided stays open, and says "changed, look again".

    It moves with its lines, however they are laid out; is fixed when nothing like them is left, or when a function
    that was too much by measure no longer is; regresses when that is undone. A file whose digest has not changed is
    not looked at again. A dismissed finding stays dismissed, and what the user called fixed stays fixed.
    """
    source = sources.get(finding.path)
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if source.missing:
        return _without_file(finding, sources) if finding.file_hash else finding
    if not finding.anchor:
        return ground([finding], sources)[0] if source.hash else finding
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = read_block(finding.block, finding.anchor)
    found = places(block, finding.anchor, source.lines)
    line, last = min(found, key=lambda place: abs(place[0] - finding.line), default=(0, 0))
    function = _function(finding, sources, line)
    if function is not None and block.measure is not None:
        limit, now = LIMITS[finding.code_smell_type], function.measure(finding.code_smell_type)
        if now <= limit < block.measure:
            return _gone(finding, source, in_words(function, finding.code_smell_type), function.line)
        if min(now, block.measure) > limit:
            return _there(finding, source, line or function.line, function.last)
    if line:
        return _there(finding, source, line, last)
    if left := trace(block, finding.anchor, source.lines, finding.line):
        return _changed(finding, source, left)
    return _gone(finding, source, CODE_GONE)


def _without_file(finding: Finding, sources: Sources) -> Finding:
    """Fixed with its file, unless the same lines stand in another one: a renamed file has fixed nothing."""
    block = read_block(finding.block, finding.anchor)
    for path in sources.alike(finding.path) if finding.anchor and finding.is_open else ():
        if places(block, finding.anchor, sources.get(path).lines):
            return replace(finding, verified=False, why=f"its lines stand in {path} now, look again")
    return _gone(finding, sources.get(finding.path), FILE_GONE)


def _function(finding: Finding, sources: Sources, line: int) -> Function | None:
    """The function that is to be measured for it; None for a smell without a measure."""
    if finding.code_smell_type not in LIMITS:
        return None
    functions = sources.functions(finding.path)
    return function_at(functions, line) if line else function_named(functions, finding.anchor, finding.line)


def _gone(finding: Finding, source: Source, why: str, line: int = 0) -> Finding:
    found = replace(finding, file_hash=source.hash, line=line or finding.line)
    return replace(found, state="fixed", reason=why, verified=True, why="") if finding.is_open else found


def _there(finding: Finding, source: Source, line: int, last: int) -> Finding:
    end = last if finding.end_line else None
    found = replace(finding, line=line, end_line=end, file_hash=source.hash, verified=True, why="")
    again = finding.state == "fixed" and _FOUND.fullmatch(finding.reason)
    return replace(found, state="regressed", reason="") if again else found


def _changed(finding: Finding, source: Source, line: int = 0) -> Finding:
    if not finding.is_open:
        return replace(finding, file_hash=source.hash)
    return replace(
        finding, line=line or finding.line, end_line=None, file_hash=source.hash, verified=False, why=CHANGED
    )


def by_path(findings: Iterable[Finding]) -> list[Finding]:
    """Those of one file together, so that it is read once."""
    return sorted(findings, key=lambda finding: (finding.path, finding.number))


def named_from(here: Path, paths: Iterable[str]) -> list[str]:
    """Paths as findings have them, for paths as one writes them in the folder `here`; both readings of each."""
    top = project_root(here)
    meant = [(here / path).resolve() for path in paths]
    return [*paths, *(path.relative_to(top).as_posix() for path in meant if path.is_relative_to(top))]


def states_of(words: Sequence[str]) -> list[str]:
    """The states that words name; "all" is all of them, none means those that are open. Raises BadInput."""
    if not words:
        return ["open", "regressed"]
    if "all" in words:
        return []
    unknown = [word for word in words if word not in STATES]
    if unknown:
        raise BadInput(f"There is no state {unknown[0]!r}.", f"States: {', '.join(STATES)}, all")
    return list(words)


def told(before: Finding, after: Finding) -> str:
    """What a recheck changed, in a line; "" for what nobody would see."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.line != after.line and not after.doubt:
        return f"{after.id} {after.path}: line {before.line} → {after.line}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code stands as before'}"
