"""What has been reflected upon and what still waits for it, over restarts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.playbook.mapping import project_of
from swecli.store.records import PendingReflection, Spent
from swecli.store.sessions.mapping import find_turn, runs_elsewhere
from swecli.store.sessions.queries import spent_by_purpose
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import ReflectionRow
from swecli.store.tables.sessions import InteractionRow, RequestRow, SessionRow

_NOT_FINAL = ("failed", "cancelled", "started")
_TRIES = 3  # failed reflections of one interaction before it is given up


class ReflectionQueue:
    """Interactions whose reflection is still to be made, and what became of the others'."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_reflection(self, session_id: str, interaction: int, status: str) -> None:
        """Keep that an interaction was reflected upon, and how it went.

        It stays pending after "failed" (three times at most), "cancelled" and "started"; any other status is final.

        Raises:
            BadInput: there is no such interaction.
        """
        with self._database.transaction() as db:
            note_reflection(db, session_id, interaction, status)

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

    def spent(self, since: datetime | None = None) -> Spent:
        """What the requests of reflections took: from a moment on, or ever."""
        of = (col(RequestRow.purpose) == "reflect", *(() if since is None else (col(RequestRow.created_at) >= since,)))
        with self._database.reading() as db:
            return spent_by_purpose(db, *of).get("reflect", Spent())

    def times(self, session_id: str, interaction: int) -> int:
        """How often an interaction was reflected on to the end."""
        with self._database.reading() as db:
            return _tries(db, session_id, interaction, col(ReflectionRow.status) == "done")

    def reflected(self, session_id: str, interaction: int) -> bool:
        """Whether the interaction's reflection is stored, so that there will be no other."""
        with self._database.reading() as db:
            return _tries(db, session_id, interaction, col(ReflectionRow.final) == sqlmodel.true()) > 0


def _tries(db: sqlmodel.Session, session_id: str, interaction: int, which: ColumnElement[bool]) -> int:
    of = (col(ReflectionRow.session_id) == session_id, col(ReflectionRow.interaction) == interaction)
    return db.exec(sqlmodel.select(func.count(col(ReflectionRow.id))).where(*of, which)).one()


def note_reflection(db: sqlmodel.Session, session_id: str, interaction: int, status: str) -> None:
    """Keep a try at learning, within a transaction. Raises BadInput when there is no such interaction."""
    turn = find_turn(db, session_id, interaction)
    if turn is None:
        raise BadInput(f"There is no interaction {interaction} in session {session_id} to reflect upon.")
    final = status not in _NOT_FINAL
    if status == "failed":
        final = _tries(db, session_id, interaction, col(ReflectionRow.status) == "failed") + 1 >= _TRIES
    db.add(ReflectionRow(session_id=session_id, interaction=interaction, status=status, final=final))
    turn.pending = turn.pending and not final
