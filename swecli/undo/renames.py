"""Tells which removed and created files are one that was renamed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from swecli.store.undo_records import FileState
from swecli.text_files import TextFile, split_lines
from swecli.undo.versions import NOT_STORED

_EMPTY = hashlib.sha256(b"").hexdigest()  # the digest of an empty content, which many files have
# The least share of equal lines, as git takes by default (`git diff --find-renames`).
_LEAST_ALIKE = 0.5
# Pairs that are compared line by line: those of a hundred files on each side, which takes a moment.
_MAX_PAIRS = 10_000


class _ChangedFile(Protocol):
    """A file with its states before and after a change."""

    @property
    def path(self) -> str: ...

    @property
    def before(self) -> FileState: ...

    @property
    def after(self) -> FileState: ...


_File = TypeVar("_File", bound=_ChangedFile)


def find_renames(
    files: Iterable[_File], read_file: Callable[[_File], TextFile | None]
) -> list[tuple[_File, _File]]:
    """Return the pairs of a removed and a created file with equal contents, or with mostly equal lines. `read_file`
    returns the text of a file before its removal or after its creation; None for one that has none."""
    files = list(files)
    removed = [file for file in files if file.before.mode and not file.after.mode]
    created = [file for file in files if file.after.mode and not file.before.mode]
    renames: list[tuple[_File, _File]] = []
    for old in [*removed]:
        new = next((new for new in created if new.after == old.before), None)
        if new is not None and _has_content(old.before):
            renames.append((old, new))
            removed.remove(old)
            created.remove(new)
    if len(removed) * len(created) > _MAX_PAIRS:
        return renames
    lines = {file.path: _count_lines(read_file(file)) for file in (*removed, *created)}
    for old in removed:
        likeness = {new.path: _likeness(lines[old.path], lines[new.path]) for new in created}
        new = max(created, key=lambda new: likeness[new.path], default=None)
        if new is not None and likeness[new.path] >= _LEAST_ALIKE:
            renames.append((old, new))
            created.remove(new)
    return renames


def _has_content(state: FileState) -> bool:
    """Return whether a state has a content by which it can be told from others."""
    return state.digest not in ("", _EMPTY) and not state.digest.startswith(NOT_STORED)


def _count_lines(file: TextFile | None) -> Counter[str]:
    return Counter(split_lines(file.text)) if file is not None else Counter()


def _likeness(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of lines that are equal in the longer one of two texts; 0 if one has none."""
    longer = max(old.total(), new.total())
    return (old & new).total() / longer if longer else 0.0
