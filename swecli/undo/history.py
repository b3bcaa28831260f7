"""Undo of whole turns: their files, their part of the conversation, the window and what was learned, or some of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from swecli.context.retained_facts import from_answer, from_calls, from_query
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.records import FileChange, FileState, UndoStep
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext
from swecli.tools.diffs import unified
from swecli.tools.files import decode, printable
from swecli.undo.changes import ChangeRecorder, RestorePlan, apply, plan
from swecli.undo.versions import UNKEPT, FileVersions


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
        session, changed = self._session(), dict[int, list[str]]()
        self._sessions.load_back_to(1)
        for change in self._store.changes(session, 1):
            changed.setdefault(change.interaction, []).append(self.shown(change.path))
        for applied in reversed(self._sessions.playbook.made_of(session, 1, session.interactions)):
            if not applied.undone and applied.delta.interaction:
                changed.setdefault(applied.delta.interaction, []).extend(applied.touched)
        asked = {message.interaction: message.content for message in reversed(session.messages) if message.opens}
        lines = {number: [f"T{number}", " ".join(query.split())[:60]] for number, query in asked.items()}
        return [
            (number, " · ".join([*line, *([named(changed[number])] if number in changed else [])]))
            for number, line in sorted(lines.items(), reverse=True)
        ]

    def plan(self, first: int) -> RestorePlan:
        """What an undo from that turn on would do to files. Raises BadInput where there is no such turn."""
        if not 1 <= first <= self._session().interactions:
            raise BadInput("There is nothing to undo.", "This session has no such turn.")
        return plan(self._store.changes(self._session(), first), self._versions)

    def plan_redo(self) -> tuple[UndoStep, RestorePlan]:
        """The undo that a redo takes back, and what that would do to files. Raises BadInput."""
        if (step := self._store.to_redo(self._session())) is None:
            raise BadInput("There is nothing to redo.", "A turn after an undo ends what could be redone.")
        return step, plan(self._store.changes(self._session(), 1, step=step.id), self._versions)

    def undo(self, first: int, parts: Collection[str], planned: RestorePlan, overwrite: bool | None = None) -> Undone:
        """Take the turns from `first` on back. Raises BadInput, also for files that `changed` since where `overwrite`
        does not say what becomes of them; then nothing has changed."""
        files = planned if "files" in parts else RestorePlan()
        done, failed = self._restore(files, overwrite)
        settled = [key for key, path in files.settles.items() if path not in failed]
        return self._result(self._store.take_back(self._session(), first, parts, done, settled), files, done, failed)

    def redo(self, step: UndoStep, planned: RestorePlan, overwrite: bool | None = None) -> Undone:
        """Bring back what that undo took. Raises BadInput like `undo`."""
        done, failed = self._restore(planned, overwrite)
        return self._result(self._store.bring_back(self._session(), step), planned, done, failed)

    def _restore(self, planned: RestorePlan, overwrite: bool | None) -> tuple[list[FileChange], dict[str, str]]:
        if planned.changed and overwrite is None:
            names = ", ".join(self.shown(change.path) for change in planned.changed)
            raise BadInput(f"Changed since by another hand, nothing was undone: {names}.", "Undo it at a terminal.")
        return apply([*planned.ready, *(planned.changed if overwrite else ())], self._versions)

    def _result(self, step: UndoStep, plan: RestorePlan, done: list[FileChange], failed: dict[str, str]) -> Undone:
        settled = {change.path for change in done} | failed.keys()
        left = [self.shown(change.path) for change in plan.changed if change.path not in settled]
        lines = [f"left as they are, changed since by another hand: {', '.join(left)}"] * bool(left)
        lines += [f"{self.shown(path)} is not as it was: {why}" for path, why in (plan.lost | failed).items()]
        lines += [f"a change of the playbook stays as it is: {why}" for why in step.refused]
        return Undone(step, [self.shown(change.path) for change in done], lines)

    def keep_facts(self) -> None:
        """After an undo, keep again what the turns before it say that must outlive every reduction, where what was
        undone had taken its place."""
        session, facts = self._session(), {}
        for message in session.messages:
            number, reading = message.interaction, from_query if message.role == "user" else from_answer
            for fact in (*reading(message.content, number), *from_calls(message.tool_calls, number)):
                facts[fact.kind, fact.key] = fact
        known = session.context.facts
        self._sessions.context.keep(session, [fact for key, fact in facts.items() if key not in known and fact.text])

    def query(self, number: int) -> str:
        """What a turn was asked."""
        self._sessions.load_back_to(number)
        return next(m.content for m in self._session().messages if m.opens and m.interaction == number)

    def diff(self, first: int, last: int) -> list[tuple[str, str]]:
        """What those turns changed and is not undone: of each file a line, and a unified diff where it has one."""
        ends: dict[str, FileChange] = {}
        for change in self._store.changes(self._session(), first, last):
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
        found = unified(shown, before if old.mode else None, after)
        return f"{shown}: {what} ({found.counts})", printable(found.text)

    def _text(self, state: FileState) -> str | None:
        """ "" for nothing; None for what is no text, or not kept."""
        data = b"" if not state.mode else None
        if data is None and not state.digest.startswith(UNKEPT):
            data = self._versions.get(state.digest)
        file = None if data is None else decode(data)
        return None if file is None else file.text

    def shown(self, path: str) -> str:
        """A path as the user knows it: relative to the workspace where it lies in it."""
        root = self._versions.root
        return str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path

    def _session(self) -> Session:
        if (session := self._sessions.current_session) is None:
            raise BadInput("No session is open.")
        return session


def named(names: Collection[str], most: int = 6) -> str:
    """Names in one line, the first of many."""
    some = list(dict.fromkeys(names))
    return ", ".join(some[:most]) + (f" and {len(some) - most} more" if len(some) > most else "")


def keep_changes(sessions: SessionManager, ctx: ToolContext, own: Iterable[Path]) -> TurnHistory | None:
    """From now on keep the files that calls change, beside the database; None where that is in memory, or can only be
    read. `own` are folders of this program's, which are not the user's work."""
    database = sessions.database
    if database.path is None or database.only_read:
        return None
    place = str(database.path.absolute())
    apart = [place, *(f"{folder}/" for folder in own)]
    versions = FileVersions(ctx.root, Path(f"{place}.versions"), ctx.environ, apart)
    ctx.changes = ChangeRecorder(sessions, versions)
    return TurnHistory(sessions, versions)
