"""Undo and redo of turns: their file changes, their messages, the window and the playbook changes, or some of these.
File changes are recorded around each tool call; each file is restored whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from swecli.context.facts import extract_facts
from swecli.models.errors import BadInput, StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, FileState, UndoStep
from swecli.tools.base import ToolContext
from swecli.tools.diffs import unified_diff
from swecli.tools.limits import escape_invalid_bytes
from swecli.tools.text_files import decode
from swecli.undo.versions import NOT_STORED, PRUNED, FileVersions

_States = dict[str, FileState]
_MAX_NAMES = 6  # files and strategies listed beside a turn


class _ChangeRecorder:
    """Records the file changes of the running turn."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions = sessions
        self._versions = versions
        self._reported = 0

    @asynccontextmanager
    async def around(self, changed: Sequence[str]) -> AsyncIterator[list[str]]:
        """Record the changes of a call: of these files with the folders that it creates for them, or of all files that
        are not ignored if there are none. The list is filled at the end, with the files that differ."""
        differ: list[str] = []
        paths = self._with_new_folders(changed)
        before = self._snapshot(paths) if paths else await asyncio.to_thread(self._snapshot, paths)
        complete = self._versions.is_complete
        begun = self._begin(before, paths)
        try:
            yield differ
        finally:
            cancelled = (task := asyncio.current_task()) is not None and task.cancelling()
            scan_now = paths or cancelled
            after = (
                self._snapshot(paths)
                if scan_now
                else await asyncio.to_thread(self._snapshot, paths)
            )
            is_complete = bool(paths) or (complete and self._versions.is_complete)
            differ += self._record(before, after, is_complete, begun)

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

    def _snapshot(self, paths: Iterable[Path]) -> _States:
        self._versions.prune()
        if not paths:
            return self._versions.scan()
        return {
            str(path): state
            for path in paths
            if (state := self._versions.read_state(str(path))).mode
        }

    def _record(
        self, before: _States, after: _States, complete: bool, begun: Collection[int]
    ) -> list[str]:
        """Store the differences in place of what `_begin` stored; after an incomplete scan only those of paths that are
        in both or no longer exist. Returns the names of the files among them."""
        differ = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        if not complete:
            differ = [
                path
                for path in differ
                if path in before and (path in after or not os.path.lexists(path))
            ]
        found = [
            FileChange(path, before.get(path, FileState()), after.get(path, FileState()))
            for path in differ
        ]
        for change in found:
            self._versions.touch(change.before.digest)
            if change.before.digest.startswith(NOT_STORED):
                self._versions.warn(
                    f"{change.path} changed, and cannot be undone: it is too large or not readable"
                )
        self._store(found, begun)
        files = [one.path for one in found if not stat.S_ISDIR(one.before.mode or one.after.mode)]
        return [str(Path(path).relative_to(self._versions.root)) for path in files]

    def _store(self, changes: Sequence[FileChange], replaced: Collection[int] = ()) -> list[int]:
        session = self._sessions.current_session
        if session is None or not (changes or replaced):
            return []
        try:
            return self._sessions.file_changes.record(session, changes, replaced)
        except StoreError as error:
            self._versions.warn(f"the changes of a call cannot be undone: {error}")
            return []

    def take_notices(self) -> list[str]:
        """Return and clear the lines for the user on changes that cannot be undone, each line once."""
        fresh = self._versions.notices[self._reported :]
        self._reported += len(fresh)
        return fresh


@dataclass
class RestorePlan:
    """The file changes of an undo or redo (`before` is the present state): `ready` ones, `conflicts` with a change from
    outside the session, and by path why a file is `unrecoverable`. `paths` maps the keys of stored changes."""

    ready: list[FileChange] = field(default_factory=list)
    conflicts: list[FileChange] = field(default_factory=list)
    unrecoverable: dict[str, str] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)


def _plan_restore(changes: Iterable[FileChange], versions: FileVersions) -> RestorePlan:
    """Plan the reversal of these changes, given oldest first. No file is changed; the present contents are stored."""
    chains: dict[str, list[FileChange]] = {}
    for change in changes:
        chains.setdefault(change.path, []).append(change)
    plan = RestorePlan()
    for path, chain in chains.items():
        plan.paths |= {change.key: path for change in chain}
        present = versions.read_state(path)
        target = chain[0].before
        unbroken = all(one.after == two.before for one, two in zip(chain, chain[1:], strict=False))
        ours = unbroken and present == chain[-1].after
        if present == target:
            continue
        if target.digest.startswith(NOT_STORED):
            plan.unrecoverable[path] = "it was too large or not readable"
        elif target.digest and versions.load(target.digest) is None:
            plan.unrecoverable[path] = PRUNED
        elif present.digest.startswith(NOT_STORED) and not ours:
            plan.unrecoverable[path] = (
                "it was changed outside this session, and is too large to be stored"
            )
        else:
            alike = plan.ready if ours else plan.conflicts
            alike.append(FileChange(path, present, target))
    return plan


