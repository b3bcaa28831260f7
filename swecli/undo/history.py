"""Undo and redo of turns: their file changes, their messages, the window and the playbook changes, or some of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from swecli.context.facts import extract_facts
from swecli.file_names import write_name
from swecli.models.context import RetainedFact
from swecli.models.errors import BadInput, StoreError
from swecli.store.journal.reader import is_other_process
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, FileState, OpenStep, UndoStep
from swecli.text_files import TextFile, decode, replace_strays
from swecli.tools.base import lost_workspace
from swecli.tools.diffs import unified_diff
from swecli.tools.jobs import Jobs
from swecli.undo.lasting import Standing, find_standing, join_names
from swecli.undo.recorder import ChangeRecorder
from swecli.undo.renames import find_renames
from swecli.undo.restore import Restored, RestorePlan, plan_restore, restore_files
from swecli.undo.versions import NOT_STORED, FileVersions


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo or redo: the names of the restored `files`, a line for each problem, and what is
    `standing` though its turn is undone."""

    step: UndoStep
    files: list[str]
    problems: list[str]
    standing: Sequence[Standing] = ()


class TurnHistory:
    """Undoes and redoes turns of the current session. After either the session must be loaded again.

    A step is stored before it changes a file, and its end after that: one that was cut off is finished by the next."""

    def __init__(
        self,
        sessions: SessionManager,
        versions: FileVersions,
        recorder: ChangeRecorder,
        jobs: Jobs,
    ) -> None:
        self._sessions = sessions
        self._versions = versions
        self.recorder = recorder
        self._jobs = jobs
        self._changes = sessions.file_changes

    @classmethod
    def track(
        cls,
        sessions: SessionManager,
        root: Path,
        environ: Mapping[str, str],
        jobs: Jobs,
        own: Iterable[Path],
    ) -> TurnHistory | None:
        """Return the history of a workspace, with versions of files beside the database, or None if the database is in
        memory. Its `recorder` is for the calls that change files. `own` are folders of swecli itself, which are not
        recorded."""
        database = sessions.database
        if database.path is None:
            return None
        database_path = str(database.path.absolute())
        excluded = [database_path, *(f"{folder}/" for folder in own)]
        versions = FileVersions(root, Path(f"{database_path}.versions"), environ, excluded)
        return cls(sessions, versions, ChangeRecorder(sessions, versions, jobs), jobs)

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
        queries = {
            message.interaction: message.content
            for message in reversed(session.messages)
            if message.is_query
        }
        turns: list[tuple[int, str]] = []
        for number, query in sorted(queries.items(), reverse=True):
            parts = [f"T{number}", " ".join(query.split())[:60]]
            if number in changed:
                parts.append(join_names(changed[number]))
            turns.append((number, " · ".join(parts)))
        return turns

    def plan(self, first: int) -> RestorePlan:
        """Plan the file changes of an undo from turn `first` on. Raises BadInput if there is no such turn, or the
        session is not as this process has shown it."""
        self._prepare()
        if not 1 <= first <= self._sessions.session.interactions:
            raise BadInput("There is nothing to undo.", "This session has no such turn.")
        return plan_restore(self._changes.load(self._sessions.session, first), self._versions)

    def plan_redo(self) -> tuple[UndoStep, RestorePlan]:
        """Return the undo that a redo reverts, and its plan for files. Raises BadInput like `plan`."""
        self._prepare()
        step = self._sessions.undo.find_redo(self._sessions.session)
        if step is None:
            raise BadInput(
                "There is nothing to redo.", "A new turn after an undo clears what could be redone."
            )
        return step, plan_restore(self._changes.load_step(step), self._versions)

    def _prepare(self) -> None:
        """Finish what was cut off. Raises BadInput if nothing can be undone now."""
        root = self._versions.root
        if not root.is_dir():
            raise BadInput(lost_workspace(root))
        self._sessions.require_current()
        for step in self._unfinished():
            if self._is_alive(step):
                raise BadInput("Another swecli is undoing turns in this folder.", "Try again.")
            self._finish(step)

    def undo(
        self, first: int, parts: Collection[str], plan: RestorePlan, overwrite: bool | None = None
    ) -> UndoResult:
        """Undo the turns from `first` on. Raises BadInput, also if there are conflicts and `overwrite` is None, and
        StoreError; then nothing has changed."""
        files = plan if "files" in parts else RestorePlan()
        chosen = self._choose(files, overwrite)
        facts = self._retained_facts(first) if "conversation" in parts else []
        standing = self._find_standing(first)
        step = self._sessions.undo.begin_undo(
            self._sessions.session,
            first,
            parts,
            chosen,
            [*files.paths],
            facts,
            [str(line) for line in standing],
        )
        return replace(self._complete(step, files), standing=standing)

    def redo(self, step: UndoStep, plan: RestorePlan, overwrite: bool | None = None) -> UndoResult:
        """Revert that undo. Raises BadInput and StoreError like `undo`."""
        chosen = self._choose(plan, overwrite)
        begun = self._sessions.undo.begin_redo(self._sessions.session, step, chosen)
        return self._complete(begun, plan)

    def _choose(self, plan: RestorePlan, overwrite: bool | None) -> list[FileChange]:
        """Return the changes to apply. Raises BadInput if nobody decided about those from outside."""
        if plan.conflicts and overwrite is None:
            names = ", ".join(self.relative(change.path) for change in plan.conflicts)
            raise BadInput(
                f"Changed outside this session, nothing was undone: {names}.",
                "Undo it at a terminal.",
            )
        return [*plan.ready, *(plan.conflicts if overwrite else ())]

    def _complete(self, step: UndoStep, plan: RestorePlan) -> UndoResult:
        """Restore the files of a stored step, and report it."""
        restored, problem = self._restore(step)
        tried = {change.path for change in restored.changes} | restored.failed.keys()
        kept = [self.relative(change.path) for change in plan.conflicts if change.path not in tried]
        lines: list[str] = []
        if kept:
            lines.append(f"not restored, changed outside this session: {', '.join(kept)}")
        lines += self._describe_failed(plan.unrecoverable | restored.failed)
        lines += [f"a playbook change is not reverted: {reason}" for reason in step.refused]
        if problem:
            lines.append(problem)
        return UndoResult(step, [self.relative(change.path) for change in restored.changes], lines)

    def _restore(self, step: OpenStep | UndoStep) -> tuple[Restored, str]:
        """Restore the files of a stored step, and store its end. Returns why that could not be stored, "" if it was."""
        changes = self._changes.load_step(step)
        restored = restore_files(changes, self._versions)
        self.recorder.forget(restored.changes)
        failed = [change.key for change in changes if change.path in restored.failed]
        try:
            self._sessions.undo.finish(step, failed)
        except StoreError as error:  # all is done, and the next step finds that
            return restored, f"all is restored, but its end could not be stored: {error}"
        return restored, ""

    def _describe_failed(self, failed: Mapping[str, str]) -> list[str]:
        return [
            f"{self.relative(path)} is not restored: {reason}" for path, reason in failed.items()
        ]

    def finish_interrupted(self) -> list[str]:
        """Finish the undos and redos in this folder that were cut off, as by a power cut. Returns lines for the user.
        Raises StoreError."""
        lines: list[str] = []
        for step in self._unfinished():
            if not self._is_alive(step):
                lines += self._finish(step)
        return lines

    def _unfinished(self) -> list[OpenStep]:
        return self._changes.unfinished_steps(str(self._versions.root))

    def _is_alive(self, step: OpenStep) -> bool:
        """Return whether another process is doing this step now."""
        return is_other_process(step.pid) and self._sessions.is_open_elsewhere(step.session_id)

    def _finish(self, step: OpenStep) -> list[str]:
        restored, problem = self._restore(step)
        command = "/undo" if step.stage == "undoing" else "/redo"
        files = [self.relative(change.path) for change in restored.changes]
        named = f" · files: {join_names(files)}" if files else ""
        lines = [f"a {command} that was cut off is finished now{named}"]
        lines += self._describe_failed(restored.failed)
        return [*lines, problem] if problem else lines

    def _find_standing(self, first: int) -> list[Standing]:
        """Return what the turns from `first` on left, and no undo takes back."""
        session = self._sessions.session
        self.recorder.look_for_jobs()
        return find_standing(
            self._sessions.lasting_changes.load(session, first),
            self._versions.root,
            self._versions.environ,
            self._jobs.running_of(session.id, first),
        )

    def _retained_facts(self, first: int) -> list[RetainedFact]:
        """Return the retained facts of the turns before `first` which one of the later turns had replaced."""
        self._sessions.load_back_to(1)
        session = self._sessions.session
        facts = {
            (fact.kind, fact.key): fact
            for message in session.messages
            if message.interaction < first
            for fact in extract_facts(message)
        }
        kept = {key for key, fact in session.context.facts.items() if fact.interaction < first}
        return [fact for key, fact in facts.items() if key not in kept and fact.text]

    def query(self, number: int) -> str:
        """Return the query of a turn, "" if it is not stored."""
        self._sessions.load_back_to(number)
        for message in self._sessions.session.messages:
            if message.is_query and message.interaction == number:
                return message.content
        return ""

    def diff(self, first: int, last: int) -> list[tuple[str, str]]:
        """Return the changes of these turns that are not undone: per file a line, and a unified diff of texts or ""."""
        ends: dict[str, FileChange] = {}
        for change in self._changes.load(self._sessions.session, first, last):
            ends[change.path] = FileChange(
                change.path, ends.get(change.path, change).before, change.after
            )
        changed = [change for change in ends.values() if change.before != change.after]
        renames = {
            rename.created.path: rename.removed for rename in find_renames(changed, self._read_end)
        }
        moved_away = {removed.path for removed in renames.values()}
        return [
            self._diff_file(change, renames.get(change.path))
            for change in changed
            if change.path not in moved_away
        ]

    def _read_end(self, change: FileChange) -> TextFile | None:
        """Return a removed file as it was, or a created one as it is."""
        return self._read(change.before if change.before.mode else change.after)

    def _diff_file(self, change: FileChange, renamed: FileChange | None) -> tuple[str, str]:
        """Return the line and the diff of a file. `renamed` is what was removed under its former path, None if it had
        none."""
        name = self.relative(change.path)
        old = change.before
        new = change.after
        kind = _describe_change(old.mode, new.mode)
        if renamed is not None:
            old = renamed.before
            kind = f"renamed from {self.relative(renamed.path)}"
        before = self._read(old)
        after = self._read(new, before.encoding if before and not before.text.isascii() else "")
        if old.digest == new.digest or before is None or after is None:
            return f"{name}: {kind}", ""
        diff = unified_diff(name, before.text if old.mode else None, after.text)
        return f"{name}: {kind} ({diff.counts})", replace_strays(diff.text)

    def _read(self, state: FileState, known: str = "") -> TextFile | None:
        """Return a file, in the encoding that is known of it. It is empty if it did not exist, None if it is binary or
        not stored."""
        if not state.mode:
            return TextFile("")
        if state.digest.startswith(NOT_STORED):
            return None
        data = self._versions.load(state.digest)
        return None if data is None else decode(data, known)

    def relative(self, path: str) -> str:
        """Return a path to show: relative to the workspace, or as it is if it lies outside."""
        root = self._versions.root
        if Path(path).is_relative_to(root):
            path = str(Path(path).relative_to(root))
        return write_name(path)


def _describe_change(old_mode: int, new_mode: int) -> str:
    if not new_mode:
        return "removed"
    if not old_mode:
        return "created"
    if old_mode != new_mode:
        return f"mode {oct(old_mode)[2:]} → {oct(new_mode)[2:]}"
    return "changed"
