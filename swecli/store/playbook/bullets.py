"""The bullets within a transaction: their rows and counts, and the conditions for a session's scopes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, TextClause, cast, event, func, insert, text
from sqlalchemy.orm import object_session
from sqlmodel import col, select

from swecli.models.playbook import Bullet, Verdict
from swecli.models.session import Session
from swecli.store.journal.reader import APPLIES, number_of, project_of
from swecli.store.journal.values import values
from swecli.store.playbook.counts import HELD_BACK, NEWEST, Counts, exchange_of, turns_of
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow


def applies(session: Session) -> TextClause:
    """Return the condition for bullets in the session's scopes."""
    return text(APPLIES).bindparams(own=session.id, project=project_of(session))


def _verdicts_on(numbers: Iterable[int | None]) -> Any:
    """Build a query for the verdicts on bullets, without those of undone deltas, oldest first."""
    return (
        select(EvidenceRow)
        .join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta), isouter=True)
        .where(
            _number_in(EvidenceRow.bullet, numbers),
            col(DeltaRow.undone).is_not(True),
            col(EvidenceRow.kind) != "",
        )
        .order_by(col(EvidenceRow.id))
    )


def _number_in(column: Any, numbers: Iterable[int | None]) -> ColumnElement[bool]:
    """Return an IN condition without SQLite's limit of 32,766 parameters."""
    listed = text("SELECT value FROM json_each(:numbers)")
    return col(column).in_(listed.bindparams(numbers=json.dumps([*numbers])))


class Bullets:
    """The bullets in the transaction `db`."""

    def __init__(self, db: sqlmodel.Session) -> None:
        self._db = db
        # the numbers of those that this transaction changed, also by the ORM
        self.changed: set[int] = db.info.setdefault("changed", set())

    def rows(self, bullet_ids: Iterable[str], *where: Any) -> dict[str, BulletRow]:
        """Load the rows of bullets by id."""
        numbers = {number_of(bullet_id) for bullet_id in bullet_ids}
        if not numbers:
            return {}
        query = select(BulletRow).where(_number_in(BulletRow.number, numbers), *where)
        return {f"P-{row.number}": row for row in self._db.exec(query).all()}

    def last_number(self) -> int:
        """Return the highest number ever used, 0 if there is none."""
        sequence = self._db.connection().exec_driver_sql(
            "SELECT seq FROM sqlite_sequence WHERE name = 'bullet'"
        )
        return int(sequence.scalar() or 0)

    def insert(self, bullets: Iterable[Bullet], session: Session) -> None:
        """Insert new bullets of a session."""
        owner = {"session_id": session.id, "project": project_of(session)}
        names = ("number", *BulletRow.stored_fields())
        rows = [owner | values(bullet, names) for bullet in bullets]
        if rows:
            self._db.connection().execute(insert(BulletRow), rows)
            self.changed.update(row["number"] for row in rows)

    def add_verdicts(self, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
        """Insert the verdicts of a delta and count them."""
        rows = self.rows([verdict.bullet_id for verdict in verdicts])
        of_delta: dict[str, Any] = values(delta, ("session_id", "interaction"))
        of_delta |= {"delta": delta.number, "created_at": datetime.now(UTC)}
        names = ("source", "quote", "call_id", "kind", "tag", "effect")
        added = [
            EvidenceRow(bullet=number_of(verdict.bullet_id), **of_delta, **values(verdict, names))
            for verdict in verdicts
            if verdict.bullet_id in rows
        ]
        self._db.add_all(added)
        self._db.flush()
        for item in added:
            bullet = rows[f"P-{item.bullet}"]
            if bullet.judged is not None:
                counts = Counts(dict(bullet.judged), bullet.neutral)
                counts.add(exchange_of(item), item.tag)
                _set_counts(bullet, counts)
        self.recompute([bullet for bullet in rows.values() if bullet.judged is None])
        self._db.flush()

    def hold_back(self, bullet_ids: Sequence[str]) -> None:
        """Note that the counts of these bullets kept them out of a turn, which lets old harm fade. Consecutive turns
        share one evidence row, whose quote counts them: "12 turns"."""
        bullets = self.rows(bullet_ids)
        last_verdicts = self._last_verdicts([bullet.number for bullet in bullets.values()])
        fading: list[BulletRow] = []
        for bullet in bullets.values():
            number = bullet.number or 0
            row = last_verdicts.get(number)
            if row is None or row.kind != HELD_BACK:
                row = EvidenceRow(
                    bullet=number, source="held back", quote="0 turns", kind=HELD_BACK
                )
            turns = turns_of(row) + 1
            row.quote = f"{turns} turns"
            self._db.add(row)
            if turns % NEWEST == 0:
                fading.append(bullet)
        self._db.flush()
        self.recompute(fading)
        self._db.flush()

    def _last_verdicts(self, numbers: Iterable[int | None]) -> dict[int, EvidenceRow]:
        """Return the newest row of verdicts, or of turns that held it back, of each of these bullets."""
        newest = (
            sqlmodel.select(func.max(EvidenceRow.id))
            .where(col(EvidenceRow.kind) != "", _number_in(EvidenceRow.bullet, numbers))
            .group_by(col(EvidenceRow.bullet))
        )
        query = select(EvidenceRow).where(col(EvidenceRow.id).in_(newest))
        return {row.bullet: row for row in self._db.exec(query).all()}

    def recompute(self, rows: Collection[BulletRow]) -> None:
        """Count the verdicts on bullets anew, read with one query. Those on an earlier text of a bullet do not count
        for its present one."""
        verdicts: dict[int | None, list[EvidenceRow]] = {row.number: [] for row in rows}
        rewordings = self._last_rewordings() if rows else {}
        for item in self._db.exec(_verdicts_on(verdicts)).all():
            reworded = rewordings.get(item.bullet)
            # counts that came with an imported text belong to no delta
            if reworded is None or (item.delta or 0) > reworded:
                verdicts[item.bullet].append(item)
        for row in rows:
            _set_counts(row, Counts.of(verdicts[row.number], row.vouched_at))

    def _last_rewordings(self) -> dict[int, int]:
        """Return the newest delta, without undone ones, that changed the text of a bullet, by the bullet's number."""
        ops = cast(col(DeltaRow.ops), Text)
        updates = (
            select(DeltaRow)
            .filter_by(undone=False)
            .where(ops.contains('"UPDATE"'), ops.contains('"content"'))
            .order_by(col(DeltaRow.number))
        )
        newest: dict[int, int] = {}
        for row in self._db.exec(updates).all():
            for op in row.ops:
                if op["op"] == "UPDATE" and "content" in op.get("fields", {}):
                    newest[number_of(op["bullet_id"])] = row.number or 0
        return newest


@event.listens_for(BulletRow, "after_insert")
@event.listens_for(BulletRow, "after_update")
def _track_change(mapper: Any, connection: Any, row: BulletRow) -> None:
    db = object_session(row)
    if db is not None:
        db.info.setdefault("changed", set()).add(row.number or 0)


def _set_counts(row: BulletRow, counts: Counts) -> None:
    row.judged = counts.judged
    row.helpful = counts.helpful
    row.harmful = counts.harmful
    row.neutral = counts.neutral
