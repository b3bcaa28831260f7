"""Comparing the ledger with the files as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.finding import STATES, Finding
from swecli.review.grounding import rechecked
from swecli.review.sources import Sources
from swecli.store.review_store import ReviewStore


def recheck(store: ReviewStore, here: Path, refs: Sequence[str] = ()) -> list[tuple[Finding, Finding]]:
    """Look at the named findings (all, where none is named) again and commit what changed: (before, after) pairs.

    `here` is a folder of the project. Raises BadInput for an unknown id.
    """
    chosen = [store.get(ref) for ref in refs] if refs else store.findings()
    sources = Sources(project_root(here))
    changed = [(before, after) for before in by_path(chosen) if (after := rechecked(before, sources)) != before]
    store.put(after for _, after in changed)
    return changed


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
    """What a recheck changed, in a line."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.line != after.line:
        return f"{after.id} {after.path}: line {before.line} → {after.line}"
    return f"{after.id} {after.place}: {after.why or 'looked at again'}"
