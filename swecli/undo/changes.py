"""Changes of files: recorded around each call that makes them, and taken back, each file whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from swecli.models.errors import StoreError
from swecli.store.records import FileChange, FileState
from swecli.store.session_manager import SessionManager
from swecli.tools.commands.rules import objection
from swecli.tools.processes import child_environment
from swecli.undo.versions import UNKEPT, FileVersions, replace_file

_States = dict[str, FileState]
_GONE = "its earlier version is not kept any more"


class ChangeRecorder:
    """Records the file changes of the turn in progress."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions, self._versions = sessions, versions
        self._reported, self._pruned = 0, False

    @asynccontextmanager
    async def around(self, kind: str, subject: str) -> AsyncIterator[None]:
        """Keep what a call changes: of an edit its file, of all else every file that the ignore rules leave in. What
        only reads, a command or a page of the web, is not looked at."""
        root, environ = self._versions.root, child_environment(self._versions.environ)
        if kind == "fetch" or (kind == "run" and not objection(subject, root, environ)):
            yield
            return
        paths: tuple[Path, ...] = ()
        if kind == "edit":
            paths = (root / subject, *(folder for folder in (root / subject).parents if not folder.exists()))
        before = self._look(paths) if paths else await asyncio.to_thread(self._look, paths)
        whole = self._versions.whole
        try:
            yield
        finally:
            stopped = (task := asyncio.current_task()) is not None and task.cancelling()
            after = self._look(paths) if paths or stopped else await asyncio.to_thread(self._look, paths)
            self._record(before, after, bool(paths) or (whole and self._versions.whole))

    def _look(self, paths: Iterable[Path]) -> _States:
        if not self._pruned:
            self._pruned = True
            self._versions.prune()
        if not paths:
            return self._versions.scan()
        return {str(path): state for path in paths if (state := self._versions.state(str(path))).mode}

    def _record(self, before: _States, after: _States, whole: bool) -> None:
        """Store what differs; where a scan was not whole, only what was in it before and is not there still."""
        differ = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        if not whole:
            differ = [path for path in differ if path in before and (path in after or not os.path.lexists(path))]
        found = [FileChange(path, before.get(path, FileState()), after.get(path, FileState())) for path in differ]
        for change in found:
            self._versions.touch(change.before.digest)
            if change.before.digest.startswith(UNKEPT):
                self._versions.notices[f"{change.path} changed, and is too large or not readable to be kept"] = None
        session = self._sessions.current_session
        try:
            if found and session is not None:
                self._sessions.undo.record(session, found)
        except StoreError as error:
            self._versions.notices[f"what a call changed is not kept for an undo: {error}"] = None

    def take_notices(self) -> list[str]:
        """What of the changes so far cannot be undone, for the user, each line once."""
        fresh, self._reported = list(self._versions.notices)[self._reported :], len(self._versions.notices)
        return fresh


@dataclass
class RestorePlan:
    """Changes to be made (`before` is what is there now), those of files `changed` since by another hand, and `lost`:
    by path why it cannot be brought back. `settles` has the path of each stored change by its key."""

    ready: list[FileChange] = field(default_factory=list)
    changed: list[FileChange] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    settles: dict[int, str] = field(default_factory=dict)


def plan(changes: Iterable[FileChange], versions: FileVersions) -> RestorePlan:
    """What takes these changes back, the oldest of a path first. Nothing is changed, but what is there now is kept."""
    of: dict[str, list[FileChange]] = {}
    for change in changes:
        of.setdefault(change.path, []).append(change)
    found = RestorePlan()
    for path, chain in of.items():
        found.settles |= {change.key: path for change in chain}
        now, target = versions.state(path), chain[0].before
        unbroken = all(one.after == two.before for one, two in zip(chain, chain[1:], strict=False))
        ours = unbroken and now == chain[-1].after
        if now == target:
            continue
        if target.digest.startswith(UNKEPT):
            found.lost[path] = "it was too large, or not readable, to be kept"
        elif target.digest and versions.get(target.digest) is None:
            found.lost[path] = _GONE
        elif now.digest.startswith(UNKEPT) and not ours:
            found.lost[path] = "what is there now is from another hand, and too large to be kept"
        else:
            (found.ready if ours else found.changed).append(FileChange(path, now, target))
    return found


def apply(changes: Sequence[FileChange], versions: FileVersions) -> tuple[list[FileChange], dict[str, str]]:
    """Make these changes; those that were made, and by path why one was not."""
    done, failed = [], {}
    leaving = [(change, True) for change in changes if change.before.mode and _leaves(change)]
    leaving.sort(key=lambda one: one[0].path, reverse=True)  # what is in a folder before it
    for change, leaves in [*leaving, *((change, False) for change in sorted(changes, key=lambda one: one.path))]:
        path = Path(change.path)
        try:
            if path.parent.resolve() != path.parent:
                raise OSError(0, "a link is on the way, which is not followed")
            if leaves:
                _remove(path)
            elif change.path not in failed:
                _put(path, change.after, versions)
                done.append(change)
        except OSError as error:
            failed[change.path] = error.strerror or str(error)
    return done, failed


def _leaves(change: FileChange) -> bool:
    """Whether nothing takes its place, or a folder that of what is none, or the other way round."""
    return not change.after.mode or stat.S_ISDIR(change.before.mode) != stat.S_ISDIR(change.after.mode)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def _put(path: Path, state: FileState, versions: FileVersions) -> None:
    if not state.mode:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(state.mode):
        path.mkdir(exist_ok=True)
        path.chmod(stat.S_IMODE(state.mode))
    elif (data := versions.get(state.digest)) is None:
        raise OSError(0, _GONE)
    else:
        replace_file(path, data, state.mode)
