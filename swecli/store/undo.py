"""Undo and redo of turns in the database.

A step begins in one transaction that holds all of it, the files that are to be restored too, and ends in a second one
when they are: so a step that was cut off can be finished.

An undo moves the turns to a hidden session without a directory: readers need not skip them, and their numbers are free
for new turns.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlmodel import col, select

from swecli.models.context import RetainedFact
from swecli.models.errors import BadInput, ContinuedElsewhere
from swecli.models.ids import uuid7
from swecli.models.playbook import MARKS
from swecli.models.session import Session, UndonePiece
from swecli.store.file_changes import change_columns
from swecli.store.journal.writer import Writer
from swecli.store.playbook.deltas import USER_AUTHORS, Deltas
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.orm import reader
from swecli.store.tables.playbook import DeltaRow
from swecli.store.tables.sessions import InteractionRow, SessionRow, SurvivorRow
from swecli.store.tables.turns import CheckRow
from swecli.store.tables.undo import FileChangeRow, UndoRow
from swecli.store.undo_records import FileChange, FileState, OpenStep, UndoStep

# tables whose rows move with a turn, besides its calls; its requests, with their cost, stay
_TURN_TABLES = (
    "message",
    "reduction",
    "survivor",
    "lasting_change",
    "playbook_turn",
    "playbook_choice",
    "reflection",
    "interaction",
)


class UndoStore:
    """Stores undos of turns. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find_redo(self, session: Session) -> UndoStep | None:
        """Return the undo that a redo would revert: the newest, or None if a turn has run since."""
        open_undos = (
            select(UndoRow)
            .filter_by(session_id=session.id, open=True)
            .order_by(col(UndoRow.id).desc())
        )
        row = next(iter(self._database.rows(open_undos.limit(1))), None)
        if row is None or row.interactions != session.interactions:
            return None
        piece = row.taken.get("piece")
        return UndoStep(
            row.id or 0,
            row.session_id,
            row.first,
            row.last,
            tuple(row.taken["parts"]),
            piece=None if piece is None else UndonePiece(turn=row.first, **piece),
        )

    def begin_undo(
        self,
        session: Session,
        first: int,
        parts: Collection[str],
        files: Sequence[FileChange],
        undone_changes: Collection[int],
        facts: Sequence[RetainedFact] = (),
        standing: Sequence[str] = (),
    ) -> UndoStep:
        """Commit an undo of the turns from `first` on, before it changes `files`, which reverts the changes with these
        keys (`undone_changes`). `facts` are retained again, from the turns that remain; `standing` are lines on what is
        not taken back. The session must be loaded again, and the step finished. Raises ContinuedElsewhere."""
        with self._database.transaction() as db:
            row = _session_row(db, session)
            step = UndoRow(
                session_id=session.id,
                first=first,
                last=row.interactions,
                stage="undoing",
                pid=os.getpid(),
            )
            db.add(step)
            db.flush()
            _add_changes(db, session, step.id or 0, files)
            for key in undone_changes:
                db.get_one(FileChangeRow, key).undone_by = step.id or 0
            if "files" in parts:
                _undo_checks(db, session, step.id or 0, first)
            taken_back: dict[str, Any] = {
                "parts": list(parts),
                "window": [row.window_spec, row.window_start],
                "standing": list(standing),
            }
            names: list[str] = []
            refusals: list[str] = []
            if "playbook" in parts:
                names, refusals = _revert_deltas(db, session, step.id, first)
            _restore_window(db, row, first, parts)
            if "conversation" in parts:
                taken_back["session"] = _hide_turns(db, row, first)
                writer = Writer(reader(db).db)
                for fact in facts:
                    writer.replace_fact(session.id, fact)
            step.interactions = row.interactions
            step.taken = taken_back
            return UndoStep(
                step.id or 0,
                session.id,
                first,
                step.last,
                tuple(parts),
                tuple(names),
                tuple(refusals),
            )

    def begin_piece(
        self, session: Session, piece: UndonePiece, files: Sequence[FileChange]
    ) -> UndoStep:
        """Commit the undo of a piece of a turn, before it changes `files`. The turn stays. The step must be finished or
        abandoned. Raises ContinuedElsewhere."""
        with self._database.transaction() as db:
            row = _session_row(db, session)
            step = UndoRow(
                session_id=session.id,
                first=piece.turn,
                last=piece.turn,
                interactions=row.interactions,
                stage="undoing",
                pid=os.getpid(),
                taken={
                    "parts": ["files"],
                    "standing": list(piece.standing),
                    "piece": {"name": piece.name, "hunk": piece.hunk, "line": piece.line},
                },
            )
            db.add(step)
            db.flush()
            step_id = step.id or 0
            _add_changes(db, session, step_id, files)
            _undo_checks(db, session, step_id, piece.turn)
            return UndoStep(step_id, session.id, piece.turn, piece.turn, ("files",), piece=piece)

    def abandon(self, step: OpenStep | UndoStep) -> None:
        """Commit that the undo or redo of a piece changed no file after all."""
        with self._database.transaction() as db:
            stored_step = db.get_one(UndoRow, step.id)
            if stored_step.stage == "undoing":
                db.exec(sqlmodel.delete(FileChangeRow).filter_by(made_by=step.id))
                db.exec(sqlmodel.update(CheckRow).filter_by(undone_by=step.id).values(undone_by=0))
                stored_step.open = False
            else:
                _reverse_changes(db, step.id)
                stored_step.open = True
            stored_step.stage = "done"

    def begin_redo(self, session: Session, step: UndoStep, files: Sequence[FileChange]) -> UndoStep:
        """Commit the redo of an undo, before it changes `files`. The session must be loaded again, and the step
        finished. Raises ContinuedElsewhere."""
        with self._database.transaction() as db:
            row = _session_row(db, session)
            stored_step = db.get_one(UndoRow, step.id)
            if not stored_step.open:
                raise ContinuedElsewhere
            db.exec(sqlmodel.delete(FileChangeRow).filter_by(made_by=step.id))
            _add_changes(db, session, step.id, files)
            db.exec(sqlmodel.update(FileChangeRow).filter_by(undone_by=step.id).values(undone_by=0))
            db.exec(sqlmodel.update(CheckRow).filter_by(undone_by=step.id).values(undone_by=0))
            if "session" in stored_step.taken:
                _restore_turns(db, row, stored_step.taken["session"])
            if "window" in stored_step.taken:
                row.window_spec, row.window_start = stored_step.taken["window"]
            names, refusals = _revert_deltas(db, session, step.id)
            stored_step.open = False
            stored_step.stage = "redoing"
            stored_step.pid = os.getpid()
            return replace(step, strategies=tuple(names), refusals=tuple(refusals))

    def finish(self, step: OpenStep | UndoStep, failed: Collection[int]) -> None:
        """Commit that the files of a step are restored, but for those of its changes with the keys `failed`: what an
        undo did not restore is not undone."""
        with self._database.transaction() as db:
            stored_step = db.get_one(UndoRow, step.id)
            of_step = select(FileChangeRow).filter_by(made_by=step.id)
            if stored_step.stage == "undoing":
                for change in db.exec(of_step.where(col(FileChangeRow.id).in_(failed))).all():
                    theirs = sqlmodel.update(FileChangeRow).filter_by(undone_by=step.id)
                    db.exec(
                        theirs.where(col(FileChangeRow.path) == change.path).values(undone_by=0)
                    )
                    db.delete(change)
            else:
                db.exec(sqlmodel.delete(FileChangeRow).filter_by(made_by=step.id))
            stored_step.stage = "done"


