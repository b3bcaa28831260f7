"""The bullets within a transaction: their rows, beliefs and counts, and the conditions for a session's scopes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, TextClause, cast, event, func, insert, text
from sqlalchemy.orm import object_session
from sqlmodel import col, select

from swecli.models.playbook import (
    FORGET,
    NEUTRAL,
    PRIORS,
    Belief,
    Bullet,
    Tag,
    Verdict,
    factors_of_counts,
    update_belief,
)
from swecli.models.session import Session
from swecli.store.journal.reader import APPLIES, BULLET, number_of, project_of
from swecli.store.journal.values import values
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow

_COUNTED: tuple[Tag, ...] = ("helpful", "harmful", "neutral")
_FADED = "faded"  # kind of an evidence row that counts the turns in which a bullet was held back


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
        rows = [
            place | values(one, ("number", *BULLET)) | {"belief": one.belief or None} for one in new
        ]
        if rows:
            self._db.connection().execute(insert(BulletRow), rows)
            self.changed.update(row["number"] for row in rows)

    def add_verdicts(self, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
        """Insert the verdicts of a delta and update the bullets' beliefs and counts."""
        rows, now = self.rows([verdict.bullet_id for verdict in verdicts]), datetime.now(UTC)
        place = values(delta, ("session_id", "interaction")) | {
            "delta": delta.number,
            "created_at": now,
        }
        for verdict in verdicts:
            if (bullet := rows.get(verdict.bullet_id)) is not None:
                _update_belief(bullet, verdict.factors, verdict.forget)
                setattr(bullet, verdict.tag, getattr(bullet, verdict.tag) + 1)
                given = values(
                    verdict,
                    ("source", "quote", "call_id", "kind", "tag", "factors", "forget", "effect"),
                )
                self._db.add(EvidenceRow(bullet=bullet.number or 0, **place, **given))
        self._db.flush()

    def fade(self, names: Sequence[str]) -> None:
        """Move the beliefs of bullets that were held back in a turn towards their priors. Consecutive turns share one
        evidence row, whose quote counts them."""
        bullets = self.rows(names)
        last = sqlmodel.select(func.max(EvidenceRow.id)).where(col(EvidenceRow.kind) != "")
        last = last.where(
            _number_in(EvidenceRow.bullet, [bullet.number for bullet in bullets.values()])
        )
        which = select(EvidenceRow).where(
            col(EvidenceRow.id).in_(last.group_by(col(EvidenceRow.bullet)))
        )
        fading = (
            {row.bullet: row for row in self._db.exec(which).all() if row.kind == _FADED}
            if bullets
            else {}
        )
        for bullet in bullets.values():
            row = fading.get(bullet.number or 0) or EvidenceRow(
                bullet=bullet.number or 0,
                source="held back",
                quote="0 turns",
                kind=_FADED,
                factors=NEUTRAL,
            )
            row.quote = f"{int(row.quote.split()[0]) + 1} turns"
            row.forget += (1 - row.forget) * FORGET
            _update_belief(bullet, NEUTRAL, FORGET)
            self._db.add(row)
        self._db.flush()

    def recompute(self, rows: Collection[BulletRow]) -> None:
        """Recompute the beliefs and counts of bullets from their evidence, read with one query. Evidence on an earlier
        text of a bullet does not count for its present one."""
        found: dict[int | None, list[EvidenceRow]] = {row.number: [] for row in rows}
        reworded = self._last_rewordings() if rows else {}
        for item in self._db.exec(evidence_query(found).where(col(EvidenceRow.kind) != "")).all():
            # counts that came with an imported text belong to no delta
            if (item.delta or 0) >= reworded.get(item.bullet, 0):
                found[item.bullet].append(item)
        for row in rows:
            _recompute(row, found[row.number])

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


def _update_belief(row: BulletRow, factors: Belief, forget: float) -> None:
    prior = _prior_of(row)
    row.belief = update_belief(tuple(row.belief or prior), prior, factors, forget)


def _prior_of(row: BulletRow) -> Belief:
    """Return the prior belief for a bullet's trust."""
    return PRIORS.get(row.trust, PRIORS["reasoning"])  # type: ignore[call-overload, no-any-return]


def _recompute(row: BulletRow, verdicts: Sequence[EvidenceRow]) -> None:
    prior = belief = _prior_of(row)
    counts: dict[str, int] = dict.fromkeys(_COUNTED, 0)
    for item in verdicts:
        factors, at = item.factors, item.created_at
        if (
            row.vouched_at is not None
            and item.tag == "harmful"
            and (at is None or at <= row.vouched_at)
        ):
            continue  # the user has restored the bullet since
        if item.kind == "before":
            counts |= dict(zip(_COUNTED, map(int, item.quote.split()), strict=False))
            if row.vouched_at is not None:
                counts["harmful"], factors = 0, factors_of_counts(counts["helpful"], 0)
        elif item.tag:
            counts[item.tag] += 1
        belief = update_belief(belief, prior, factors, item.forget)
    row.belief = belief if belief != prior else None
    for name, count in counts.items():
        setattr(row, name, count)
