"""Undo and redo of turns: their file changes, their messages, the window and the playbook changes, or some of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from swecli.context.facts import extract_facts
from swecli.file_names import relative_name
from swecli.models.context import RetainedFact
from swecli.models.errors import BadInput, StoreError
from swecli.models.session import UndonePiece
from swecli.store.journal.reader import is_other_process
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, LastingChange, OpenStep, UndoStep
from swecli.tools.base import lost_workspace
from swecli.tools.jobs import Jobs
from swecli.undo.lasting import Standing, find_committed, find_standing, join_names, name_running
from swecli.undo.pieces import PiecePlan, PiecePlanner
from swecli.undo.recorder import ChangeRecorder
from swecli.undo.restore import Restored, RestorePlan, plan_restore, restore_files
from swecli.undo.turn_files import TurnFiles, versions_folder
from swecli.undo.versions import FileVersions
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo or redo: the names of the restored `files`, a line for each problem, what is `standing`
    though its turn is undone, and the pieces of the turns that were taken back `earlier`."""

    step: UndoStep
    files: list[str]
    problems: list[str]
    standing: Sequence[Standing] = ()
    earlier: Sequence[UndonePiece] = ()


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
        self.files = TurnFiles(sessions, versions)
        self._pieces = PiecePlanner(sessions, self.files)

    @classmethod
    def track(
        cls,
        sessions: SessionManager,
        root: Path,
        environ: Mapping[str, str],
        jobs: Jobs,
        folders_of_swecli: Iterable[Path],
    ) -> TurnHistory | None:
        """Return the history of a workspace, with versions of files beside the database, or None if the database is in
        memory. Its `recorder` is for the calls that change files. `folders_of_swecli` are folders of swecli itself,
        which are not recorded."""
        database = sessions.database
        if database.path is None:
            return None
        excluded = [str(database.path.absolute()), *(f"{folder}/" for folder in folders_of_swecli)]
        versions = FileVersions(root, versions_folder(database.path), environ, excluded)
        return cls(sessions, versions, ChangeRecorder(sessions, versions, jobs), jobs)

    def turns(self) -> list[tuple[int, str]]:
        """Return the numbers of the session's turns, newest first, each with its query and its changes in a line."""
        session = self._sessions.session
        names_by_turn: dict[int, list[str]] = {}
        self._sessions.load_back_to(1)
        for change in self._changes.load(session, 1):
            names_by_turn.setdefault(change.interaction, []).append(self.relative(change.path))
        for applied in reversed(
            self._sessions.playbook.deltas_of_turns(session, 1, session.interactions)
        ):
            if not applied.undone and applied.delta.interaction:
                names_by_turn.setdefault(applied.delta.interaction, []).extend(applied.touched)
        queries = {
            message.interaction: message.content
            for message in reversed(session.messages)
            if message.is_query
        }
        turns: list[tuple[int, str]] = []
        for number, query in sorted(queries.items(), reverse=True):
            parts = [f"T{number}", " ".join(query.split())[:60]]
            if number in names_by_turn:
                parts.append(join_names(names_by_turn[number]))
            turns.append((number, " · ".join(parts)))
        return turns

    def plan(self, first: int) -> RestorePlan:
        """Plan the file changes of an undo from turn `first` on. Raises BadInput if there is no such turn, or the
        session is not as this process has shown it."""
        self._prepare()
        if not 1 <= first <= self._sessions.session.interactions:
            raise BadInput("There is nothing to undo.", "This session has no such turn.")
        session = self._sessions.session
        changes = [change for change in self._changes.load(session, first) if not change.job]
        taken_back = self._changes.load_pieces(session)
        if not taken_back:
            return plan_restore(changes, self._versions)
        joined = self._pieces.join(changes, taken_back, first)
        return plan_restore(joined.changes, self._versions, joined.targets)

    def plan_piece(self, turn: int, text: str) -> PiecePlan:
        """Plan the undo of a piece of a turn: of a file, or of the hunk whose number stands behind its name. Raises
        BadInput if it cannot be undone, or like `plan`."""
        self._prepare()
        self.recorder.look_for_jobs()
        return self._pieces.plan(turn, text)

    def undo_piece(self, plan: PiecePlan) -> UndoResult:
        """Undo a piece of a turn. Raises BadInput and StoreError; then nothing has changed."""
        running = self._jobs.running_of(self._sessions.session.id, plan.piece.turn)
        contents = [self._versions.load(state.digest) for state in plan.carriers if state.mode]
        standing = [
            *find_committed(plan.path, contents, self._versions.root, self._versions.environ),
            *name_running(job for job in running if job.number in plan.jobs),
        ]
        piece = replace(plan.piece, standing=tuple(map(str, standing)))
        step = self._sessions.undo.begin_piece(self._sessions.session, piece, plan.changes)
        result = self._complete(step, RestorePlan())
        _require_files(result, "Nothing was undone")
        return replace(result, standing=standing)

    def plan_redo(self) -> tuple[UndoStep, RestorePlan]:
        """Return the undo that a redo reverts, and its plan for files. Raises BadInput like `plan`."""
        self._prepare()
        step = self._sessions.undo.find_redo(self._sessions.session)
        if step is None:
            raise BadInput(
                "There is nothing to redo.", "A new turn after an undo clears what could be redone."
            )
        changes = self._changes.load_step(step)
        if not step.is_piece:
            return step, plan_restore(changes, self._versions)
        plan = RestorePlan()
        for change in changes:
            back = self._pieces.plan_redo(change)
            if back is None:
                raise BadInput(
                    f"Nothing was redone: {self.relative(change.path)} was changed in the same place since."
                )
            plan.ready_changes.append(back)
        return step, plan

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
        chosen_changes = self._choose(files, overwrite)
        facts = self._retained_facts(first) if "conversation" in parts else []
        standing = self._find_standing(first)
        earlier = dict.fromkeys(
            piece_change.piece
            for piece_change in self._changes.load_pieces(self._sessions.session)
            if piece_change.change.key in files.paths
        )
        step = self._sessions.undo.begin_undo(
            self._sessions.session,
            first,
            parts,
            chosen_changes,
            [*files.paths],
            facts,
            [str(line) for line in standing],
        )
        return replace(self._complete(step, files), standing=standing, earlier=tuple(earlier))

    def redo(self, step: UndoStep, plan: RestorePlan, overwrite: bool | None = None) -> UndoResult:
        """Revert that undo. Raises BadInput and StoreError like `undo`."""
        chosen_changes = self._choose(plan, overwrite)
        begun_step = self._sessions.undo.begin_redo(self._sessions.session, step, chosen_changes)
        result = self._complete(begun_step, plan)
        if step.is_piece:
            _require_files(result, "Nothing was redone")
        return result

    def _choose(self, plan: RestorePlan, overwrite: bool | None) -> list[FileChange]:
        """Return the changes to apply. Raises BadInput if nobody decided about those from outside."""
        if plan.conflicts and overwrite is None:
            names = ", ".join(self.relative(change.path) for change in plan.conflicts)
            raise BadInput(
                f"Changed outside this session, nothing was undone: {names}.",
                "Undo it at a terminal.",
            )
        return [*plan.ready_changes, *(plan.conflicts if overwrite else ())]

    def _complete(self, step: UndoStep, plan: RestorePlan) -> UndoResult:
        """Restore the files of a stored step, and report it."""
        restored, problem = self._restore(step)
        tried_paths = {change.path for change in restored.changes} | restored.failed.keys()
        kept_paths = [
            self.relative(change.path)
            for change in plan.conflicts
            if change.path not in tried_paths
        ]
        lines: list[str] = []
        if kept_paths:
            lines.append(f"not restored, changed outside this session: {', '.join(kept_paths)}")
        lines += self._describe_failed(plan.unrecoverable | restored.failed)
        lines += [f"a playbook change is not reverted: {reason}" for reason in step.refusals]
        if problem:
            lines.append(problem)
        return UndoResult(step, [self.relative(change.path) for change in restored.changes], lines)

    def _restore(self, step: OpenStep | UndoStep) -> tuple[Restored, str]:
        """Restore the files of a stored step, and store its end. Returns why that could not be stored, "" if it was."""
        changes = self._changes.load_step(step)
        restored = restore_files(changes, self._versions)
        if step.is_piece and restored.failed:
            restored = self._put_back(restored)
        self.recorder.forget(restored.changes)
        failed = [change.key for change in changes if change.path in restored.failed]
        if step.is_piece and failed:
            return restored, self._abandon(step)
        try:
            self._sessions.undo.finish(step, failed)
        except StoreError as error:  # all is done, and the next step finds that
            return restored, f"all is restored, but its end could not be stored: {error}"
        return restored, ""

    def _abandon(self, step: OpenStep | UndoStep) -> str:
        """Store that a step of a piece changed nothing. Returns why that could not be stored, "" if it was."""
        try:
            self._sessions.undo.abandon(step)
        except StoreError as error:
            return f"the next start tries it again, since that could not be stored: {error}"
        return ""

    def _put_back(self, restored: Restored) -> Restored:
        """Revert what was restored of a piece, since another file of it was not."""
        back = [FileChange(change.path, change.after, change.before) for change in restored.changes]
        return Restored(failed=restored.failed | restore_files(back, self._versions).failed)

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
        files_note = f" · files: {join_names(files)}" if files else ""
        end = "finished now"
        if step.is_piece and restored.failed:
            end = "dropped: it changed nothing"
        lines = [f"a {command} that was cut off is {end}{files_note}"]
        lines += self._describe_failed(restored.failed)
        return [*lines, problem] if problem else lines

    def _find_standing(self, first: int) -> list[Standing]:
        """Return what the turns from `first` on left, and no undo takes back."""
        session = self._sessions.session
        self.recorder.look_for_jobs()
        return find_standing(
            [*self._sessions.lasting_changes.load(session, first), *self._written_by_jobs(first)],
            self._versions.root,
            self._versions.environ,
            self._jobs.running_of(session.id, first),
        )

    def _written_by_jobs(self, first: int) -> list[LastingChange]:
        """Return what background commands wrote in the turns from `first` on, and no undo of a piece took back."""
        session = self._sessions.session
        piece_change = {
            piece.change.path: piece.change.key
            for piece in self._changes.load_pieces(session)
            if not piece.piece.hunk
        }
        return [
            LastingChange(
                "job", self.relative(change.path), "", str(change.job), change.interaction
            )
            for change in self._changes.load(session, first)
            if change.job and piece_change.get(change.path, 0) < change.key
        ]

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
        kept_keys = {key for key, fact in session.context.facts.items() if fact.interaction < first}
        return [fact for key, fact in facts.items() if key not in kept_keys and fact.text]

    def query(self, number: int) -> str:
        """Return the query of a turn, "" if it is not stored."""
        self._sessions.load_back_to(number)
        for message in self._sessions.session.messages:
            if message.is_query and message.interaction == number:
                return message.content
        return ""

    def goal_turns(self) -> tuple[int, int] | None:
        """Return the numbers of the first and the last turn of the session's newest goal, None if it has none."""
        self._sessions.load_back_to(1)
        goals = {
            message.interaction: message.goal
            for message in self._sessions.session.messages
            if message.is_query and message.goal
        }
        if not goals:
            return None
        newest = goals[max(goals)]
        numbers = [number for number, goal in goals.items() if goal == newest]
        return min(numbers), max(numbers)

    def relative(self, path: str) -> str:
        """Return a path to show: relative to the workspace, or as it is if it lies outside."""
        return relative_name(self._versions.root, path)


def _require_files(result: UndoResult, failure: str) -> None:
    """Raise BadInput if a step of a piece changed no file."""
    if not result.files:
        raise BadInput(f"{failure}: {'; '.join(result.problems)}.")