def _apply(
    changes: Sequence[FileChange], versions: FileVersions
) -> tuple[list[FileChange], dict[str, str]]:
    """Apply these changes. Returns the applied ones, and by path why one failed."""
    done: list[FileChange] = []
    failed: dict[str, str] = {}
    ordered = sorted(changes, key=lambda change: change.path)
    # the contents of a folder before the folder
    for change in filter(_removes_first, reversed(ordered)):
        try:
            _remove(_real_place(change.path))
        except OSError as error:
            failed[change.path] = error.strerror or str(error)
    for change in ordered:
        try:
            place = _real_place(change.path)
            if change.path not in failed:
                versions.restore(place, change.after)
                done.append(change)
        except OSError as error:
            failed[change.path] = error.strerror or str(error)
    return done, failed


def _removes_first(change: FileChange) -> bool:
    """Return whether the path must go: it has no successor, or a file becomes a folder or a folder a file."""
    before = change.before.mode
    after = change.after.mode
    if not before:
        return False
    return not after or stat.S_ISDIR(before) != stat.S_ISDIR(after)


def _real_place(path: str) -> Path:
    """Return the path. Raises OSError if its folder is reached through a link."""
    place = Path(path)
    if place.parent.resolve() != place.parent:
        raise OSError(0, "its folder is a symbolic link, which is not followed")
    return place


def _remove(path: Path) -> None:
    """Remove a file, a link or an empty folder. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo or redo: the names of the restored `files`, and a line for each problem."""

    step: UndoStep
    files: list[str]
    problems: list[str]


