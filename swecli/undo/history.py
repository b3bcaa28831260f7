"""Undo of whole turns: their files, their part of the conversation, the window and what was learned, or some of it. The
changes of files are recorded around each call that makes them, and taken back, each file whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from swecli.context.retained_facts import from_answer, from_calls, from_query
from swecli.models.errors import BadInput, StoreError
from swecli.store.records import FileChange, FileState, UndoStep
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import objection
from swecli.tools.diffs import unified_diff
from swecli.tools.files import decode, escape_invalid_bytes
from swecli.tools.processes import child_environment
from swecli.undo.versions import UNKEPT, FileVersions, replace_file

_States = dict[str, FileState]
_GONE = "its earlier version is not kept any more"
_NAMED = 6  # files and strategies beside a turn


class _ChangeRecorder:
    """Records the file changes of the turn in progress."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions, self._versions = sessions, versions
        self._reported = 0

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
class _RestorePlan:
    """Changes to be made (`before` is what is there now), those of files `changed` since by another hand, and `lost`:
    by path why it cannot be brought back. `settles` has the path of each stored change by its key."""

    ready: list[FileChange] = field(default_factory=list)
    changed: list[FileChange] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    settles: dict[int, str] = field(default_factory=dict)


def _plan(changes: Iterable[FileChange], versions: FileVersions) -> _RestorePlan:
    """What takes these changes back, the oldest of a path first. Nothing is changed, but what is there now is kept."""
    of: dict[str, list[FileChange]] = {}
    for change in changes:
        of.setdefault(change.path, []).append(change)
    found = _RestorePlan()
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
            found.lost[path] = "what is there now comes from outside this session and is too large to be kept"
        else:
            (found.ready if ours else found.changed).append(FileChange(path, now, target))
    return found


