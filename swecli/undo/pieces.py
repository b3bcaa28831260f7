"""Plans the undo of a piece of a turn: of one file, or of one hunk of it. What was changed later in other places of the
file stays; a piece that was itself changed since is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.models.session import UndonePiece
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, FileState, PieceChange
from swecli.text import one_line
from swecli.text_files import TextFile
from swecli.tools.three_way import apply_changes, merge, reverse
from swecli.undo.turn_files import (
    TAKEN_BACK,
    NumberedHunk,
    Run,
    TurnFile,
    TurnFiles,
    known_encoding,
)
from swecli.undo.versions import NOT_STORED, PRUNED, FileVersions
from swecli.values import dataclass

_MAX_QUOTED = 60  # characters of a message
_ABSENT = FileState()


@dataclass(frozen=True, slots=True)
class PiecePlan:
    """The undo of a piece: what it changes in files (`before` is the present state), and the states of its file that
    have the piece, `carriers`."""

    piece: UndonePiece
    path: str
    changes: Sequence[FileChange]
    carriers: Sequence[FileState]
    jobs: frozenset[int]  # that changed its file


@dataclass(slots=True)
class JoinedChanges:
    """The changes of files that an undo of turns goes by, and by path the state that a file gets, None if it has none:
    those without a key are not reverted."""

    changes: list[FileChange]
    targets: dict[str, FileState | None] = field(default_factory=dict)


class PiecePlanner:
    """Plans the undo and redo of pieces of the current session's turns. No file is changed; the contents that a plan
    needs are stored."""

    def __init__(self, sessions: SessionManager, files: TurnFiles) -> None:
        self._sessions = sessions
        self._files = files

    @property
    def _versions(self) -> FileVersions:
        return self._files.versions

    def plan(self, turn: int, text: str) -> PiecePlan:
        """Plan the undo of what a text names: a file of the turn, and behind it the number of a hunk or nothing. Raises
        BadInput if it cannot be undone."""
        file, number = self._files.find(turn, text)
        for each in _paths(file):
            self._require_changeable(each, file)
        if file.is_undone:
            raise BadInput(
                _refusal(f"{file.name} is {TAKEN_BACK} already"), "/redo reverts the last undo"
            )
        place = 0
        if number:
            target, place = self._put_back_hunk(file, number, turn)
        else:
            target = self._put_back_file(file)
        changes = [*self._changes(file, target), *self._folders(file, turn)]
        self._require_restorable(file, changes)
        return PiecePlan(
            UndonePiece(turn, file.name, number, place),
            file.path,
            [replace(change, interaction=turn) for change in changes],
            list(self._carriers(file)),
            file.jobs,
        )

    def join(
        self, changes: Sequence[FileChange], taken_back: Sequence[PieceChange], first: int
    ) -> JoinedChanges:
        """Join changes of the turns from `first` on with the pieces that were taken back since: those of these turns
        are reverted with them, those of earlier turns stay."""
        joined = JoinedChanges(list(changes))
        reverted = {change.key for change in changes}
        reverted |= {
            piece_change.change.key
            for piece_change in taken_back
            if piece_change.piece.turn >= first
        }
        for path in dict.fromkeys(piece_change.change.path for piece_change in taken_back):
            own_changes = [change for change in changes if change.path == path]
            pieces = [
                piece_change for piece_change in taken_back if piece_change.change.path == path
            ]
            if not own_changes or pieces[-1].change.key < own_changes[0].key:
                continue
            history = self._sessions.file_changes.load_path(
                self._sessions.session, path, own_changes[0].key
            )
            joined.changes = [change for change in joined.changes if change.path != path]
            joined.changes += [
                change if change.key in reverted else replace(change, key=0)
                for change in history
                if not change.job
            ]
            target: FileState | None = own_changes[0].before
            for piece_change in pieces:
                if (
                    piece_change.piece.turn < first
                    and piece_change.change.key > own_changes[0].key
                    and target
                ):
                    target = self.carry_over(
                        piece_change.change.before, piece_change.change.after, target
                    )
            joined.targets[path] = target
        return joined

    def plan_redo(self, change: FileChange) -> FileChange | None:
        """Return the change that brings back what the undo of a piece changed, with what is different in the file
        since; None if the same lines are different."""
        present = self._state(change.path)
        if present == change.after:
            return FileChange(change.path, present, change.before, change.interaction)
        state = self.carry_over(change.after, change.before, present)
        return (
            None if state is None else FileChange(change.path, present, state, change.interaction)
        )

    def carry_over(
        self, base: FileState, changed_state: FileState, present: FileState
    ) -> FileState | None:
        """Return the present state of a file with what led from `base` to `changed_state`; None if that does not
        fit."""
        if base.mode != changed_state.mode and present.mode != base.mode:
            return None
        if not (base.mode and changed_state.mode and present.mode):
            return None
        before = self._files.read(base)
        after = self._files.read(changed_state, known_encoding(before))
        file = self._files.read(present, known_encoding(before))
        if before is None or after is None or file is None:
            return None
        merged = merge(before.text, after.text, file.text)
        if merged.overlapping:
            return None
        mode = changed_state.mode if base.mode != changed_state.mode else present.mode
        try:
            return self._keep(file, merged.text, mode)
        except UnicodeEncodeError:
            return None

    def _state(self, path: str) -> FileState:
        return self._versions.read_state(path)

    def _keep(self, file: TextFile, text: str, mode: int) -> FileState:
        """Store a text in the encoding of a file. Raises UnicodeEncodeError, BadInput."""
        data = file.encode(text)
        try:
            return FileState(self._versions.keep(data), mode)
        except OSError as error:
            folder = self._versions.folder
            reason = error.strerror or str(error)
            raise BadInput(_refusal(f"a version cannot be stored in {folder}: {reason}")) from error

    def _require_changeable(self, path: str, file: TurnFile) -> None:
        if not self._versions.is_inside(path):
            raise BadInput(_refusal(f"{file.name} is outside the workspace"))
        if Path(path).parent.resolve() != Path(path).parent:
            raise BadInput(_refusal(f"the folder of {file.name} is reached through a link"))
        present = self._state(path)
        is_file = stat.S_ISREG(present.mode)
        was_writable = not file.after.mode or bool(file.after.mode & stat.S_IWUSR)
        if is_file and was_writable and not present.mode & stat.S_IWUSR:
            raise BadInput(_refusal(f"{file.name} is read-only"), "Make it writable: chmod u+w")
        if present.digest.startswith(NOT_STORED):
            raise BadInput(
                _refusal(f"{file.name} is too large or not readable, so no undo keeps it")
            )

    def _require_restorable(self, file: TurnFile, changes: Sequence[FileChange]) -> None:
        for change in changes:
            digest = change.after.digest
            if digest.startswith(NOT_STORED):
                reason = "was too large or not readable before that turn"
                raise BadInput(_refusal(f"{file.name} {reason}"))
            if digest and self._versions.load(digest) is None:
                raise BadInput(_refusal(f"of {file.name}, {PRUNED}"))

    def _put_back_file(self, file: TurnFile) -> FileState:
        """Return the state of a file without what the turn changed."""
        present = self._state(file.path)
        last = file.runs[-1]
        is_in_parts = len(file.runs) > 1 or bool(file.undone_pieces)
        if present == file.after and not is_in_parts:
            return file.before if file.moved_from is None else _ABSENT
        if not file.after.mode and present.mode:
            raise BadInput(_refusal(f"{file.name} exists again"), "Move it away first")
        if not file.after.mode:
            reason = "was changed outside this session before the turn removed it"
            raise BadInput(_refusal(f"{file.name} {reason}"))
        if not present.mode:
            raise BadInput(_refusal(f"{file.name} does not exist any more"))
        if file.moved_from is not None:
            return _ABSENT
        if not file.before.mode:
            since = self._change_since(file, last, lambda state: state != file.after)
            raise BadInput(_refusal(f"{file.name}, which the turn created, {since}"))
        has_new_mode = file.before.mode != file.after.mode
        if has_new_mode and present.mode != file.after.mode:
            since = self._change_since(file, last, lambda state: state.mode != file.after.mode)
            raise BadInput(_refusal(f"the mode of {file.name} {since}"))
        mode = file.before.mode if has_new_mode else present.mode
        if file.before.digest == file.after.digest and not is_in_parts:
            return FileState(present.digest, mode)
        hunks = [hunk for hunk in self._hunks(file) if not hunk.is_undone]
        if not hunks:
            since = self._change_since(file, last, lambda state: state.digest != file.after.digest)
            raise BadInput(_refusal(f"{file.name} {since}"))
        state, _ = self._without(file, hunks, present)
        return FileState(state.digest, mode)

    def _put_back_hunk(self, file: TurnFile, number: int, turn: int) -> tuple[FileState, int]:
        """Return the state of a file without one hunk, and the line at which it began."""
        hunks = {hunk.number: hunk for hunk in self._hunks(file)}
        if not hunks:
            raise BadInput(_refusal(f"{file.name} has no hunks: it is undone as a whole"))
        if number not in hunks:
            last = len(hunks)
            have = "1 hunk" if last == 1 else f"hunks 1 to {last}"
            raise BadInput(_refusal(f"{file.name} has {have}"), f"See /diff T{turn}")
        if hunks[number].is_undone:
            raise BadInput(_refusal(f"hunk {number} of {file.name} is {TAKEN_BACK} already"))
        present = self._state(file.path)
        if not present.mode:
            raise BadInput(_refusal(f"{file.name} does not exist any more"))
        return self._without(file, [hunks[number]], present)

    def _hunks(self, file: TurnFile) -> list[NumberedHunk]:
        if any(self._files.texts(run) is None for run in file.runs):
            return []
        return self._files.hunks(file)

    def _without(
        self, file: TurnFile, hunks: Sequence[NumberedHunk], present: FileState
    ) -> tuple[FileState, int]:
        """Return a state of a file without these hunks, and the line at which the first begins. Raises BadInput."""
        encoding = known_encoding(self._files.read(file.before)) or known_encoding(
            self._files.read(file.after)
        )
        present_file = self._files.read(present, encoding)
        if present_file is None:
            raise BadInput(_refusal(f"{file.name} is no text any more"))
        text = present_file.text
        place = 0
        # what came last goes first, so that each meets the lines that it left
        for hunk in sorted(hunks, key=lambda hunk: -hunk.number):
            texts = self._files.texts(hunk.run)
            assert texts is not None, "it has hunks"
            before, after = texts
            changes = [reverse(change) for change in hunk.hunk.changes]
            merged = apply_changes(after.text, before.text, changes, text)
            if merged.overlapping:
                since = self._change_since(file, hunk.run, partial(self._lacks, hunk))
                raise BadInput(_refusal(f"hunk {hunk.number} of {file.name} {since}"))
            text = merged.text
            place = merged.places[0]
        try:
            return self._keep(present_file, text, present.mode), place
        except UnicodeEncodeError as error:
            reason = (
                f"the encoding of {file.name}, {present_file.encoding}, has not all of its letters"
            )
            raise BadInput(_refusal(reason)) from error

    def _lacks(self, hunk: NumberedHunk, state: FileState) -> bool:
        """Return whether a state of a file has a hunk no more, or with changes in it."""
        texts = self._files.texts(hunk.run)
        if texts is None or not state.mode:
            return True
        before, after = texts
        file_now = self._files.read(state, known_encoding(after))
        if file_now is None:
            return True
        changes = [reverse(change) for change in hunk.hunk.changes]
        return bool(apply_changes(after.text, before.text, changes, file_now.text).overlapping)

    def _change_since(self, file: TurnFile, run: Run, lacks: Callable[[FileState], bool]) -> str:
        """Return who changed a file first so that it `lacks` what a run left, as the end of a sentence."""
        session = self._sessions.session
        later = self._sessions.file_changes.load_path(session, file.path, run.key + 1)
        for change in later:
            if lacks(change.before):
                break
            if lacks(change.after):
                if change.made_by:
                    return "was changed by another undo"
                return f"was changed again by {self._quote(change.interaction)}"
        return "was changed since, outside this session"

    def _quote(self, turn: int) -> str:
        """Return a turn as the user knows it: by its message."""
        self._sessions.load_back_to(turn)
        for message in self._sessions.session.messages:
            if message.is_query and message.interaction == turn:
                return f'"{one_line(message.content, _MAX_QUOTED)}" (T{turn})'
        return f"T{turn}"

    def _changes(self, file: TurnFile, target: FileState) -> Iterator[FileChange]:
        present = self._state(file.path)
        if file.moved_from is not None:
            source = file.moved_from
            if self._state(source.path).mode:
                raise BadInput(_refusal(f"{source.name} exists again"), "Move it away first")
            has_own_mode = present.mode != file.after.mode
            mode = present.mode if has_own_mode else source.before.mode
            digest = source.before.digest
            if present.digest != file.after.digest:
                if (
                    file.after.digest != digest
                ):  # the turn changed it, too: both cannot be told apart
                    last = file.runs[-1]
                    since = self._change_since(
                        file, last, lambda state: state.digest != file.after.digest
                    )
                    raise BadInput(_refusal(f"{file.name}, which the turn renamed, {since}"))
                digest = present.digest  # what was changed since goes with the file
            yield FileChange(source.path, _ABSENT, FileState(digest, mode))
        if present == target:
            raise BadInput(_refusal(f"{file.name} is as it was before that turn"))
        yield FileChange(file.path, present, target)

    def _folders(self, file: TurnFile, turn: int) -> Iterator[FileChange]:
        """Yield the folders that the turn made for a file and that become empty, and those that it removed with one."""
        changes = self._sessions.file_changes.load(self._sessions.session, turn, turn)
        folders = {
            change.path: change
            for change in changes
            if stat.S_ISDIR(change.before.mode or change.after.mode)
        }
        emptied = file.path if not file.before.mode else ""
        while emptied:
            emptied = os.path.dirname(emptied)  # noqa: PTH120  paths are strings here
            folder_change = folders.get(emptied)
            is_made = folder_change is not None and not folder_change.before.mode
            if not is_made or len(os.listdir(emptied)) > 1:  # noqa: PTH208
                break
            yield FileChange(emptied, self._state(emptied), _ABSENT)
        restored = file.moved_from or file
        for folder in Path(restored.path).parents if restored.before.mode else ():
            removed = folders.get(str(folder))
            if removed is not None and not removed.after.mode and not self._state(str(folder)).mode:
                yield FileChange(str(folder), _ABSENT, removed.before)

    def _carriers(self, file: TurnFile) -> Iterator[FileState]:
        """Yield the states of a file from the end of the turn until now."""
        session = self._sessions.session
        yield file.after
        for change in self._sessions.file_changes.load_path(session, file.path, file.runs[-1].key):
            yield change.after
        yield self._state(file.path)


def _refusal(reason: str) -> str:
    return f"Nothing was undone: {reason}."


def _paths(file: TurnFile) -> list[str]:
    return [file.path] if file.moved_from is None else [file.path, file.moved_from.path]
