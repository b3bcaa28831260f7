"""Playbook rows: conversion to models, recomputation of beliefs, and queries limited to a session's scopes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, TextClause, and_, event, false, func, or_, text
from sqlalchemy.orm import object_session
from sqlmodel import col, select

from swecli.models.playbook import (
    FORGET,
    PRIORS,
    AppliedDelta,
    Belief,
    Bullet,
    Delta,
    Evidence,
    Op,
    SessionPlaybook,
    Tag,
    Verdict,
    factors_of_counts,
    update_belief,
)
from swecli.models.session import Session
from swecli.store.reading import APPLIES, BULLET, TIMES, playbook_version, read_bullets
from swecli.store.sqlite.database import driver
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.learned import BulletRow, DeltaRow, EvidenceRow

EVIDENCE = shared(Evidence, EvidenceRow)
DELTA = shared(Delta, DeltaRow, "ops", "refused")
_COUNTED: tuple[Tag, ...] = ("helpful", "harmful", "neutral")
_DERIVED = ("belief", *_COUNTED, "uses", "last_used", "verified_at", "stale")  # not restored by undo
_FADED = "faded"  # kind of an evidence row that counts the turns in which a bullet was held back
_NEUTRAL = (1.0, 1.0, 1.0)  # factors that leave a belief unchanged


def number_of(bullet_id: str) -> int:
    """Parse the number of a bullet's id; 0, which no bullet has, if the id is invalid."""
    digits = bullet_id.removeprefix("P-")
    return int(digits) if bullet_id.startswith("P-") and digits.isdecimal() and len(digits) < 19 else 0


def _number_in(column: Any, numbers: Iterable[int | None]) -> ColumnElement[bool]:
    """Return an IN condition without SQLite's limit of 32,766 parameters."""
    return col(column).in_(text("SELECT value FROM json_each(:among)").bindparams(among=json.dumps([*numbers])))


def bullet_rows(db: sqlmodel.Session, names: Iterable[str], *where: Any) -> dict[str, BulletRow]:
    """Load the rows of bullets by id, within a transaction."""
    numbers = {number_of(name) for name in names}
    which = select(BulletRow).where(_number_in(BulletRow.number, numbers), *where)
    return {f"P-{row.number}": row for row in db.exec(which).all()} if numbers else {}


def to_bullet(row: Any) -> Bullet:
    """Convert a row to a bullet."""
    tuples = {"anchors": tuple(row.anchors or ()), "belief": tuple(row.belief or ())}
    return Bullet(id=f"P-{row.number}", **values(row, BULLET) | tuples)


def column_values(bullet: Bullet) -> dict[str, Any]:
    """Return a bullet's column values, without number, session and project."""
    return values(bullet, BULLET) | {"belief": bullet.belief or None}


def snapshot(row: BulletRow) -> dict[str, Any]:
    """Return a row as JSON for `restore_row`, without the derived columns."""
    whole = to_bullet(row).to_json() | {"session_id": row.session_id, "project": row.project}
    return {name: value for name, value in whole.items() if name not in _DERIVED}


def restore_row(db: sqlmodel.Session, row: BulletRow | None, value: Mapping[str, Any]) -> None:
    """Write a snapshot into its row, or a new row if it is missing; derived columns keep their values."""
    row = row or BulletRow(number=number_of(value["id"]), content=value["content"])
    for name in (*BULLET, "session_id", "project"):
        if name in value and name not in _DERIVED:  # a snapshot of an older version may differ in its fields
            setattr(row, name, datetime.fromisoformat(value[name]) if name in TIMES and value[name] else value[name])
    db.add(row)


def parse_ops(row: DeltaRow) -> tuple[Op, ...]:
    """Parse the operations of a delta's row."""
    found = []
    for op in row.ops:
        fields = {n: tuple(item) if isinstance(item, list) else item for n, item in op.get("fields", {}).items()}
        found.append(Op(op["op"], op.get("bullet_id", ""), fields, tuple(map(_evidence, op.get("evidence", ())))))
    return tuple(found)


def _evidence(value: Mapping[str, Any]) -> Evidence:
    at = value.get("created_at")
    return Evidence(**{**value, "created_at": datetime.fromisoformat(at) if at else None})


def applied_delta(row: DeltaRow) -> AppliedDelta:
    """Convert a row to a delta, without verdicts."""
    delta = Delta(ops=parse_ops(row), refused=tuple(row.refused), **values(row, DELTA))
    return AppliedDelta(delta, tuple(row.before), tuple(row.added), row.undone)


