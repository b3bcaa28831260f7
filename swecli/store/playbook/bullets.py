"""The bullets within a transaction: their rows and counts, and the conditions for a session's scopes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, TextClause, cast, event, insert, text
from sqlalchemy.orm import object_session
from sqlmodel import col, select

from swecli.models.playbook import Bullet, EffectCounts, Verdict
from swecli.models.session import Session
from swecli.store.journal.reader import APPLIES, number_of, project_of
from swecli.store.journal.values import values
from swecli.store.playbook.counts import IMPORTED, VERDICTS, count_effects
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow


def applies(session: Session) -> TextClause:
    """Return the condition for bullets in the session's scopes."""
    return text(APPLIES).bindparams(own=session.id, project=project_of(session))


def _verdicts_query(numbers: Iterable[int | None]) -> Any:
    """Build a query for the verdicts on bullets, without those of undone deltas, oldest first."""
    return (
        select(EvidenceRow)
        .join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta), isouter=True)
        .where(
            _number_in(EvidenceRow.bullet, numbers),
            col(DeltaRow.undone).is_not(True),
            col(EvidenceRow.kind).in_((*VERDICTS, IMPORTED)),
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

    def rows(self, bullet_ids: Iterable[str], *conditions: Any) -> dict[str, BulletRow]:
        """Load the rows of bullets by id."""
        numbers = {number_of(bullet_id) for bullet_id in bullet_ids}
        if not numbers:
            return {}
        query = select(BulletRow).where(_number_in(BulletRow.number, numbers), *conditions)
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
        """Insert the verdicts of a delta and count them. Only what was said before of the same exchange is read, so
        that the cost of a turn does not depend on the number of earlier ones."""
        rows = self.rows([verdict.bullet_id for verdict in verdicts])
        of_delta: dict[str, Any] = values(delta, ("session_id", "interaction"))
        of_delta |= {"delta": delta.number, "created_at": datetime.now(UTC)}
        names = ("source", "quote", "call_id", "kind", "tag", "effect")
        added = [
            EvidenceRow(bullet=number_of(verdict.bullet_id), **of_delta, **values(verdict, names))
            for verdict in verdicts
            if verdict.bullet_id in rows
        ]
        earlier = self._verdicts_on(
            [row.number for row in rows.values()],
            col(EvidenceRow.session_id) == delta.session_id,
            col(EvidenceRow.interaction) == delta.interaction,
        )
        self._db.add_all(added)
        self._db.flush()
        for row in rows.values():
            said_before = earlier[row.number]
            said_now = [item for item in added if item.bullet == row.number]
            before = count_effects(said_before, row.vouched_at)
            after = count_effects([*said_before, *said_now], row.vouched_at)
            row.helpful += after.helped - before.helped
            row.harmful += after.hurt + after.refuted - before.hurt - before.refuted
            row.neutral += after.neutral - before.neutral
        self._db.flush()

    def _verdicts_on(
        self, numbers: Iterable[int | None], *conditions: Any
    ) -> dict[int | None, list[EvidenceRow]]:
        """Return the verdicts on bullets by their numbers, without those of undone deltas, oldest first."""
        verdicts: dict[int | None, list[EvidenceRow]] = {number: [] for number in numbers}
        if verdicts:
            for item in self._db.exec(_verdicts_query(verdicts).where(*conditions)).all():
                verdicts[item.bullet].append(item)
        return verdicts

    def recompute(self, rows: Collection[BulletRow]) -> None:
        """Count the verdicts on bullets anew."""
        effects = self.effects(rows)
        for row in rows:
            counts = effects[f"P-{row.number}"]
            row.helpful = counts.helped
            row.harmful = counts.hurt + counts.refuted
            row.neutral = counts.neutral

    def effects(self, rows: Collection[BulletRow]) -> dict[str, EffectCounts]:
        """Return what the verdicts on bullets count, by id, read with one query. Those on an earlier text of a bullet
        do not count for its present one."""
        rewordings = self._last_rewordings() if rows else {}
        verdicts = self._verdicts_on(row.number for row in rows)
        effects = dict[str, EffectCounts]()
        for row in rows:
            # counts that came with an imported text belong to no delta
            reworded = rewordings.get(row.number or 0, -1)
            present = [item for item in verdicts[row.number] if (item.delta or 0) > reworded]
            effects[f"P-{row.number}"] = count_effects(present, row.vouched_at)
        return effects

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
