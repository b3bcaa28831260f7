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


def evidence_query(numbers: Iterable[int | None] | None) -> Any:
    """Build a query for the evidence on bullets (None: all), without that of undone deltas, oldest first."""
    which = select(EvidenceRow).order_by(col(EvidenceRow.id))
    if numbers is not None:
        which = which.where(_number_in(EvidenceRow.bullet, numbers))
    which = which.join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta), isouter=True)
    return which.where(col(DeltaRow.undone).is_not(True))


def _number_in(column: Any, numbers: Iterable[int | None]) -> ColumnElement[bool]:
    """Return an IN condition without SQLite's limit of 32,766 parameters."""
    return col(column).in_(
        text("SELECT value FROM json_each(:among)").bindparams(among=json.dumps([*numbers]))
    )


class Bullets:
    """The bullets in the transaction `db`."""

    def __init__(self, db: sqlmodel.Session) -> None:
        self._db = db
        self.changed: set[int] = db.info.setdefault(
            "changed", set()
        )  # in this transaction, also by the ORM

    def rows(self, names: Iterable[str], *where: Any) -> dict[str, BulletRow]:
        """Load the rows of bullets by id."""
        numbers = {number_of(name) for name in names}
        which = select(BulletRow).where(_number_in(BulletRow.number, numbers), *where)
        return {f"P-{row.number}": row for row in self._db.exec(which).all()} if numbers else {}

    def last_number(self) -> int:
        """Return the highest number ever used, 0 if there is none."""
        found = self._db.connection().exec_driver_sql(
            "SELECT seq FROM sqlite_sequence WHERE name = 'bullet'"
        )
        return int(found.scalar() or 0)

    def insert(self, new: Iterable[Bullet], session: Session) -> None:
        """Insert new bullets of a session."""
        place = {"session_id": session.id, "project": project_of(session)}
        rows = [place | values(one, ("number", *BulletRow.stored_fields())) for one in new]
        if rows:
            self._db.connection().execute(insert(BulletRow), rows)
            self.changed.update(row["number"] for row in rows)

    def add_verdicts(self, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
        """Insert the verdicts of a delta and count them."""
        rows = self.rows([verdict.bullet_id for verdict in verdicts])
        place: dict[str, Any] = values(delta, ("session_id", "interaction"))
        place |= {"delta": delta.number, "created_at": datetime.now(UTC)}
        names = ("source", "quote", "call_id", "kind", "tag", "effect")
        added = [
            EvidenceRow(bullet=number_of(one.bullet_id), **place, **values(one, names))
            for one in verdicts
            if one.bullet_id in rows
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

    def hold_back(self, names: Sequence[str]) -> None:
        """Note that the counts of these bullets kept them out of a turn, which lets old harm fade. Consecutive turns
        share one evidence row, whose quote counts them."""
        bullets = self.rows(names)
        last = sqlmodel.select(func.max(EvidenceRow.id)).where(col(EvidenceRow.kind) != "")
        last = last.where(
            _number_in(EvidenceRow.bullet, [bullet.number for bullet in bullets.values()])
        )
        which = select(EvidenceRow).where(
            col(EvidenceRow.id).in_(last.group_by(col(EvidenceRow.bullet)))
        )
        found = self._db.exec(which).all() if bullets else ()
        open_rows = {row.bullet: row for row in found if row.kind == HELD_BACK}
        fading = list[BulletRow]()
        for bullet in bullets.values():
            number = bullet.number or 0
            row = open_rows.get(number) or EvidenceRow(
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

    def recompute(self, rows: Collection[BulletRow]) -> None:
        """Count the evidence on bullets anew, read with one query. Evidence on an earlier text of a bullet does not
        count for its present one."""
        found: dict[int | None, list[EvidenceRow]] = {row.number: [] for row in rows}
        reworded = self._last_rewordings() if rows else {}
        for item in self._db.exec(evidence_query(found).where(col(EvidenceRow.kind) != "")).all():
            # counts that came with an imported text belong to no delta
            if (item.delta or 0) >= reworded.get(item.bullet, 0):
                found[item.bullet].append(item)
        for row in rows:
            _set_counts(row, Counts.of(found[row.number], row.vouched_at))

    def _last_rewordings(self) -> dict[int, int]:
        """Return the newest delta, without undone ones, that changed the text of a bullet, by the bullet's number."""
        which = select(DeltaRow).filter_by(undone=False).order_by(col(DeltaRow.number))
        ops = cast(col(DeltaRow.ops), Text)
        updates = which.where(ops.contains('"UPDATE"'), ops.contains('"content"'))
        return {
            number_of(op["bullet_id"]): row.number or 0
            for row in self._db.exec(updates).all()
            for op in row.ops
            if op["op"] == "UPDATE" and "content" in op.get("fields", {})
        }


@event.listens_for(BulletRow, "after_insert")
@event.listens_for(BulletRow, "after_update")
def _track_change(mapper: Any, connection: Any, row: BulletRow) -> None:
    if (db := object_session(row)) is not None:
        db.info.setdefault("changed", set()).add(row.number or 0)


def _set_counts(row: BulletRow, counts: Counts) -> None:
    row.judged = counts.judged
    row.helpful = counts.helpful
    row.harmful = counts.harmful
    row.neutral = counts.neutral
