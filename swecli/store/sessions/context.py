"""Store reductions, pins and retained facts, so that a resumed session sends the same requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import sqlmodel
from sqlmodel import col, select

from swecli.models.context import BEGIN, UNDO, Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.reading import PIN, REDUCTION, read_pinned, read_reductions
from swecli.store.sqlite.database import Database, driver
from swecli.store.tables.columns import clean_text, values
from swecli.store.tables.sessions import ReductionRow, SessionRow, SurvivorRow

_MOST = 1_000_000  # reductions of one session


class ContextStore:
    """Keeps `session.context` and the database in sync. Every function may raise StoreError; then neither has
    changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: Session, row: Reduction) -> Reduction:
        """Commit a reduction; return it as it is read back, with its number."""
        epoch, edits = row.epoch and asdict(row.epoch), asdict(row.edits) if row.edits else None
        stored = ReductionRow(session_id=session.id, opens=bool(epoch), **values(row, REDUCTION))
        stored.epoch, stored.edits = epoch, edits
        with self._database.transaction() as db:
            db.add(stored)
            if row.epoch is not None:
                db.exec(sqlmodel.update(SessionRow).filter_by(id=session.id).values(window_start=row.epoch.first))
            clean = read_reductions(driver(db), session.id, 1)[0]
        session.context.add(clean)
        if clean.epoch is not None:
            session.window_start = clean.epoch.first
        return clean

    def undo(self, session: Session, hold_turns: int, hold_tokens: int) -> Reduction:
        """Undo the newest reduction and return it: the next request is built without it. The undo row delays its
        repetition, see `Reduction`. Raises BadInput if there is none."""
        with self._database.transaction() as db:
            undoable = select(ReductionRow).filter_by(session_id=session.id, undone=False)
            undoable = undoable.where(col(ReductionRow.how).not_in((BEGIN, UNDO)))
            row = db.exec(undoable.order_by(col(ReductionRow.number).desc()).limit(1)).first()
            if row is None:
                raise BadInput("Nothing has been removed from this session's requests yet.")
            row.undone = True
            undo = ReductionRow(session_id=session.id, how=UNDO, interaction=session.interactions)
            undo.detail, undo.hold_turns, undo.hold_tokens = f"R-{row.number}", hold_turns, hold_tokens
            db.add(undo)
            plain = driver(db)
            taken = next(one for one in read_reductions(plain, session.id, _MOST) if one.number == row.number)
            present = read_reductions(plain, session.id)
        session.context.reductions = present
        return taken

    def log(self, session: Session, limit: int = 1000) -> list[Reduction]:
        """Return the session's reductions, undone ones too, newest first."""
        with self._database.reading() as db:
            return read_reductions(driver(db), session.id, limit)

    def pin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is pinned. Raises BadInput if it does not exist."""
        if not 1 <= interaction <= session.interactions:
            raise BadInput(f"There is no turn T{interaction} in this session.", "See /window.")
        if interaction in session.context.pins:
            return
        row = SurvivorRow(session_id=session.id, kind=PIN, key=str(interaction), interaction=interaction)
        with self._database.transaction() as db:
            db.add(row)
        session.context.pins = tuple(sorted({*session.context.pins, interaction}))
        with self._database.reading() as db:
            read_pinned(driver(db), session)

    def unpin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is not pinned any more. Raises BadInput if it is not pinned."""
        if interaction not in session.context.pins:
            raise BadInput(f"T{interaction} is not pinned.")
        with self._database.transaction() as db:
            db.exec(sqlmodel.delete(SurvivorRow).filter_by(session_id=session.id, kind=PIN, key=str(interaction)))
        session.context.pins = tuple(pin for pin in session.context.pins if pin != interaction)

    def keep(self, session: Session, facts: Iterable[RetainedFact]) -> None:
        """Commit facts; a fact replaces one of the same kind and key, and removes it if its text is empty."""
        clean = [RetainedFact(s.kind, clean_text(s.key), clean_text(s.text), s.interaction) for s in facts]
        known = session.context.facts
        fresh = [s for s in clean if known.get((s.kind, s.key)) != s and (s.text or (s.kind, s.key) in known)]
        if not fresh:
            return
        with self._database.transaction() as db:
            for one in fresh:
                db.exec(sqlmodel.delete(SurvivorRow).filter_by(session_id=session.id, kind=one.kind, key=one.key))
                if one.text:
                    db.add(SurvivorRow(session_id=session.id, **asdict(one)))
        session.context.keep(fresh)
