"""What each turn says about the strategies in it: how it went, what was called wrong, and what was withheld."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import and_
from sqlmodel import col, select

from swecli.models.session import Session
from swecli.store.playbook_scope import project_of
from swecli.store.playbook_standing import forget
from swecli.store.playbook_tables import ChoiceRow, SwitchRow, TurnRow
from swecli.store.records import TurnRecord
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import InteractionRow, SessionRow

_KEPT = ("good", "weight", "signal", "topic", "contradicted", "unknown", "errors", "ablation", "withheld", "seed")


class TurnRecords:
    """One record a turn, filled as more becomes known of it; and the switch that keeps the playbook out of prompts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, session_id: str, interaction: int, **known: Any) -> None:
        """Keep what is known of a turn now; what is not named stays as it was.

        Args:
            known: any of good, weight, signal, topic, contradicted, unknown, errors, ablation, withheld, seed.
        """
        with self._database.transaction() as db:
            note_turn(db, session_id, interaction, **known)

    def judge(self, session_id: str, interaction: int, good: bool | None, weight: float, signal: str) -> None:
        """Keep how a turn went, unless something surer told it before; None says nothing and changes nothing."""
        if good is None:
            return
        with self._database.transaction() as db:
            if turn_row(db, session_id, interaction).weight <= weight:
                note_turn(db, session_id, interaction, good=good, weight=weight, signal=signal)

    def of(self, session_id: str, interaction: int) -> TurnRecord | None:
        """The record of one turn; None while nothing is known of it."""
        found = self._records(col(TurnRow.session_id) == session_id, col(TurnRow.interaction) == interaction)
        return found[0] if found else None

    def choice(self, session_id: str, interaction: int) -> dict[str, Any] | None:
        """How a turn's strategies were chosen, as it was kept; None for a turn that did not finish, or an older one."""
        with self._database.reading() as db:
            row = db.get(ChoiceRow, (session_id, interaction))
            return None if row is None else dict(row.choice)

    def here(self, session: Session) -> list[TurnRecord]:
        """The records of all turns of a session's project, the oldest first; a turn and its copies in forks are one."""
        return self._records(col(SessionRow.project) == project_of(session))

    def _records(self, *where: Any) -> list[TurnRecord]:
        same_turn = and_(
            col(InteractionRow.session_id) == col(TurnRow.session_id),
            col(InteractionRow.number) == col(TurnRow.interaction),
        )
        which = sqlmodel.select(TurnRow, InteractionRow).join(InteractionRow, same_turn)
        which = which.join(SessionRow, col(SessionRow.id) == col(TurnRow.session_id)).where(*where)
        with self._database.reading() as db:
            found = db.exec(which.order_by(col(InteractionRow.id))).all()
            once: dict[tuple[int, datetime], TurnRecord] = {}
            for row, turn in found:
                once.setdefault((turn.number, turn.started_at), _record(row, turn))
            return list(once.values())

    def switch(self, session: Session, *, off: bool) -> None:
        """Keep the playbook out of the prompts of a session's project, or let it in again."""
        with self._database.transaction() as db:
            row = db.get(SwitchRow, project_of(session))
            if row is None and off:
                db.add(SwitchRow(project=project_of(session)))
            elif row is not None and not off:
                db.delete(row)
        session.playbook.off = off


def note_turn(db: sqlmodel.Session, session_id: str, interaction: int, **known: Any) -> None:
    """See `TurnRecords.note`; within a transaction."""
    row = turn_row(db, session_id, interaction)
    for name, value in known.items():
        assert name in _KEPT, name
        setattr(row, name, list(value) if isinstance(value, (tuple, frozenset)) else value)
    db.add(row)
    forget(db, session_id, interaction)


def turn_row(db: sqlmodel.Session, session_id: str, interaction: int) -> TurnRow:
    """A turn's row, a new one while nothing is known of it."""
    which = select(TurnRow).where(col(TurnRow.session_id) == session_id, col(TurnRow.interaction) == interaction)
    return db.exec(which).first() or TurnRow(session_id=session_id, interaction=interaction)


def _record(row: TurnRow, turn: InteractionRow) -> TurnRecord:
    def ids(value: Sequence[str] | None) -> tuple[str, ...]:
        return tuple(value or ())

    return TurnRecord(
        session_id=row.session_id,
        interaction=row.interaction,
        shown=ids(turn.shown),
        cited=ids(turn.cited),
        good=row.good,
        weight=row.weight,
        signal=row.signal,
        topic=row.topic,
        contradicted=ids(row.contradicted),
        unknown=ids(row.unknown),
        errors=row.errors,
        ablation=row.ablation,
        withheld=ids(row.withheld),
        seed=row.seed,
    )
