"""Records of turns (outcome, mark), results of check commands, and the queue of reflections."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import and_, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.playbook.bullets import project_of
from swecli.store.records import CheckResult, StoredTurn, UsageTotals
from swecli.store.sqlite.database import Database, reader
from swecli.store.tables.columns import values
from swecli.store.tables.learned import (
    CheckRow,
    ChoiceRow,
    DeltaRow,
    EvidenceRow,
    ReflectionRow,
    TurnRow,
)
from swecli.store.tables.sessions import InteractionRow, SessionRow

_MAX_CHECKS = 200  # commands whose last result is compared with
_OF_ROW = ("topic", "good", "weight", "signal", "reason", "judged", "judged_why")
_TRIES = 3  # failed reflections of one interaction before it is given up


class TurnRecords:
    """The records of turns, and the persistent queue of interactions that are pending reflection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def turn(self, session_id: str, interaction: int) -> StoredTurn | None:
        """Return the record of a turn, or None if it is not stored."""
        theirs = (
            col(InteractionRow.session_id) == session_id,
            col(InteractionRow.number) == interaction,
        )
        return next(iter(self._records(*theirs)), None)

    def choice(self, session_id: str, interaction: int) -> dict[str, Any] | None:
        """Return a turn's stored selection as JSON; None for an unfinished turn or one of an older version."""
        with self._database.reading() as db:
            row = db.get(ChoiceRow, (session_id, interaction))
            return None if row is None else dict(row.choice)

    def project_turns(self, session: Session) -> list[StoredTurn]:
        """Return the records of a project's turns that were reflected on, oldest first; copies of a turn in forks count
        once."""
        records = self._records(
            col(SessionRow.project) == project_of(session), col(TurnRow.id).is_not(None)
        )
        once: dict[tuple[int, datetime | None], StoredTurn] = {}
        for record in records:
            once.setdefault((record.interaction, record.started_at), record)
        return list(once.values())

    def _records(self, *where: Any) -> list[StoredTurn]:
        same_turn = and_(
            col(InteractionRow.session_id) == col(TurnRow.session_id),
            col(InteractionRow.number) == col(TurnRow.interaction),
        )
        which = sqlmodel.select(InteractionRow, TurnRow).join(TurnRow, same_turn, isouter=True)
        which = which.join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id)).where(
            *where
        )
        return [
            _to_record(*rows)
            for rows in self._database.rows(which.order_by(col(InteractionRow.id)))
        ]

    def verdicts_on(self, session_id: str, interaction: int) -> set[tuple[str, str]]:
        """Return the (bullet id, "outcome" or "tag") of a turn's verdicts, without undone ones."""
        which = sqlmodel.select(EvidenceRow.bullet, EvidenceRow.kind)
        which = which.where(col(EvidenceRow.kind) != "").filter_by(
            session_id=session_id, interaction=interaction
        )
        which = which.join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta)).filter_by(
            undone=False
        )
        return {(f"P-{bullet}", kind) for bullet, kind in self._database.rows(which)}

    def checks(self, session: Session) -> dict[str, CheckResult]:
        """Return the last results of the check commands in the session's project, by command, without those of undone
        turns and of commands that did not run for long."""
        theirs = {"project": project_of(session), "undone_by": 0}
        newest = sqlmodel.select(func.max(CheckRow.id)).filter_by(**theirs)
        newest = newest.group_by(col(CheckRow.command))
        which = select(CheckRow).where(col(CheckRow.id).in_(newest))
        rows = self._database.rows(which.order_by(col(CheckRow.id).desc()).limit(_MAX_CHECKS))
        return {row.command: CheckResult(row.passed, tuple(row.failing or ())) for row in rows}

    def skip(self, session_id: str, interaction: int) -> None:
        """Remove an interaction from the queue without a reflection. Raises BadInput if it does not exist."""
        with self._database.transaction() as db:
            self._record_attempt(db, session_id, interaction, "skipped")

    def pending(self, session_id: str | None = None) -> list[StoredTurn]:
        """Return the pending interactions of one session, or of all, oldest first."""
        of = () if session_id is None else (col(InteractionRow.session_id) == session_id,)
        return [StoredTurn(row.session_id, row.number) for row in self._pending(*of)]

    def pending_elsewhere(self, session: Session) -> list[StoredTurn]:
        """Return the pending interactions of the project's other sessions that no process has open, newest first."""
        others = (
            col(SessionRow.project) == project_of(session),
            col(InteractionRow.session_id) != session.id,
        )
        found = [row for row in self._pending(*others) if not row.is_running_elsewhere]
        return [StoredTurn(row.session_id, row.number) for row in reversed(found)]

    def _pending(self, *where: Any) -> Sequence[InteractionRow]:
        which = select(InteractionRow).filter_by(pending=True).order_by(col(InteractionRow.id))
        which = which.join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
        return self._database.rows(which.where(*where))

    def reflection_cost(self) -> UsageTotals:
        """Return the tokens and cost of all reflections."""
        with self._database.reading() as db:
            return reader(db).totals().by_purpose.get("reflect", UsageTotals())

    def count_reflections(self, session_id: str, interaction: int) -> int:
        """Count the completed reflections on an interaction."""
        with self._database.reading() as db:
            return _count_attempts(db, session_id, interaction, "done")

    @staticmethod
    def _record_attempt(
        db: sqlmodel.Session, session_id: str, interaction: int, status: str
    ) -> None:
        """Record a reflection; the interaction stays pending after the first two "failed". Raises BadInput if it does
        not exist."""
        turn = InteractionRow.find(db, session_id, interaction)
        if turn is None:
            raise BadInput(f"There is no interaction {interaction} in session {session_id}.")
        final = (
            status != "failed"
            or _count_attempts(db, session_id, interaction, "failed") + 1 >= _TRIES
        )
        db.add(
            ReflectionRow(
                session_id=session_id, interaction=interaction, status=status, final=final
            )
        )
        turn.pending = turn.pending and not final


def _to_record(turn: InteractionRow, row: TurnRow | None) -> StoredTurn:
    result: dict[str, Any] = values(row, _OF_ROW) if row else {}
    result |= {"shown": tuple(turn.shown or ()), "cited": tuple(turn.cited or ())}
    result |= values(turn, ("status", "mark", "why", "started_at"))
    return StoredTurn(turn.session_id, turn.number, **result)


def _count_attempts(db: sqlmodel.Session, session_id: str, interaction: int, status: str) -> int:
    of = {"session_id": session_id, "interaction": interaction, "status": status}
    return db.exec(sqlmodel.select(func.count(col(ReflectionRow.id))).filter_by(**of)).one()
