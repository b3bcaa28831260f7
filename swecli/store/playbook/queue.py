"""What has been reflected upon and what still waits for it, over restarts."""

from __future__ import annotations

from datetime import datetime

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from swecli.models.errors import BadInput
from swecli.models.message import Usage
from swecli.models.session import Session
from swecli.store.playbook.scope import project_of
from swecli.store.records import Draft, PendingReflection, Spent
from swecli.store.sessions.reading import runs_elsewhere
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import DraftRow, ReflectionRow
from swecli.store.tables.sessions import InteractionRow, RequestRow, SessionRow, UsageColumns

NOT_FINAL = ("failed", "cancelled", "started")
TRIES = 3  # failed reflections of one interaction before it is given up


class ReflectionQueue:
    """Interactions whose reflection is still to be made, and what became of the others'."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_reflection(
        self,
        session_id: str,
        interaction: int,
        *,
        status: str,
        author: str,
        usage: Usage,
        cost: float | None,
        detail: str,
    ) -> None:
        """Keep that an interaction was reflected upon, and how it went.

        It stays pending after "failed" (three times at most), "cancelled" and "started"; any other status is final.
        The request's price is counted by `SessionManager.record_request`, not here.

        Raises:
            BadInput: there is no such interaction.
        """
        row = ReflectionRow(session_id=session_id, interaction=interaction, status=status, author=author, detail=detail)
        fill_usage(row, usage, cost)
        with self._database.transaction() as db:
            note_reflection(db, row)

    def keep_draft(self, draft: Draft) -> None:
        """Keep what a model answered until it is applied; another answer of the same turn gives way."""
        row = DraftRow(session_id=draft.session_id, interaction=draft.interaction, author=draft.author)
        row.delta, row.failure = {"answer": draft.answer}, draft.failure
        fill_usage(row, draft.usage, draft.cost)
        with self._database.transaction() as db:
            drop_draft(db, draft.session_id, draft.interaction)
            db.add(row)

    def draft(self, session_id: str, interaction: int) -> Draft | None:
        """What a model answered that was not applied yet; None where there is none, or only an older version's."""
        with self._database.reading() as db:
            row = db.exec(_draft_of(session_id, interaction)).first()
            if row is None or "answer" not in (row.delta or {}):
                return None
            answer, used = str(row.delta["answer"]), _usage(row)
            return Draft(session_id, interaction, answer, row.author, row.failure, used, row.cost)

    def pending(self, session_id: str | None = None) -> list[PendingReflection]:
        """Finished interactions that are still to be reflected upon, the oldest first; of one session, or of all."""
        which = select(InteractionRow).where(col(InteractionRow.pending) == sqlmodel.true())
        if session_id is not None:
            which = which.where(col(InteractionRow.session_id) == session_id)
        with self._database.reading() as db:
            rows = db.exec(which.order_by(col(InteractionRow.id))).all()
            return [PendingReflection(row.session_id, row.number) for row in rows]

    def waiting_in_project(self, session: Session) -> int:
        """How many finished interactions of all the project's sessions are still to be reflected upon."""
        rows = (
            sqlmodel.select(func.count())
            .select_from(InteractionRow)
            .join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
            .where(col(InteractionRow.pending) == sqlmodel.true(), col(SessionRow.project) == project_of(session))
        )
        with self._database.reading() as db:
            return db.exec(rows).one()

    def left_behind(self, session: Session) -> list[PendingReflection]:
        """What waits in the other sessions of a project whose programs have ended, the newest first."""
        rows = (
            select(InteractionRow)
            .join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
            .where(col(InteractionRow.pending) == sqlmodel.true(), col(SessionRow.project) == project_of(session))
            .where(col(InteractionRow.session_id) != session.id)
        )
        with self._database.reading() as db:
            found = db.exec(rows.order_by(col(InteractionRow.id).desc())).all()
            return [PendingReflection(row.session_id, row.number) for row in found if not runs_elsewhere(row.pid)]

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
        which = (
            sqlmodel.select(func.count())
            .select_from(ReflectionRow)
            .where(
                col(ReflectionRow.session_id) == session_id,
                col(ReflectionRow.interaction) == interaction,
                col(ReflectionRow.status) == "done",
            )
        )
        with self._database.reading() as db:
            return db.exec(which).one()

    def reflected(self, session_id: str, interaction: int) -> bool:
        """Whether the interaction's reflection is stored, so that there will be no other."""
        which = select(ReflectionRow.id).where(
            col(ReflectionRow.session_id) == session_id,
            col(ReflectionRow.interaction) == interaction,
            col(ReflectionRow.final) == sqlmodel.true(),
        )
        with self._database.reading() as db:
            return db.exec(which.limit(1)).first() is not None


def _took(row: RequestRow) -> Spent:
    """What one request took. One that used no token, because nobody answered, cost nothing."""
    usage = _usage(row)
    return Spent(usage, row.cost if usage.total else row.cost or 0.0, 1)


def _failures(db: sqlmodel.Session, session_id: str, interaction: int) -> int:
    which = sqlmodel.select(func.count()).where(
        col(ReflectionRow.session_id) == session_id,
        col(ReflectionRow.interaction) == interaction,
        col(ReflectionRow.status) == "failed",
    )
    return db.exec(which.select_from(ReflectionRow)).one()


def fill_usage(row: UsageColumns, usage: Usage, cost: float | None) -> None:
    """Write what requests took into a row."""
    row.input, row.cache_read, row.cache_write = usage.input, usage.cache_read, usage.cache_write
    row.output, row.reasoning, row.cost = usage.output, usage.reasoning, cost


def note_reflection(db: sqlmodel.Session, row: ReflectionRow) -> None:
    """Keep a try at learning, within a transaction. Raises BadInput when there is no such interaction."""
    row.final = row.status not in NOT_FINAL
    of = (col(InteractionRow.session_id) == row.session_id, col(InteractionRow.number) == row.interaction)
    turn = db.exec(select(InteractionRow).where(*of)).first()
    if turn is None:
        raise BadInput(f"There is no interaction {row.interaction} in session {row.session_id} to reflect upon.")
    if row.status == "failed":
        row.final = _failures(db, row.session_id, row.interaction) + 1 >= TRIES
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


def _usage(row: UsageColumns) -> Usage:
    return Usage(row.input, row.cache_read, row.cache_write, row.output, row.reasoning)
