"""The recorded changes of files, before and after the calls of a turn."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal

from swecli.models.session import Session
from swecli.store.journal.tables import FILE_CHANGE
from swecli.store.journal.values import decode_name, encode_name, folder_key
from swecli.store.sqlite.database import Database

if TYPE_CHECKING:
    from swecli.models.changed_files import Changer
    from swecli.store.undo_records import FileChange, OpenStep, PieceChange, UndoStep

_COLUMNS = "path, before, before_mode, after, after_mode, interaction, id, changed_by, job, made_by"
# what undos of pieces changed, unless a redo or the undo of the turn has reverted it
_PIECES = (
    f"SELECT u.first, json_extract(u.taken, '$.piece'), {', '.join(f'c.{name}' for name in _COLUMNS.split(', '))}"
    " FROM file_change AS c JOIN undo AS u ON u.id = c.made_by"
    " WHERE c.session_id = ? AND c.undone_by = 0 AND u.open = 1"
    " AND json_extract(u.taken, '$.piece') IS NOT NULL ORDER BY c.id"
)
# An undo that took the conversation too has a hidden session; its turn's number may be that of a new one.
_TAKEN_BACK = (
    "SELECT EXISTS (SELECT 1 FROM file_change AS c JOIN undo AS u ON u.id = c.undone_by"
    " WHERE c.session_id = ? AND c.interaction = ? AND c.made_by = 0"
    " AND json_extract(u.taken, '$.session') IS NULL)"
)


class FileChanges:
    """Stores file changes. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(
        self, session: Session, changes: Iterable[FileChange], replaced: Collection[int] = ()
    ) -> list[int]:
        """Store the file changes of a call, of the newest turn unless they name theirs, in place of those with the keys
        `replaced`. Returns their keys."""
        rows = [
            change_columns(session.id, change, change.interaction or session.interactions)
            for change in changes
        ]
        deletion = "DELETE FROM file_change WHERE id IN (SELECT value FROM json_each(?))"
        with self._database.write() as db:
            db.execute(deletion, (json.dumps([*replaced]),))
            return [FILE_CHANGE.insert(db, row) for row in rows]

    def record_of_job(self, session_id: str, change: FileChange) -> None:
        """Store a change by a background command, which may belong to another session than the present one."""
        row = change_columns(session_id, change, change.interaction)
        with self._database.write() as db:
            FILE_CHANGE.insert(db, row)

    def load(self, session: Session, first: int, last: int | None = None) -> list[FileChange]:
        """Return the file changes of these turns that are not undone, oldest first, also those by background
        commands."""
        question = (
            f"SELECT {_COLUMNS} FROM file_change"
            " WHERE session_id = ? AND made_by = 0 AND undone_by = 0"
            " AND interaction BETWEEN ? AND ? ORDER BY id"
        )
        if last is None:
            last = session.interactions
        with self._database.read() as db:
            return [_parse(*row) for row in db.execute(question, (session.id, first, last))]

    def load_path(self, session: Session, path: str, since: int) -> list[FileChange]:
        """Return all that turns and undos of a session changed in a file, oldest first, from the change with the key
        `since` on."""
        question = (
            f"SELECT {_COLUMNS} FROM file_change"
            " WHERE session_id = ? AND path = ? AND id >= ? ORDER BY id"
        )
        with self._database.read() as db:
            rows = db.execute(question, (session.id, encode_name(path), since))
            return [_parse(*row) for row in rows]

    def load_pieces(self, session: Session) -> list[PieceChange]:
        """Return what undos of pieces changed in a session and is not reverted, oldest first."""
        with self._database.read() as db:
            rows = db.execute(_PIECES, (session.id,)).fetchall()
        if not rows:
            return []
        # late: few turns are undone piece by piece
        from swecli.models.session import UndonePiece
        from swecli.store.undo_records import PieceChange

        return [
            PieceChange(_parse(*change), UndonePiece(turn=turn, **json.loads(piece)))
            for turn, piece, *change in rows
        ]

    def load_step(self, step: OpenStep | UndoStep) -> list[FileChange]:
        """Return the file changes of an undo or redo, oldest first."""
        question = f"SELECT {_COLUMNS} FROM file_change"
        question += " WHERE session_id = ? AND made_by = ? ORDER BY id"
        with self._database.read() as db:
            rows = db.execute(question, (step.session_id, step.id))
            return [_parse(*row) for row in rows]

    def unfinished_steps(self, directory: str) -> list[OpenStep]:
        """Return the undos and redos of a directory's sessions whose files may not all be restored, oldest first."""
        question = (
            "SELECT u.id, u.session_id, u.stage, u.pid,"
            " json_extract(u.taken, '$.piece') IS NOT NULL FROM undo AS u"
            " JOIN session AS s ON s.id = u.session_id"
            " WHERE u.stage != 'done' AND s.directory = ? ORDER BY u.id"
        )
        with self._database.read() as db:
            rows = db.execute(question, (folder_key(directory),)).fetchall()
        if not rows:
            return []
        # late: each start asks, and few undos were cut off
        from swecli.store.undo_records import OpenStep

        return [
            OpenStep(number, session_id, stage, pid, bool(is_piece))
            for number, session_id, stage, pid, is_piece in rows
        ]

    def is_taken_back(self, session: Session, interaction: int) -> bool:
        """Return True if an undo that kept the conversation took file changes of a turn back."""
        with self._database.read() as db:
            return bool(db.execute(_TAKEN_BACK, (session.id, interaction)).fetchone()[0])


def change_columns(
    session_id: str, change: FileChange, interaction: int, made_by: int = 0
) -> dict[str, Any]:
    """Return the columns of a change of a turn."""
    return {
        "session_id": session_id,
        "interaction": interaction,
        "path": change.path,
        "before": change.before.digest,
        "before_mode": change.before.mode,
        "after": change.after.digest,
        "after_mode": change.after.mode,
        "made_by": made_by,
        "changed_by": change.changed_by or "",
        "job": change.job,
    }


def _parse(
    path: str | bytes,
    before: str,
    before_mode: int,
    after: str,
    after_mode: int,
    turn: int,
    key: int,
    changed_by: Changer | Literal[""],
    job: int,
    made_by: int,
) -> FileChange:
    # late: a start reads none
    from swecli.store.undo_records import FileChange, FileState

    return FileChange(
        decode_name(path),
        FileState(before, before_mode),
        FileState(after, after_mode),
        turn,
        key,
        changed_by or None,
        job,
        made_by,
    )
