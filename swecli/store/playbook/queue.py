"""What has been reflected upon and what still waits for it, over restarts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.playbook.scope import project_of
from swecli.store.records import Draft, PendingReflection, Spent
from swecli.store.sessions.mapping import usage_of, usage_values
from swecli.store.sessions.reading import find_turn, runs_elsewhere
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import values
from swecli.store.tables.playbook import DraftRow, ReflectionRow
from swecli.store.tables.sessions import InteractionRow, RequestRow, SessionRow

_NOT_FINAL = ("failed", "cancelled", "started")
_TRIES = 3  # failed reflections of one interaction before it is given up


class ReflectionQueue:
    """Interactions whose reflection is still to be made, and what became of the others'."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_reflection(
        self, session_id: str, interaction: int, *, status: str, author: str, spent: Spent, detail: str
    ) -> None:
        """Keep that an interaction was reflected upon, and how it went.

        It stays pending after "failed" (three times at most), "cancelled" and "started"; any other status is final.
        The request's price is counted by `SessionManager.record_request`, not here.

        Raises:
            BadInput: there is no such interaction.
        """
        took = usage_values(spent.usage, spent.cost)
        tried = {"status": status, "author": author, "detail": detail}
        with self._database.transaction() as db:
            note_reflection(db, ReflectionRow(session_id=session_id, interaction=interaction, **tried | took))

    def keep_draft(self, draft: Draft) -> None:
        """Keep what a model answered until it is applied; another answer of the same turn gives way."""
        known = values(draft, ("session_id", "interaction", "author", "failure"))
        with self._database.transaction() as db:
            drop_draft(db, draft.session_id, draft.interaction)
            db.add(DraftRow(**known, delta={"answer": draft.answer}, **usage_values(draft.usage, draft.cost)))

    def draft(self, session_id: str, interaction: int) -> Draft | None:
        """What a model answered that was not applied yet; None where there is none, or only an older version's."""
        with self._database.reading() as db:
            row = db.exec(_draft_of(session_id, interaction)).first()
            if row is None or "answer" not in (row.delta or {}):
                return None
            answer, used = str(row.delta["answer"]), usage_of(row)
            return Draft(session_id, interaction, answer, row.author, row.failure, used, row.cost)

    def pending(self, session_id: str | None = None) -> list[PendingReflection]:
        """Finished interactions that are still to be reflected upon, the oldest first; of one session, or of all."""
        of = () if session_id is None else (col(InteractionRow.session_id) == session_id,)
        return [PendingReflection(row.session_id, row.number) for row in self._pending(*of)]

    def waiting_in_project(self, session: Session) -> int:
        """How many finished interactions of all the project's sessions are still to be reflected upon."""
        return len(self._pending(col(SessionRow.project) == project_of(session)))

    def left_behind(self, session: Session) -> list[PendingReflection]:
        """What waits in the other sessions of a project whose programs have ended, the newest first."""
        others = (col(SessionRow.project) == project_of(session), col(InteractionRow.session_id) != session.id)
        found = [row for row in self._pending(*others) if not runs_elsewhere(row.pid)]
        return [PendingReflection(row.session_id, row.number) for row in reversed(found)]

    def _pending(self, *where: Any) -> Sequence[InteractionRow]:
        which = select(InteractionRow).join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
        which = which.where(col(InteractionRow.pending) == sqlmodel.true(), *where)
        with self._database.reading() as db:
            return db.exec(which.order_by(col(InteractionRow.id))).all()

    def spent(self, since: datetime | None = None, session_id: str | None = None) -> Spent:
        """What the requests of reflections took: from a moment on, in one session, or ever."""
        which = select(RequestRow).where(col(RequestRow.purpose) == "reflect")
        if since is not None:
            which = which.where(col(RequestRow.created_at) >= since)
        if session_id is not None:
            which = which.where(col(RequestRow.session_id) == session_id)
        with self._database.reading() as db:
            rows = db.exec(which).all()
        return sum((_took(row) for row in rows), Spent())

    def times(self, session_id: str, interaction: int) -> int:
        """How often an interaction was reflected on to the end."""
        with self._database.reading() as db:
            return _tries(db, session_id, interaction, col(ReflectionRow.status) == "done")

    def reflected(self, session_id: str, interaction: int) -> bool:
        """Whether the interaction's reflection is stored, so that there will be no other."""
        with self._database.reading() as db:
            return _tries(db, session_id, interaction, col(ReflectionRow.final) == sqlmodel.true()) > 0


def _took(row: RequestRow) -> Spent:
    """What one request took. One that used no token, because nobody answered, cost nothing."""
    usage = usage_of(row)
    return Spent(usage, row.cost if usage.total else row.cost or 0.0, 1)


def _tries(db: sqlmodel.Session, session_id: str, interaction: int, which: ColumnElement[bool]) -> int:
    of = (col(ReflectionRow.session_id) == session_id, col(ReflectionRow.interaction) == interaction)
    return db.exec(sqlmodel.select(func.count(col(ReflectionRow.id))).where(*of, which)).one()


def note_reflection(db: sqlmodel.Session, row: ReflectionRow) -> None:
    """Keep a try at learning, within a transaction. Raises BadInput when there is no such interaction."""
    row.final = row.status not in _NOT_FINAL
    turn = find_turn(db, row.session_id, row.interaction)
    if turn is None:
        raise BadInput(f"There is no interaction {row.interaction} in session {row.session_id} to reflect upon.")
    if row.status == "failed":
        failed = _tries(db, row.session_id, row.interaction, col(ReflectionRow.status) == "failed")
        row.final = failed + 1 >= _TRIES
    db.add(row)
    turn.pending = turn.pending and not row.final


def drop_draft(db: sqlmodel.Session, session_id: str, interaction: int) -> None:
    """Forget a draft, within a transaction."""
    row = db.exec(_draft_of(session_id, interaction)).first()
    if row is not None:
        db.delete(row)
        db.flush()


def _draft_of(session_id: str, interaction: int) -> SelectOfScalar[DraftRow]:
    return select(DraftRow).where(col(DraftRow.session_id) == session_id, col(DraftRow.interaction) == interaction)
