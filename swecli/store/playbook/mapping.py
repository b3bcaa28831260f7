"""Rows of the playbook to models and back; deltas are kept as JSON with all that is needed to undo them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement
from sqlmodel import col, select

from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op
from swecli.store.tables.columns import shared, values
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow

_PLAIN = tuple(field.name for field in fields(Bullet) if field.name not in ("id", "anchors", "belief"))
_EVIDENCE = shared(Evidence, EvidenceRow)
DELTA = shared(Delta, DeltaRow, "ops", "refused")
_TIMES = ("created_at", "updated_at", "last_used", "verified_at", "vouched_at")
# What evidence and looking leave of a bullet: no change of its words or its state sets it.
SEEN = ("belief", "helpful", "harmful", "neutral", "uses", "last_used", "verified_at", "stale")


def number_of(bullet_id: str) -> int:
    """The number in a bullet's id; 0, which no bullet has, where there is none."""
    digits = bullet_id.removeprefix("P-")
    return int(digits) if bullet_id.startswith("P-") and digits.isdecimal() and len(digits) < 19 else 0


def bullet_rows(db: sqlmodel.Session, names: Iterable[str], *where: ColumnElement[bool]) -> dict[str, BulletRow]:
    """The rows of those bullets by their ids, within a transaction."""
    numbers = {number_of(name) for name in names}
    which = select(BulletRow).where(col(BulletRow.number).in_(numbers), *where)
    return {f"P-{row.number}": row for row in db.exec(which).all()} if numbers else {}


def columns() -> list[Any]:
    """The columns that `bullet_of` reads."""
    return [getattr(BulletRow, name) for name in ("number", "anchors", "belief", *_PLAIN)]


def bullet_of(row: Any) -> Bullet:
    """The bullet of a row, or of its `columns()`."""
    belief = tuple(row.belief or ())
    return Bullet(id=f"P-{row.number}", anchors=tuple(row.anchors or ()), belief=belief, **values(row, _PLAIN))


def fill_bullet(row: BulletRow, bullet: Bullet) -> BulletRow:
    """Write the bullet into its row; where it belongs is not its own to say."""
    for name in _PLAIN:
        setattr(row, name, getattr(bullet, name))
    row.anchors, row.belief = list(bullet.anchors), list(bullet.belief) or None
    return row


def bullet_json(row: BulletRow) -> dict[str, Any]:
    """A row as JSON from which it is made again, without what evidence and looking leave of it."""
    whole = bullet_of(row).to_json() | {"session_id": row.session_id, "project": row.project}
    return {name: value for name, value in whole.items() if name not in SEEN}


def bullet_from_json(value: dict[str, Any]) -> Bullet:
    """The bullet kept by `bullet_json`."""
    plain = {name: value[name] for name in _PLAIN if name in value}  # kept by an older swecli, it may have fewer
    times = {name: datetime.fromisoformat(value[name]) if value.get(name) else None for name in _TIMES}
    return Bullet(id=value["id"], anchors=tuple(value["anchors"]), **plain | times)


def evidence_row(bullet: int, delta: int | None, evidence: Evidence, when: datetime) -> EvidenceRow:
    """A new row; evidence without a time was found at that time."""
    found = values(evidence, _EVIDENCE) | {"created_at": evidence.created_at or when}
    return EvidenceRow(bullet=bullet, delta=delta, **found)


def evidence_of(row: EvidenceRow) -> Evidence:
    """The evidence; a verdict reads `helpful: pytest went from failing to passing`."""
    found = Evidence(**values(row, _EVIDENCE))
    return replace(found, quote=f"{row.tag}: {row.quote}") if row.tag else found


def op_json(op: Op) -> dict[str, Any]:
    """An operation as JSON, without what it does not say."""
    evidence = [_evidence_json(item) for item in op.evidence]
    row = {"op": op.op, "bullet_id": op.bullet_id, "tag": op.tag, "into": op.into, "fields": op.fields}
    return {name: value for name, value in (row | {"evidence": evidence}).items() if value}


def _evidence_json(item: Evidence) -> dict[str, Any]:
    return values(item, _EVIDENCE) | {"created_at": item.created_at.isoformat() if item.created_at else None}


def op_from_json(value: dict[str, Any]) -> Op:
    """The operation kept by `op_json`."""
    evidence = (Evidence(**item) for item in value.get("evidence", ()))
    dated = (replace(e, created_at=datetime.fromisoformat(str(e.created_at))) if e.created_at else e for e in evidence)
    named = dict(value.get("fields", {}))
    if "anchors" in named:
        named["anchors"] = tuple(named["anchors"])
    return Op(value["op"], value.get("bullet_id", ""), value.get("tag"), value.get("into", ""), named, tuple(dated))


def applied_of(row: DeltaRow) -> AppliedDelta:
    """The delta as it stands in the store."""
    delta = Delta(ops=tuple(op_from_json(op) for op in row.ops), refused=tuple(row.refused), **values(row, DELTA))
    before = {name: bullet_from_json(value) if value else None for name, value in row.before.items()}
    return AppliedDelta(delta, before, tuple(row.added), row.undone)
