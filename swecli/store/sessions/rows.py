"""Rows of sessions: loaded and settled, converted from models field by field of the same name, listed, searched and
summed; and those of reductions, pins and retained facts, by which a resumed session sends the same requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import func, or_
from sqlmodel import col, select

from swecli.models.context import BEGIN, UNDO, Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.session import Session, SessionInfo
from swecli.redact import redact
from swecli.store.reading import (
    NEWEST_FIRST,
    PIN,
    REDUCTION,
)
from swecli.store.records import FoundInteraction, SearchHit, TextMatch, UsageTotals
from swecli.store.sessions.search import FLOOR, find_text, search_all, search_session
from swecli.store.sqlite.database import Database, reader
from swecli.store.tables.columns import clean_text, values
from swecli.store.tables.sessions import (
    CallRow,
    FullResultRow,
    MessageRow,
    ReductionRow,
    RequestRow,
    SessionRow,
    SurvivorRow,
)

RUNNING, INTERRUPTED = "running", "interrupted"
_ALL = 1_000_000  # more reductions than a session has
_ENDING = 400  # characters


class SessionQueries:
    """The session in use, and queries over all of them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.current_session: Session | None = None

    @property
    def session(self) -> Session:
        """The session in use. Raises BadInput if there is none."""
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """Return the last used sessions of one directory, or of all, newest first."""
        which = sqlalchemy.select(*(col(getattr(SessionRow, name)) for name in SessionInfo.__slots__))
        if directory is not None:
            which = which.where(col(SessionRow.directory) == directory)
        else:  # undone turns are stored as sessions without a directory
            which = which.where(or_(col(SessionRow.directory) != "", col(SessionRow.parent_id).is_(None)))
        with self.database.reading() as db:
            rows = db.connection().execute(which.order_by(sqlalchemy.text(NEWEST_FIRST)).limit(max(0, limit)))
            found = [SessionInfo(*row) for row in rows]
        # rows of earlier versions are not redacted
        return [replace(info, title=redact(info.title), first_query=redact(info.first_query)) for info in found]

    def endings(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the beginnings of the last texts of "user" and "assistant" by session id."""
        last = sqlalchemy.select(func.max(col(MessageRow.id))).where(
            col(MessageRow.session_id).in_(ids), col(MessageRow.content) != ""
        )
        newest = last.group_by(col(MessageRow.session_id), col(MessageRow.role))
        of: list[Any] = [MessageRow.session_id, MessageRow.role, func.substr(col(MessageRow.content), 1, 10 * _ENDING)]
        found: dict[str, dict[str, str]] = {}
        with self.database.reading() as db:
            rows = db.connection().execute(sqlalchemy.select(*of).where(col(MessageRow.id).in_(newest)))
            for session, role, text in rows:  # redact before truncating, so that a secret is whole
                found.setdefault(session, {})[str(role)] = redact(text)[:_ENDING]
        return found

    def read_result(self, call_id: str) -> str | None:
        """Return the whole result of the newest call with that id, or None."""
        which = sqlmodel.select(func.coalesce(FullResultRow.text, CallRow.result)).select_from(CallRow)
        which = which.where(col(CallRow.session_id) == self.session.id, col(CallRow.call_id) == clean_text(call_id))
        which = which.outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
        return next(iter(self.database.rows(which.order_by(col(CallRow.id).desc()).limit(1))), None)

    def totals(self) -> UsageTotals:
        """Sum the usage of this session's requests. The cost is None if any is unknown."""
        with self.database.reading() as db:
            return RequestRow.totals(db, self.session.id)

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Find messages and titles of all sessions that contain all the words, newest first; `word*` matches a prefix.
        Raises BadInput without words."""
        if not (terms := clean_text(words).split()):
            raise BadInput("Give at least one word to search for.")
        with self.database.reading() as db:
            return search_all(reader(db).db, terms, max(0, limit))

    def find(self, text: str, limit: int = 20) -> list[TextMatch]:
        """Find a text in this session's messages and results, newest first."""
        with self.database.reading() as db:
            return find_text(reader(db).db, self.session.id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float = FLOOR
    ) -> list[FoundInteraction]:
        """Find interactions of this session that a query refers to, best first, each with excerpts: those `before` an
        interaction (None: all) with a score of at least `floor`, from 0 to 1."""
        with self.database.reading() as db:
            return search_session(reader(db).db, self.session, clean_text(query), before, limit, floor)


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
            clean = reader(db).reductions(session.id, 1)[0]
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
            taken = next(one for one in reader(db).reductions(session.id, _ALL) if one.number == row.number)
            present = reader(db).reductions(session.id)
        session.context.reductions = present
        return taken

    def log(self, session: Session, limit: int = 1000) -> list[Reduction]:
        """Return the session's reductions, undone ones too, newest first."""
        with self._database.reading() as db:
            return reader(db).reductions(session.id, limit)

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
            reader(db).load_pinned(session)

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
