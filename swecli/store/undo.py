"""What turns changed of files, and undo: turns taken out of a session and put back, each in one transaction.

Turns that were taken out belong to another session, which no folder has: nothing that reads this one has to pass over
them, and their numbers are free for what comes instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.session import Session, uuid7
from swecli.store.playbook import deltas
from swecli.store.records import FileChange, FileState, UndoStep
from swecli.store.sessions.mapping import find_turn
from swecli.store.sqlite.database import Database
from swecli.store.tables.learned import ChoiceRow, DeltaRow, ReflectionRow, TurnRow
from swecli.store.tables.sessions import (
    CallRow,
    FileChangeRow,
    InteractionRow,
    MessageRow,
    ReductionRow,
    SessionRow,
    SurvivorRow,
    UndoRow,
)

# what goes with a turn; what it cost stays
_OF_TURNS: tuple[Any, ...] = (MessageRow, ReductionRow, SurvivorRow, TurnRow, ChoiceRow, ReflectionRow, InteractionRow)


class UndoStore:
    """File changes and undos of sessions. Every function may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, session: Session, changes: Iterable[FileChange]) -> None:
        """Commit what a call of the newest turn changed."""
        with self._database.transaction() as db:
            db.add_all(_change_row(session, change) for change in changes)

    def changes(self, session: Session, first: int, last: int | None = None, *, step: int = 0) -> list[FileChange]:
        """What those turns changed and is not undone, in order; with `step` what that undo changed."""
        which = select(FileChangeRow).filter_by(session_id=session.id, made_by=step).order_by(col(FileChangeRow.id))
        if not step:
            until = session.interactions if last is None else last
            which = which.filter_by(undone_by=0).where(col(FileChangeRow.interaction).between(first, until))
        return [_change(row) for row in self._database.rows(which)]

    def to_redo(self, session: Session) -> UndoStep | None:
        """The undo that a redo would take back: the newest, unless a turn has run since."""
        row = self._database.row(_open(session.id).limit(1))
        if row is None or row.interactions != session.interactions:
            return None
        return UndoStep(row.id or 0, row.first, row.last, tuple(row.taken["parts"]))

    def take_back(
        self,
        session: Session,
        first: int,
        parts: Collection[str],
        files: Sequence[FileChange],
        settled: Collection[int],
    ) -> UndoStep:
        """Commit an undo from the turn `first` on, which changed `files` and undid the `settled` changes. Load the
        session again after it. Raises BadInput: another process has gone on with the session."""
        with self._database.transaction() as db:
            row = _session_row(db, session)
            earlier = db.exec(_open(session.id)).all()
            for stale in earlier if earlier and earlier[0].interactions != row.interactions else ():
                stale.open = False  # a turn has run since
            step = UndoRow(session_id=session.id, first=first, last=row.interactions)
            db.add(step)
            db.flush()
            db.add_all(_change_row(session, change, step.id) for change in files)
            for key in settled:
                db.get_one(FileChangeRow, key).undone_by = step.id or 0
            taken = {"parts": list(parts), "window": [row.window_spec, row.window_start]}
            names, refused = _turn_strategies(db, session, step.id, first) if "playbook" in parts else ([], [])
            begun = find_turn(db, session.id, first)
            if begun is not None and begun.window_spec:  # else it is of an older version
                row.window_spec = begun.window_spec if "window" in parts else row.window_spec
                row.window_start = begun.window_start if "conversation" in parts else row.window_start
            if "conversation" in parts:
                taken["session"] = _take_turns(db, row, first)
            step.interactions, step.taken = row.interactions, taken
            return UndoStep(step.id or 0, first, step.last, tuple(parts), tuple(names), tuple(refused))

    def bring_back(self, session: Session, step: UndoStep) -> UndoStep:
        """Commit the redo of an undo whose files were put back. Load the session again after it. Raises BadInput."""
        with self._database.transaction() as db:
            row, stored = _session_row(db, session), db.get_one(UndoRow, step.id)
            db.exec(sqlmodel.delete(FileChangeRow).filter_by(made_by=step.id))
            db.exec(sqlmodel.update(FileChangeRow).filter_by(undone_by=step.id).values(undone_by=0))
            if "session" in stored.taken:
                _bring_turns(db, row, stored.taken["session"])
            row.window_spec, row.window_start = stored.taken["window"]
            names, refused = _turn_strategies(db, session, step.id)
            stored.open = False
            return replace(step, strategies=tuple(names), refused=tuple(refused))