def _restore_window(
    db: sqlmodel.Session, row: SessionRow, first: int, parts: Collection[str]
) -> None:
    """Give the session the window that it had when its turn `first` began."""
    turn = InteractionRow.find(db, row.id, first)
    if turn is None or not turn.window_spec:  # empty in turns of older versions
        return
    if "window" in parts:
        row.window_spec = turn.window_spec
    if "conversation" in parts:
        row.window_start = turn.window_start


def _add_changes(
    db: sqlmodel.Session, session: Session, step: int, files: Sequence[FileChange]
) -> None:
    """Store what a step changes in files."""
    for file in files:
        interaction = file.interaction or session.interactions
        db.add(FileChangeRow(**change_columns(session.id, file, interaction, step)))


def _reverse_changes(db: sqlmodel.Session, step: int) -> None:
    """Make of what a redo would have changed what the undo did."""
    for row in db.exec(select(FileChangeRow).filter_by(made_by=step)).all():
        before = FileState(row.before, row.before_mode)
        row.before = row.after
        row.before_mode = row.after_mode
        row.after = before.digest
        row.after_mode = before.mode
        db.add(row)


def _undo_checks(db: sqlmodel.Session, session: Session, step: int, first: int) -> None:
    """Take back what the checks of these turns showed: it was the state of files that are restored."""
    theirs = sqlmodel.update(CheckRow).filter_by(session_id=session.id, undone_by=0)
    db.exec(theirs.where(col(CheckRow.interaction) >= first).values(undone_by=step))


