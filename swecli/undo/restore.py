"""Restore files: which ones an undo or redo can restore, and the restoring. Each is restored whole or not at all."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import pairwise
from pathlib import Path

from swecli.store.undo_records import FileChange, FileState
from swecli.undo.versions import NOT_STORED, PRUNED, FileVersions
from swecli.values import dataclass

_CHANGED_MEANWHILE = "it was changed while it was being restored"


@dataclass
class RestorePlan:
    """The file changes of an undo or redo (`before` is the present state): `ready_changes`, `conflicts` with a change
    from outside the session, and by path why a file is `unrecoverable`. `paths` maps the keys of stored changes."""

    ready_changes: list[FileChange] = field(default_factory=list)
    conflicts: list[FileChange] = field(default_factory=list)
    unrecoverable: dict[str, str] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)


def plan_restore(
    changes: Iterable[FileChange],
    versions: FileVersions,
    targets: Mapping[str, FileState | None] | None = None,
) -> RestorePlan:
    """Plan the reversal of these changes, given oldest first; one without a key only joins those around it. A file gets
    the state before its first change, or that of `targets`, where None says that it has none. No file is changed; the
    present contents are stored."""
    targets = targets or {}
    chains: dict[str, list[FileChange]] = {}
    for change in changes:
        chains.setdefault(change.path, []).append(change)
    plan = RestorePlan()
    for path, chain in chains.items():
        plan.paths |= {change.key: path for change in chain if change.key}
        present = versions.read_state(path)
        target = targets.get(path, chain[0].before)
        if target is None:
            plan.unrecoverable[path] = "a piece of an earlier turn was taken back in the same lines"
            continue
        is_unbroken = all(earlier.after == later.before for earlier, later in pairwise(chain))
        is_ours = is_unbroken and present == chain[-1].after
        if present == target:
            continue
        if target.digest.startswith(NOT_STORED):
            plan.unrecoverable[path] = "it was too large or not readable"
        elif target.digest and versions.load(target.digest) is None:
            plan.unrecoverable[path] = PRUNED
        elif not _can_be_placed(path, chains, versions):
            plan.unrecoverable[path] = "its folder, outside the workspace, does not exist"
        elif present.digest.startswith(NOT_STORED) and not is_ours:
            plan.unrecoverable[path] = (
                "it was changed outside this session, and is too large to be stored"
            )
        else:
            group = plan.ready_changes if is_ours else plan.conflicts
            group.append(FileChange(path, present, target))
    return plan


def _can_be_placed(path: str, changed_folders: Collection[str], versions: FileVersions) -> bool:
    """Return whether a file can be restored without making folders outside the workspace that no turn had made."""
    folder = Path(path).parent
    return versions.is_inside(path) or folder.is_dir() or str(folder) in changed_folders


@dataclass
class Restored:
    """The changes that were made, and by path why one `failed`: its file is as it was."""

    changes: list[FileChange] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def restore_files(changes: Sequence[FileChange], versions: FileVersions) -> Restored:
    """Give each path the state after its change, if it has the one before. Whatever was interrupted between two files
    is completed by a second call: what has the state after it is done."""
    result = Restored()
    waiting_changes: list[FileChange] = []
    for change in sorted(changes, key=lambda change: change.path):
        present = versions.read_state(change.path)
        if present == change.after:
            result.changes.append(change)
        elif present == change.before:
            waiting_changes.append(change)
        else:
            result.failed[change.path] = _CHANGED_MEANWHILE
    # the contents of a folder before the folder
    for change in filter(_removes_first, reversed(waiting_changes)):
        try:
            _remove(_require_no_link(change.path))
        except OSError as error:
            result.failed[change.path] = error.strerror or str(error)
    for change in waiting_changes:
        if change.path in result.failed:
            continue
        try:
            versions.restore(_require_no_link(change.path), change.after)
            result.changes.append(change)
        except OSError as error:
            result.failed[change.path] = error.strerror or str(error)
            if _removes_first(change):
                # the disk may be full: the content stays among the versions
                with suppress(OSError):
                    versions.restore(_require_no_link(change.path), change.before)
    return result


def _removes_first(change: FileChange) -> bool:
    """Return whether the path must go: it has no successor, or a file becomes a folder or a folder a file."""
    before = change.before.mode
    after = change.after.mode
    if not before:
        return False
    return not after or stat.S_ISDIR(before) != stat.S_ISDIR(after)


def _require_no_link(path: str) -> Path:
    """Return the path. Raises OSError if its folder is reached through a link."""
    folder = Path(path).parent
    if folder.resolve() != folder:
        raise OSError(0, "its folder is a symbolic link, which is not followed")
    return Path(path)


def _remove(path: Path) -> None:
    """Remove a file, a link or an empty folder. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
