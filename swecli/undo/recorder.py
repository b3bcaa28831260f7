"""Records what tool calls change: files, which an undo restores, and the rest, which it can only name."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from swecli.file_names import write_name
from swecli.models.changed_files import ChangedFile, Changer
from swecli.models.errors import StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, FileState, LastingChange
from swecli.tools.git import RepositoryMemory, read_memory
from swecli.tools.jobs import Job, Jobs
from swecli.tools.limits import escape_invalid_bytes
from swecli.undo.lasting import compare_memories
from swecli.undo.turn_changes import TurnChanges
from swecli.undo.versions import NOT_STORED, FileVersions
from swecli.values import dataclass

_States = dict[str, FileState]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The workspace at one moment: its files, and its repository, None if git cannot read it. Not all files are in
    `states` unless it `is_complete`; `taken_ns` is in ns since 1970."""

    states: _States
    memory: RepositoryMemory | None
    is_complete: bool
    taken_ns: int


class ChangeRecorder:
    """Records the changes of the running turn, and of the background commands of turns."""

    def __init__(self, sessions: SessionManager, versions: FileVersions, jobs: Jobs) -> None:
        self._sessions = sessions
        self._versions = versions
        self._jobs = jobs
        self._reported = 0
        self._last: _Snapshot | None = None
        self._turn_changes = TurnChanges()
        self._running_calls = 0
        self._coming_turn = 0  # that of what is recorded now; 0: it is the newest that has begun

    @contextmanager
    def before_turn(self, number: int) -> Iterator[None]:
        """Inside, changes belong to the turn of this number, whose query is stored and which has not begun."""
        self._coming_turn = number
        try:
            yield
        finally:
            self._coming_turn = 0

    @asynccontextmanager
    async def around(self, changed_paths: Sequence[str]) -> AsyncIterator[list[str]]:
        """Record the changes of a call: of these files with the folders that it creates for them, or of all files that
        are not ignored if there are none. The list is filled at the end, with the files that differ."""
        differing: list[str] = []
        recording = self._record_edit(changed_paths) if changed_paths else self._record_any()
        self._running_calls += 1
        try:
            async with recording as names:
                yield differing
        finally:
            self._running_calls -= 1
        differing += map(escape_invalid_bytes, names)

    @asynccontextmanager
    async def _record_edit(self, changed_paths: Sequence[str]) -> AsyncIterator[list[str]]:
        names: list[str] = []
        paths = self._with_new_folders(changed_paths)
        self._versions.prune()
        before = self._read(paths)
        begun_keys = self._begin(before, paths)
        try:
            yield names
        finally:
            after = self._read(paths)
            names += self._record(before, after, "tool", is_complete=True, begun_keys=begun_keys)
            self._forget_differences(after, paths)

    @asynccontextmanager
    async def _record_any(self) -> AsyncIterator[list[str]]:
        names: list[str] = []
        before = await asyncio.to_thread(self._take_snapshot)
        self._record_jobs(before)
        try:
            yield names
        finally:
            task = asyncio.current_task()
            is_cancelled = task is not None and task.cancelling() > 0
            after = (
                self._take_snapshot()
                if is_cancelled
                else await asyncio.to_thread(self._take_snapshot)
            )
            is_complete = before.is_complete and after.is_complete
            root = self._versions.root
            if before.is_complete and not root.is_dir():
                self._versions.warn(f"the folder {root} is gone: what the call did is not recorded")
            names += self._record(before.states, after.states, "command", is_complete=is_complete)
            self._record_lasting(before, after)
            self._last = after

    def _take_snapshot(self) -> _Snapshot:
        taken_ns = time.time_ns()
        self._versions.prune()
        states = self._versions.scan()
        earlier = None if self._last is None else self._last.memory
        memory = read_memory(self._versions.root, self._versions.environ, earlier)
        return _Snapshot(states, memory, self._versions.is_complete, taken_ns)

    def _begin(self, before: _States, paths: Iterable[Path]) -> list[int]:
        """Store the state of an edit's file before the edit, so that an undo knows it if the process is killed before
        the change is recorded. Returns the keys of these changes, which the recorded ones replace."""
        states = {str(path): before.get(str(path), FileState()) for path in paths}
        return self._store([FileChange(path, state, state) for path, state in states.items()])

    def _with_new_folders(self, names: Sequence[str]) -> tuple[Path, ...]:
        """Return the paths of these files and of the folders above them that do not exist."""
        files = [self._versions.root / name for name in names]
        folders = [folder for file in files for folder in file.parents if not folder.exists()]
        return tuple(dict.fromkeys([*files, *folders]))

    def _read(self, paths: Iterable[Path]) -> _States:
        """Return the states of those of the paths that exist."""
        states = {str(path): self._versions.read_state(str(path)) for path in paths}
        return {path: state for path, state in states.items() if state.mode}

    def _record(
        self,
        before: _States,
        after: _States,
        changer: Changer,
        *,
        is_complete: bool,
        begun_keys: Collection[int] = (),
    ) -> list[str]:
        """Store the differences in place of what `_begin` stored; after an incomplete scan only those of paths that are
        in both or no longer exist. Returns the names of the files among them."""
        paths = _differences(before, after)
        if not is_complete:
            paths = [
                path
                for path in paths
                if path in before and (path in after or not os.path.lexists(path))
            ]
        changes = [
            FileChange(
                path,
                before.get(path, FileState()),
                after.get(path, FileState()),
                self._coming_turn,
            )
            for path in paths
        ]
        for change in changes:
            self._versions.touch(change.before.digest)
            if change.before.digest.startswith(NOT_STORED):
                name = write_name(change.path)
                self._versions.warn(
                    f"{name} changed, and cannot be undone: it is too large or not readable"
                )
        self._store([replace(change, changed_by=changer) for change in changes], begun_keys)
        for change in changes:
            self._note_change(change.path, change.before, change.after, changer)
        return [
            self._name(change.path)
            for change in changes
            if not stat.S_ISDIR(change.before.mode or change.after.mode)
        ]

    def _note_change(
        self, path: str, before: FileState, after: FileState, changer: Changer
    ) -> None:
        session = self._sessions.current_session
        if session is not None:
            name = self._name(path)
            self._turn_changes.add(session, name, before, after, changer)

    def _store(self, changes: Sequence[FileChange], replaced: Collection[int] = ()) -> list[int]:
        session = self._sessions.current_session
        if session is None or not (changes or replaced):
            return []
        try:
            return self._sessions.file_changes.record(session, changes, replaced)
        except StoreError as error:
            self._versions.warn(f"the changes of a call cannot be undone: {error}")
            return []

    def _record_lasting(self, before: _Snapshot, after: _Snapshot) -> None:
        """Store what a call changed besides the files that were scanned."""
        session = self._sessions.current_session
        if session is None:
            return
        changes: list[LastingChange] = []
        if before.memory is not None and after.memory is not None:
            changes += compare_memories(before.memory, after.memory)
        ignored = [*map(self._name, self._versions.ignored_changed_since(before.taken_ns))]
        changes += [LastingChange("ignored", name, "", "changed") for name in ignored]
        self._turn_changes.add_ignored(session, ignored)
        number = self._coming_turn or session.interactions
        self._store_lasting(session.id, [replace(change, interaction=number) for change in changes])

    def look_for_jobs(self) -> None:
        """Record what background commands wrote since the last snapshot; not beside a call, which may write, too."""
        if self._jobs_since_last() and not self._running_calls:
            present = self._take_snapshot()
            self._record_jobs(present)
            self._last = present

    async def changed_files(
        self, session_id: str, number: int, *, is_cancelled: bool
    ) -> list[ChangedFile]:
        """Return the files that differ since the newest turn of a session began. What background commands wrote after
        the last call is looked for, unless the turn is cancelled: then nobody waits."""
        if self._jobs_since_last() and not is_cancelled:
            present = await asyncio.to_thread(self._take_snapshot)
            self._record_jobs(present)
            self._last = present
        return self._turn_changes.files_of(session_id, number)

    def _jobs_since_last(self) -> list[Job]:
        """Return the background commands that ran since the last snapshot."""
        last = self._last
        if last is None:
            return []
        return [job for job in self._jobs.all if not job.ended_ns or job.ended_ns > last.taken_ns]

    def _record_jobs(self, present: _Snapshot) -> None:
        """Store which files were written between two calls while background commands ran."""
        last = self._last
        jobs = self._jobs_since_last()
        if last is None or not jobs or not (last.is_complete and present.is_complete):
            return
        for path in _differences(last.states, present.states):
            job = _find_writer(path, jobs)
            if job is not None:
                before = last.states.get(path, FileState())
                after = present.states.get(path, FileState())
                self._store_of_job(job, FileChange(path, before, after))
                self._note_change(path, before, after, "background command")

    def _store_of_job(self, job: Job, change: FileChange) -> None:
        self._versions.touch(change.before.digest)
        named_change = replace(
            change, interaction=job.interaction, changed_by="background command", job=job.number
        )
        try:
            self._sessions.file_changes.record_of_job(job.session_id, named_change)
        except StoreError as error:
            self._versions.warn(f"an undo cannot name what job {job.number} wrote: {error}")

    def _store_lasting(self, session_id: str, changes: Sequence[LastingChange]) -> None:
        if not changes:
            return
        try:
            self._sessions.lasting_changes.record(session_id, changes)
        except StoreError as error:
            self._versions.warn(f"an undo cannot name what this call leaves: {error}")

    def forget(self, changes: Iterable[FileChange]) -> None:
        """Take changes of an undo or redo for known: no background command made them, nor the turn that follows."""
        self._turn_changes.clear()
        changes = list(changes)
        after = {change.path: change.after for change in changes if change.after.mode}
        self._forget_differences(after, [Path(change.path) for change in changes])

    def _forget_differences(self, after: _States, paths: Iterable[Path]) -> None:
        if self._last is None:
            return
        for path in map(str, paths):
            self._last.states.pop(path, None)
        self._last.states.update(after)

    def _name(self, path: str) -> str:
        """Return a path relative to the workspace, or as it is if it lies outside."""
        root = self._versions.root
        if not Path(path).is_relative_to(root):
            return path
        return str(Path(path).relative_to(root))

    def take_notices(self) -> list[str]:
        """Return and clear the lines for the user on changes that cannot be undone, each line once."""
        notices = self._versions.notices[self._reported :]
        self._reported += len(notices)
        return notices


def _differences(before: _States, after: _States) -> list[str]:
    """Return the paths whose states differ, sorted."""
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )


def _find_writer(path: str, jobs: Sequence[Job]) -> Job | None:
    """Return the first background command that ran when a path was changed last; None for none, as when the user
    changed it afterwards. When a missing path was removed is not known."""
    try:
        changed_ns = os.lstat(path).st_ctime_ns
    except OSError:
        return jobs[0]
    for job in jobs:
        has_begun = job.began_ns <= changed_ns
        if has_begun and (not job.ended_ns or changed_ns <= job.ended_ns):
            return job
    return None