def _apply(changes: Sequence[FileChange], versions: FileVersions) -> tuple[list[FileChange], dict[str, str]]:
    """Make these changes; those that were made, and by path why one was not."""
    done, failed = [], {}
    leaving = [  # what nothing takes the place of, or a folder that of what is none, or the other way round
        (one, True)
        for one in changes
        if one.before.mode and (not one.after.mode or stat.S_ISDIR(one.before.mode) != stat.S_ISDIR(one.after.mode))
    ]
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


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


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


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo or a redo came to: the `files` that were brought back or removed, and a line for each thing that is
    not as it was."""

    step: UndoStep
    files: list[str]
    problems: list[str]


class TurnHistory:
    """Takes turns of the session in use back, and brings them back. After either the session must be loaded again."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions, self._versions, self._store = sessions, versions, sessions.undo

    def turns(self) -> list[tuple[int, str]]:
        """The session's turns, newest first, each with a line on what it was asked and what it changed."""
        session, changed = self._sessions.session, dict[int, list[str]]()
        self._sessions.load_back_to(1)
        for change in self._store.changes(session, 1):
            changed.setdefault(change.interaction, []).append(self.shown(change.path))
        for applied in reversed(self._sessions.playbook.deltas_of_turns(session, 1, session.interactions)):
            if not applied.undone and applied.delta.interaction:
                changed.setdefault(applied.delta.interaction, []).extend(applied.touched)
        asked = {message.interaction: message.content for message in reversed(session.messages) if message.is_query}
        lines = {number: [f"T{number}", " ".join(query.split())[:60]] for number, query in asked.items()}
        return [
            (number, " · ".join([*line, *([_named(changed[number])] if number in changed else [])]))
            for number, line in sorted(lines.items(), reverse=True)
        ]

    def plan(self, first: int) -> _RestorePlan:
        """What an undo from that turn on would do to files. Raises BadInput where there is no such turn."""
        if not 1 <= first <= self._sessions.session.interactions:
            raise BadInput("There is nothing to undo.", "This session has no such turn.")
        return _plan(self._store.changes(self._sessions.session, first), self._versions)

    def plan_redo(self) -> tuple[UndoStep, _RestorePlan]:
        """The undo that a redo takes back, and what that would do to files. Raises BadInput."""
        if (step := self._store.to_redo(self._sessions.session)) is None:
            raise BadInput("There is nothing to redo.", "A new turn after an undo clears what could be redone.")
        return step, _plan(self._store.changes(self._sessions.session, 1, step=step.id), self._versions)

    def undo(self, first: int, parts: Collection[str], planned: _RestorePlan, overwrite: bool | None = None) -> Undone:
        """Take the turns from `first` on back. Raises BadInput, also for files that `changed` since where `overwrite`
        does not say what becomes of them; then nothing has changed."""
        files = planned if "files" in parts else _RestorePlan()
        done, failed = self._restore(files, overwrite)
        settled = [key for key, path in files.settles.items() if path not in failed]
        step = self._store.take_back(self._sessions.session, first, parts, done, settled)
        return self._result(step, files, done, failed)

    def redo(self, step: UndoStep, planned: _RestorePlan, overwrite: bool | None = None) -> Undone:
        """Bring back what that undo took. Raises BadInput like `undo`."""
        done, failed = self._restore(planned, overwrite)
        return self._result(self._store.bring_back(self._sessions.session, step), planned, done, failed)

    def _restore(self, planned: _RestorePlan, overwrite: bool | None) -> tuple[list[FileChange], dict[str, str]]:
        if planned.changed and overwrite is None:
            names = ", ".join(self.shown(change.path) for change in planned.changed)
            raise BadInput(f"Changed outside this session, nothing was undone: {names}.", "Undo it at a terminal.")
        return _apply([*planned.ready, *(planned.changed if overwrite else ())], self._versions)

    def _result(self, step: UndoStep, plan: _RestorePlan, done: list[FileChange], failed: dict[str, str]) -> Undone:
        settled = {change.path for change in done} | failed.keys()
        left = [self.shown(change.path) for change in plan.changed if change.path not in settled]
        lines = [f"left as they are, changed outside this session: {', '.join(left)}"] * bool(left)
        lines += [f"{self.shown(path)} is not as it was: {why}" for path, why in (plan.lost | failed).items()]
        lines += [f"a change of the playbook stays as it is: {why}" for why in step.refused]
        return Undone(step, [self.shown(change.path) for change in done], lines)

    def keep_facts(self) -> None:
        """After an undo, keep again what the turns before it say that must outlive every reduction, where what was
        undone had taken its place."""
        session, facts = self._sessions.session, {}
        for message in session.messages:
            number, reading = message.interaction, from_query if message.role == "user" else from_answer
            for fact in (*reading(message.content, number), *from_calls(message.tool_calls, number)):
                facts[fact.kind, fact.key] = fact
        known = session.context.facts
        self._sessions.context.keep(session, [fact for key, fact in facts.items() if key not in known and fact.text])

    def query(self, number: int) -> str:
        """What a turn was asked."""
        self._sessions.load_back_to(number)
        return next(m.content for m in self._sessions.session.messages if m.is_query and m.interaction == number)

    def diff(self, first: int, last: int) -> list[tuple[str, str]]:
        """What those turns changed and is not undone: of each file a line, and a unified diff where it has one."""
        ends: dict[str, FileChange] = {}
        for change in self._store.changes(self._sessions.session, first, last):
            ends[change.path] = FileChange(change.path, ends.get(change.path, change).before, change.after)
        return [self._diff(change) for change in ends.values() if change.before != change.after]

    def _diff(self, change: FileChange) -> tuple[str, str]:
        shown, old, new = self.shown(change.path), change.before, change.after
        what = "changed" if old.mode and new.mode else "made" if new.mode else "removed"
        if what == "changed" and old.mode != new.mode:
            what = f"mode {oct(old.mode)[2:]} → {oct(new.mode)[2:]}"
        before, after = self._text(old), self._text(new)
        if old.digest == new.digest or before is None or after is None:
            return f"{shown}: {what}", ""
        found = unified_diff(shown, before if old.mode else None, after)
        return f"{shown}: {what} ({found.counts})", escape_invalid_bytes(found.text)

    def _text(self, state: FileState) -> str | None:
        """ "" for nothing; None for what is not text, or not kept."""
        data = b"" if not state.mode else None
        if data is None and not state.digest.startswith(UNKEPT):
            data = self._versions.get(state.digest)
        file = None if data is None else decode(data)
        return None if file is None else file.text

    def shown(self, path: str) -> str:
        """A path as the user knows it: relative to the workspace where it lies in it."""
        root = self._versions.root
        return str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path


def _named(names: Collection[str]) -> str:
    """Names in one line, the first of many."""
    some = list(dict.fromkeys(names))
    return ", ".join(some[:_NAMED]) + (f" and {len(some) - _NAMED} more" if len(some) > _NAMED else "")


def keep_changes(sessions: SessionManager, ctx: ToolContext, own: Iterable[Path]) -> TurnHistory | None:
    """From now on keep the files that calls change, beside the database; None where that is in memory, or can only be
    read. `own` are folders of this program's, which are not the user's work."""
    database = sessions.database
    if database.path is None or database.only_read:
        return None
    apart = [place := str(database.path.absolute()), *(f"{folder}/" for folder in own)]
    versions = FileVersions(ctx.root, Path(f"{place}.versions"), ctx.environ, apart)
    ctx.changes = _ChangeRecorder(sessions, versions)
    return TurnHistory(sessions, versions)