def _session_row(db: sqlmodel.Session, session: Session) -> SessionRow:
    """Return the row of a session. Raises ContinuedElsewhere if it is not as this process has loaded it."""
    row = db.exec(select(SessionRow).filter_by(id=session.id)).first()
    if row is None or reader(db).newest_message(session.id) != session.newest_message:
        raise ContinuedElsewhere
    return row


def _hide_turns(db: sqlmodel.Session, row: SessionRow, first: int) -> str:
    """Move the turns from `first` on to a hidden session, and return its id. Having no project, it teaches nothing."""
    hidden_row = SessionRow(
        **row.model_dump(exclude={"number"}) | {"id": uuid7(), "directory": "", "project": ""}
    )
    hidden_row.parent_id = row.id
    hidden_row.cost = 0.0
    hidden_row.title = f"undone: {row.title or row.first_query}"[:80]
    db.add(hidden_row)
    db.flush()
    _move_turns(db, row, hidden_row, first)
    row.interactions = first - 1
    if first <= 1:
        row.first_query = ""
    return hidden_row.id


def _restore_turns(db: sqlmodel.Session, row: SessionRow, hidden_id: str) -> None:
    hidden_row = db.exec(select(SessionRow).filter_by(id=hidden_id)).one()
    for fact in db.exec(select(SurvivorRow).filter_by(session_id=hidden_id)).all():
        db.exec(
            sqlmodel.delete(SurvivorRow).filter_by(session_id=row.id, kind=fact.kind, key=fact.key)
        )
    _move_turns(db, hidden_row, row, 0)
    row.interactions = hidden_row.interactions
    row.first_query = row.first_query or hidden_row.first_query
    db.delete(hidden_row)


def _move_turns(db: sqlmodel.Session, source: SessionRow, target: SessionRow, first: int) -> None:
    """Move the turns from `first` on, with the rows of all their tables, to another session. What tools and commands
    changed stays: an undo of earlier turns goes by it."""
    plain = reader(db).db
    parameters = {"from": source.id, "to": target.id, "first": first}
    turns = "session_id = :from AND interaction >= :first"
    calls = f"message_id IN (SELECT id FROM message WHERE {turns})"
    plain.execute(f"UPDATE tool_call SET session_id = :to WHERE {calls}", parameters)
    for table in _TURN_TABLES:
        condition = turns if table != "interaction" else "session_id = :from AND number >= :first"
        plain.execute(f"UPDATE {table} SET session_id = :to WHERE {condition}", parameters)
    plain.execute(f"UPDATE file_change SET session_id = :to WHERE {turns} AND job != 0", parameters)
    for row in (source, target):
        (row.messages,) = plain.execute(
            "SELECT count(*) FROM message WHERE session_id = ?", (row.id,)
        ).fetchone()


def _revert_deltas(
    db: sqlmodel.Session, session: Session, step: Any, first: int | None = None
) -> tuple[list[str], list[str]]:
    """Revert the playbook deltas of the turns from `first` on, except the user's own edits; with None, reapply those
    that the undo `step` reverted. Returns the changed bullets' ids, and why a delta was refused. A reverted delta gets
    another id, so that the same lesson may be learned again."""
    redo = first is None
    mark = f"~{step}"
    if first is None:
        of = col(DeltaRow.id).endswith(mark)
        order: Any = col(DeltaRow.number)
    else:
        of = col(DeltaRow.interaction) >= first
        order = col(DeltaRow.number).desc()
    query = select(DeltaRow).filter_by(session_id=session.id, undone=redo).where(of)

    names: dict[str, None] = {}
    refusals: list[str] = []
    for row in db.exec(query.order_by(order)).all():
        is_of_user = row.author in USER_AUTHORS and row.reason not in MARKS
        if is_of_user and not redo:
            continue
        try:
            with db.begin_nested():
                Deltas(db).revert(row, redo=redo)
            row.id = row.id.removesuffix(mark) if redo else row.id + mark
            names |= dict.fromkeys(row.before)
        except BadInput as error:
            refusals.append(str(error))
    return list(names), refusals
