"""Tells which removed and created files are one that was renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from swecli.store.undo_records import FileChange
from swecli.text_files import TextFile, split_lines

# The least share of equal lines, as git takes by default (`git diff --find-renames`).
_LEAST_ALIKE = 0.5
# Pairs that are compared line by line: those of a hundred files on each side, which takes a moment.
_MAX_PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class Rename:
    """A file that was removed under one path and created under another."""

    removed: FileChange
    created: FileChange


def find_renames(
    changes: Iterable[FileChange], read: Callable[[FileChange], TextFile | None]
) -> list[Rename]:
    """Return the pairs of removed and created files with equal contents, or with mostly equal lines. `read` returns the
    text of a file before its removal or after its creation; None for one that has none."""
    changes = list(changes)
    removed = [change for change in changes if change.before.mode and not change.after.mode]
    created = [change for change in changes if change.after.mode and not change.before.mode]
    renames: list[Rename] = []
    for old in [*removed]:
        new = next((new for new in created if new.after.digest == old.before.digest), None)
        if new is not None and old.before.digest:
            renames.append(Rename(old, new))
            removed.remove(old)
            created.remove(new)
    if len(removed) * len(created) > _MAX_PAIRS:
        return renames
    lines = {change.path: _count_lines(read(change)) for change in (*removed, *created)}
    for old in removed:
        likeness = {new.path: _likeness(lines[old.path], lines[new.path]) for new in created}
        new = max(created, key=lambda new: likeness[new.path], default=None)
        if new is not None and likeness[new.path] >= _LEAST_ALIKE:
            renames.append(Rename(old, new))
            created.remove(new)
    return renames


def _count_lines(file: TextFile | None) -> Counter[str]:
    return Counter(split_lines(file.text)) if file is not None else Counter()


def _likeness(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of lines that are equal in the longer one of two texts; 0 if one has none."""
    longer = max(old.total(), new.total())
    return (old & new).total() / longer if longer else 0.0