def _open(session_id: str) -> Any:
    return select(UndoRow).filter_by(session_id=session_id, open=True).order_by(col(UndoRow.id).desc())


def _session_row(db: sqlmodel.Session, session: Session) -> SessionRow:
    row = db.exec(select(SessionRow).filter_by(id=session.id)).first()
    if row is None or row.interactions != session.interactions:
        raise BadInput("Another swecli has gone on with this session.", f"Load it again: /resume {session.id}")
    return row


def _change_row(session: Session, change: FileChange, made_by: int | None = 0) -> FileChangeRow:
    row = FileChangeRow(session_id=session.id, path=change.path, made_by=made_by or 0)
    row.interaction = change.interaction or session.interactions
    row.before, row.before_mode = change.before.digest, change.before.mode
    row.after, row.after_mode = change.after.digest, change.after.mode
    return row


def _change(row: FileChangeRow) -> FileChange:
    before, after = FileState(row.before, row.before_mode), FileState(row.after, row.after_mode)
    return FileChange(row.path, before, after, row.interaction, row.id or 0)


def _take_turns(db: sqlmodel.Session, row: SessionRow, first: int) -> str:
    """Put the turns from `first` on aside; the session that has them now. It has no project: nothing learns of it."""
    aside = SessionRow(**row.model_dump(exclude={"number"}) | {"id": uuid7(), "directory": "", "project": ""})
    aside.parent_id, aside.cost, aside.title = row.id, 0.0, f"undone: {row.title or row.first_query}"[:80]
    db.add(aside)
    db.flush()
    _move(db, row, aside, first)
    row.interactions, row.first_query = first - 1, row.first_query if first > 1 else ""
    return aside.id


def _bring_turns(db: sqlmodel.Session, row: SessionRow, aside_id: str) -> None:
    aside = db.exec(select(SessionRow).filter_by(id=aside_id)).one()
    for fact in db.exec(select(SurvivorRow).filter_by(session_id=aside_id)).all():
        db.exec(sqlmodel.delete(SurvivorRow).filter_by(session_id=row.id, kind=fact.kind, key=fact.key))
    _move(db, aside, row, 0)
    row.interactions, row.first_query = aside.interactions, row.first_query or aside.first_query
    db.delete(aside)


def _move(db: sqlmodel.Session, source: SessionRow, target: SessionRow, first: int) -> None:
    """Let the turns from `first` on belong to another session, with all that goes with them."""
    theirs = select(MessageRow.id).filter_by(session_id=source.id).where(col(MessageRow.interaction) >= first)
    moves = [sqlmodel.update(CallRow).where(col(CallRow.message_id).in_(theirs))]
    for table in _OF_TURNS:
        number = table.number if table is InteractionRow else table.interaction
        moves.append(sqlmodel.update(table).filter_by(session_id=source.id).where(col(number) >= first))
    for move in moves:
        db.exec(move.values(session_id=target.id).execution_options(synchronize_session=False))
    db.flush()
    for row in (source, target):
        row.messages = db.exec(sqlmodel.select(func.count(col(MessageRow.id))).filter_by(session_id=row.id)).one()


def _turn_strategies(
    db: sqlmodel.Session, session: Session, step: Any, first: int | None = None
) -> tuple[list[str], list[str]]:
    """Take back what the turns from `first` on changed of the playbook, but for what the user changed by hand; without
    one bring back what that undo took. The bullets, and why a change stays. The id of a change is another one while it
    is taken back: the same lesson may be learned again."""
    back, mark, number = first is None, f"~{step}", col(DeltaRow.number)
    of = col(DeltaRow.id).endswith(mark) if first is None else col(DeltaRow.interaction) >= first
    which = select(DeltaRow).filter_by(session_id=session.id, undone=back).where(of)
    names, refused = dict[str, None](), list[str]()
    for row in db.exec(which.order_by(number if back else number.desc())).all():
        if not back and row.author in deltas.FREE and not row.reason.startswith("mark "):
            continue
        try:
            with db.begin_nested():
                deltas.turn(db, row, back=back)
            row.id = row.id.removesuffix(mark) if back else row.id + mark
            names |= dict.fromkeys(row.before)
        except BadInput as error:
            refused.append(str(error))
    return list(names), refused