def add_verdicts(db: sqlmodel.Session, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
    """Insert the verdicts of a delta and update the bullets' beliefs and counts, within a transaction."""
    rows, now = bullet_rows(db, [verdict.bullet_id for verdict in verdicts]), datetime.now(UTC)
    place = values(delta, ("session_id", "interaction")) | {"delta": delta.number, "created_at": now}
    for verdict in verdicts:
        if (bullet := rows.get(verdict.bullet_id)) is not None:
            _update_belief(bullet, verdict.factors, verdict.forget)
            setattr(bullet, verdict.tag, getattr(bullet, verdict.tag) + 1)
            given = values(verdict, ("source", "quote", "call_id", "kind", "tag", "factors", "forget"))
            db.add(EvidenceRow(bullet=bullet.number or 0, **place, **given))
    db.flush()


def fade_held_back(db: sqlmodel.Session, names: Sequence[str]) -> None:
    """Move the beliefs of bullets that were held back in a turn towards their priors, within a transaction. Consecutive
    turns share one evidence row, whose quote counts them."""
    bullets = bullet_rows(db, names)
    last = sqlmodel.select(func.max(EvidenceRow.id)).where(col(EvidenceRow.kind) != "")
    last = last.where(_number_in(EvidenceRow.bullet, [bullet.number for bullet in bullets.values()]))
    which = select(EvidenceRow).where(col(EvidenceRow.id).in_(last.group_by(col(EvidenceRow.bullet))))
    fading = {row.bullet: row for row in db.exec(which).all() if row.kind == _FADED} if bullets else {}
    for bullet in bullets.values():
        row = fading.get(bullet.number or 0) or EvidenceRow(
            bullet=bullet.number or 0, source="held back", quote="0 turns", kind=_FADED, factors=_NEUTRAL
        )
        row.quote = f"{int(row.quote.split()[0]) + 1} turns"
        row.forget += (1 - row.forget) * FORGET
        _update_belief(bullet, _NEUTRAL, FORGET)
        db.add(row)
    db.flush()


def _update_belief(row: BulletRow, factors: Belief, forget: float) -> None:
    prior = _prior_of(row)
    row.belief = update_belief(tuple(row.belief or prior), prior, factors, forget)


def _prior_of(row: BulletRow) -> Belief:
    """Return the prior belief for a bullet's trust."""
    return PRIORS.get(row.trust, PRIORS["reasoning"])  # type: ignore[call-overload, no-any-return]


def evidence_query(numbers: Iterable[int | None]) -> Any:
    """Build a query for the evidence on bullets, without that of undone deltas, oldest first."""
    which = select(EvidenceRow).where(_number_in(EvidenceRow.bullet, numbers)).order_by(col(EvidenceRow.id))
    which = which.join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta), isouter=True)
    return which.where(col(DeltaRow.undone).is_not(True))


def recompute(db: sqlmodel.Session, rows: Collection[BulletRow]) -> None:
    """Recompute the beliefs and counts of bullets from their evidence, read with one query."""
    found: dict[int | None, list[EvidenceRow]] = {row.number: [] for row in rows}
    for item in db.exec(evidence_query(found).where(col(EvidenceRow.kind) != "")).all():
        found[item.bullet].append(item)
    for row in rows:
        _recompute(row, found[row.number])


def _recompute(row: BulletRow, verdicts: Sequence[EvidenceRow]) -> None:
    prior = belief = _prior_of(row)
    counts: dict[str, int] = dict.fromkeys(_COUNTED, 0)
    for item in verdicts:
        factors, at = item.factors, item.created_at
        if row.vouched_at is not None and item.tag == "harmful" and (at is None or at <= row.vouched_at):
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


def project_of(session: Session) -> str:
    """Return the key of a session's project; its working directory if it has no project."""
    return clean_text(session.project or session.working_directory)


def applies(session: Session) -> TextClause:
    """Return the condition for bullets in the session's scopes."""
    return text(APPLIES).bindparams(own=session.id, project=project_of(session))


def is_undoable(session: Session) -> ColumnElement[bool]:
    """Return the condition for deltas made in the session, or in its project with project or user scope."""
    own = col(DeltaRow.session_id) == session.id if session.id else false()  # an unsaved session owns nothing
    wide = col(DeltaRow.reach).in_(("project", "user"))
    return and_(col(DeltaRow.project) == project_of(session), or_(own, wide))


@event.listens_for(BulletRow, "after_insert")
@event.listens_for(BulletRow, "after_update")
def _track_change(mapper: Any, connection: Any, row: BulletRow) -> None:
    if (db := object_session(row)) is not None:
        mark_changed(db, (row.number,))


def mark_changed(db: Any, numbers: Iterable[int | None]) -> None:
    """Record which bullets a transaction changes, for `load_bullets`; ORM changes are tracked automatically."""
    db.info.setdefault("changed", set()).update(numbers)


def load_bullets(db: sqlmodel.Session, session: Session, old: SessionPlaybook | None = None) -> SessionPlaybook:
    """Load the session's playbook, within a transaction; only the bullets that the transaction changed, if `old` was
    current when it began, so that the cost of a turn does not depend on the playbook's size."""
    changed = db.info.get("changed", set())
    plain = driver(db)
    found = read_bullets(plain, session, project_of(session), None if old is None else [*changed])
    bullets = (old.bullets if old else {}) | found
    for name in {f"P-{number}" for number in changed} - found.keys():
        bullets.pop(name, None)
    return SessionPlaybook(bullets, playbook_version(plain))