class TurnHistory:
    """Undoes and redoes turns of the current session. After either the session must be loaded again."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions = sessions
        self._versions = versions
        self._changes = sessions.file_changes

    @classmethod
    def track(
        cls, sessions: SessionManager, ctx: ToolContext, own: Iterable[Path]
    ) -> TurnHistory | None:
        """Start recording the file changes of tool calls, with versions beside the database. Returns None if the
        database is in memory. `own` are folders of swecli itself, which are not recorded."""
        database = sessions.database
        if database.path is None:
            return None
        place = str(database.path.absolute())
        excluded = [place, *(f"{folder}/" for folder in own)]
        versions = FileVersions(ctx.root, Path(f"{place}.versions"), ctx.environ, excluded)
        ctx.changes = _ChangeRecorder(sessions, versions)
        return cls(sessions, versions)

    def turns(self) -> list[tuple[int, str]]:
        """Return the numbers of the session's turns, newest first, each with its query and its changes in a line."""
        session = self._sessions.session
        changed: dict[int, list[str]] = {}
        self._sessions.load_back_to(1)
        for change in self._changes.load(session, 1):
            changed.setdefault(change.interaction, []).append(self.relative(change.path))
        for applied in reversed(
            self._sessions.playbook.deltas_of_turns(session, 1, session.interactions)
        ):
            if not applied.undone and applied.delta.interaction:
                changed.setdefault(applied.delta.interaction, []).extend(applied.touched)
        asked = {
            message.interaction: message.content
            for message in reversed(session.messages)
            if message.is_query
        }
        lines = {
            number: [f"T{number}", " ".join(query.split())[:60]] for number, query in asked.items()
        }
        return [
            (
                number,
                " · ".join([*line, *([_join_names(changed[number])] if number in changed else [])]),
            )
            for number, line in sorted(lines.items(), reverse=True)
        ]

    def plan(self, first: int) -> RestorePlan:
        """Plan the file changes of an undo from turn `first` on. Raises BadInput if there is no such turn."""
        if not 1 <= first <= self._sessions.session.interactions:
            raise BadInput("There is nothing to undo.", "This session has no such turn.")
        return _plan_restore(self._changes.load(self._sessions.session, first), self._versions)

    def plan_redo(self) -> tuple[UndoStep, RestorePlan]:
        """Return the undo that a redo reverts, and its plan for files. Raises BadInput."""
        if (step := self._sessions.undo.find_redo(self._sessions.session)) is None:
            raise BadInput(
                "There is nothing to redo.", "A new turn after an undo clears what could be redone."
            )
        return step, _plan_restore(
            self._changes.load(self._sessions.session, 1, step=step.id), self._versions
        )

    def undo(
        self, first: int, parts: Collection[str], plan: RestorePlan, overwrite: bool | None = None
    ) -> UndoResult:
        """Undo the turns from `first` on. Raises BadInput, also if there are conflicts and `overwrite` is None; then
        nothing has changed."""
        files = plan if "files" in parts else RestorePlan()
        done, failed = self._restore(files, overwrite)
        undone = [key for key, path in files.paths.items() if path not in failed]
        step = self._sessions.undo.undo_turns(self._sessions.session, first, parts, done, undone)
        return self._result(step, files, done, failed)

    def redo(self, step: UndoStep, plan: RestorePlan, overwrite: bool | None = None) -> UndoResult:
        """Revert that undo. Raises BadInput like `undo`."""
        done, failed = self._restore(plan, overwrite)
        return self._result(
            self._sessions.undo.redo_turns(self._sessions.session, step), plan, done, failed
        )

    def _restore(
        self, plan: RestorePlan, overwrite: bool | None
    ) -> tuple[list[FileChange], dict[str, str]]:
        if plan.conflicts and overwrite is None:
            names = ", ".join(self.relative(change.path) for change in plan.conflicts)
            raise BadInput(
                f"Changed outside this session, nothing was undone: {names}.",
                "Undo it at a terminal.",
            )
        return _apply([*plan.ready, *(plan.conflicts if overwrite else ())], self._versions)

    def _result(
        self, step: UndoStep, plan: RestorePlan, done: list[FileChange], failed: dict[str, str]
    ) -> UndoResult:
        tried = {change.path for change in done} | failed.keys()
        kept = [self.relative(change.path) for change in plan.conflicts if change.path not in tried]
        lines = [f"not restored, changed outside this session: {', '.join(kept)}"] * bool(kept)
        lines += [
            f"{self.relative(path)} is not restored: {why}"
            for path, why in (plan.unrecoverable | failed).items()
        ]
        lines += [f"a playbook change is not reverted: {why}" for why in step.refused]
        return UndoResult(step, [self.relative(change.path) for change in done], lines)

    def restore_facts(self) -> None:
        """After an undo, store the retained facts of the remaining turns again where an undone turn had replaced
        them."""
        self._sessions.load_back_to(1)
        session = self._sessions.session
        facts = {
            (fact.kind, fact.key): fact
            for message in session.messages
            for fact in extract_facts(message)
        }
        known = session.context.facts
        self._sessions.context.keep(
            session, [fact for key, fact in facts.items() if key not in known and fact.text]
        )

    def query(self, number: int) -> str:
        """Return the query of a turn."""
        self._sessions.load_back_to(number)
        return next(
            m.content
            for m in self._sessions.session.messages
            if m.is_query and m.interaction == number
        )

    def diff(self, first: int, last: int) -> list[tuple[str, str]]:
        """Return the changes of these turns that are not undone: per file a line, and a unified diff of texts or ""."""
        ends: dict[str, FileChange] = {}
        for change in self._changes.load(self._sessions.session, first, last):
            ends[change.path] = FileChange(
                change.path, ends.get(change.path, change).before, change.after
            )
        return [
            self._diff_file(change) for change in ends.values() if change.before != change.after
        ]

    def _diff_file(self, change: FileChange) -> tuple[str, str]:
        name = self.relative(change.path)
        old = change.before
        new = change.after
        what = _describe_change(old.mode, new.mode)
        before = self._text(old)
        after = self._text(new)
        if old.digest == new.digest or before is None or after is None:
            return f"{name}: {what}", ""
        found = unified_diff(name, before if old.mode else None, after)
        return f"{name}: {what} ({found.counts})", escape_invalid_bytes(found.text)

    def _text(self, state: FileState) -> str | None:
        """Return the text of a file, "" if it did not exist, None if it is binary or not stored."""
        data = None if state.mode else b""
        if data is None and not state.digest.startswith(NOT_STORED):
            data = self._versions.load(state.digest)
        file = None if data is None else decode(data)
        return None if file is None else file.text

    def relative(self, path: str) -> str:
        """Return a path relative to the workspace, or as it is if it lies outside."""
        root = self._versions.root
        return str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path


def _describe_change(old_mode: int, new_mode: int) -> str:
    if not new_mode:
        return "removed"
    if not old_mode:
        return "created"
    if old_mode != new_mode:
        return f"mode {oct(old_mode)[2:]} → {oct(new_mode)[2:]}"
    return "changed"


def _join_names(names: Collection[str]) -> str:
    first = list(dict.fromkeys(names))
    return ", ".join(first[:_MAX_NAMES]) + (
        f" and {len(first) - _MAX_NAMES} more" if len(first) > _MAX_NAMES else ""
    )
