"""Reductions, pins and retained facts in the database: what a session sends is the same after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.context import BEGIN, UNDO, ContextState, Edits, Epoch, Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.sessions.mapping import load_messages, request_of
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.sessions import ReductionRow, RequestRow, SessionRow, SurvivorRow

_PIN = "pin"


class ContextStore:
    """Keeps `session.context` and the database the same. Every function may raise StoreError; then neither has
    changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, session: Session) -> ContextState:
        """The state of a stored session: the newest epoch, what changed since, pins with their messages, facts.

        Costs the same for a session of 10,000 interactions as for one of 10.
        """
        state = ContextState()
        with self._database.reading() as db:
            state.reductions = _present(db, session.id)
            rows = db.exec(select(SurvivorRow).filter_by(session_id=session.id).order_by(col(SurvivorRow.id))).all()
            turns = select(RequestRow).filter_by(session_id=session.id, purpose="turn")
            asked = db.exec(turns.order_by(col(RequestRow.id).desc()).limit(1)).first()
        state.pins = tuple(sorted(row.interaction for row in rows if row.kind == _PIN))
        state.keep(RetainedFact(row.kind, row.key, row.text, row.interaction) for row in rows if row.kind != _PIN)
        if asked is not None:
            state.record_request(request_of(asked), asked.created_at)
        self._load_pinned(session.id, state, {message.interaction for message in session.messages})
        return state

    def add(self, session: Session, row: Reduction) -> Reduction:
        """Commit a reduction; it comes back with its number, as a reader will get it."""
        epoch, edits = row.epoch and asdict(row.epoch), asdict(row.edits) if row.edits else None
        stored = ReductionRow(session_id=session.id, opens=bool(epoch), **values(row, _PLAIN))
        stored.epoch, stored.edits = epoch, edits
        with self._database.transaction() as db:
            db.add(stored)
            if row.epoch is not None:
                db.exec(sqlmodel.update(SessionRow).filter_by(id=session.id).values(window_start=row.epoch.first))
            db.flush()
            db.refresh(stored)
        clean = _reduction(stored)
        session.context.add(clean)
        if clean.epoch is not None:
            session.window_start = clean.epoch.first
        return clean

    def undo(self, session: Session, hold_turns: int, hold_tokens: int) -> Reduction:
        """Take the newest reduction back, and return it; what was sent before it is sent again. An undo row keeps it
        from being made again at once: see `Reduction`. Raises BadInput when there is none."""
        with self._database.transaction() as db:
            which = _newest_first(session.id, undone=False).where(col(ReductionRow.how).not_in((BEGIN, UNDO)))
            row = db.exec(which.limit(1)).first()
            if row is None:
                raise BadInput("Nothing has been removed from this session's requests yet.")
            row.undone = True
            undo = ReductionRow(session_id=session.id, how=UNDO, interaction=session.interactions)
            undo.detail, undo.hold_turns, undo.hold_tokens = f"R-{row.number}", hold_turns, hold_tokens
            db.add(undo)
            taken = _reduction(row)
            db.flush()
            present = _present(db, session.id)
        session.context.reductions = present
        return taken

    def log(self, session: Session, limit: int = 1000) -> list[Reduction]:
        """The session's reductions, newest first, those that were undone too."""
        return [_reduction(row) for row in self._database.rows(_newest_first(session.id).limit(limit))]

    def pin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction stays. Raises BadInput when there is none of that number."""
        if not 1 <= interaction <= session.interactions:
            raise BadInput(f"There is no turn T{interaction} in this session.", "See /window.")
        if interaction in session.context.pins:
            return
        row = SurvivorRow(session_id=session.id, kind=_PIN, key=str(interaction), interaction=interaction)
        with self._database.transaction() as db:
            db.add(row)
        session.context.pins = tuple(sorted({*session.context.pins, interaction}))
        self._load_pinned(session.id, session.context, {message.interaction for message in session.messages})

    def unpin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction may leave like any other. Raises BadInput when it is not pinned."""
        if interaction not in session.context.pins:
            raise BadInput(f"T{interaction} is not pinned.")
        with self._database.transaction() as db:
            db.exec(sqlmodel.delete(SurvivorRow).filter_by(session_id=session.id, kind=_PIN, key=str(interaction)))
        session.context.pins = tuple(pin for pin in session.context.pins if pin != interaction)

    def keep(self, session: Session, facts: Iterable[RetainedFact]) -> None:
        """Commit facts; a later one takes the place of one with its kind and key, an empty text removes it."""
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

    def _load_pinned(self, session_id: str, state: ContextState, loaded: set[int]) -> None:
        epoch = state.epoch
        for pin in {*state.pins, *(epoch.pins if epoch else ())} - loaded - set(state.pinned):
            state.pinned[pin] = load_messages(self._database, session_id, pin, pin)


_PLAIN = shared(Reduction, ReductionRow, "epoch", "edits", "number", "undone", "created_at")


def _newest_first(session_id: str, **which: Any) -> Any:
    theirs = select(ReductionRow).filter_by(session_id=session_id, **which)
    return theirs.order_by(col(ReductionRow.number).desc())


def _present(db: sqlmodel.Session, session_id: str) -> list[Reduction]:
    """The row that began the present epoch and those after it, oldest first."""
    opening = select(func.max(ReductionRow.number)).filter_by(session_id=session_id, undone=False, opens=True)
    since = col(ReductionRow.number) >= func.coalesce(opening.scalar_subquery(), 0)
    return [_reduction(row) for row in db.exec(_newest_first(session_id, undone=False).where(since)).all()][::-1]


def _reduction(row: ReductionRow) -> Reduction:
    return Reduction(
        **values(row, (*_PLAIN, "undone", "created_at")),
        epoch=Epoch.from_json(row.epoch) if row.epoch else None,
        edits=Edits.from_json(row.edits) if row.edits else Edits(),
        number=row.number or 0,
    )
