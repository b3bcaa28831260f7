"""Rows of the playbook to models and back; deltas are kept as JSON with all that is needed to undo them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op
from swecli.store.tables.sessions import BulletRow, DeltaRow, EvidenceRow

_BULLET = tuple(field.name for field in fields(Bullet) if field.name not in ("id", "anchors"))
_TIMES = ("created_at", "updated_at", "last_used", "verified_at", "vouched_at")


def number_of(bullet_id: str) -> int:
    """The number in a bullet's id; 0, which no bullet has, where there is none."""
    digits = bullet_id.removeprefix("P-")
    return int(digits) if bullet_id.startswith("P-") and digits.isdecimal() and len(digits) < 19 else 0


def bullet_of(row: BulletRow) -> Bullet:
    """The bullet."""
    values = {name: getattr(row, name) for name in _BULLET}
    return Bullet(id=f"P-{row.number}", anchors=tuple(row.anchors or ()), **values)


def fill_bullet(row: BulletRow, bullet: Bullet) -> BulletRow:
    """Write the bullet into its row; where it belongs is not its own to say."""
    for name in _BULLET:
        setattr(row, name, getattr(bullet, name))
    row.anchors = list(bullet.anchors)
    return row


def bullet_json(row: BulletRow) -> dict[str, Any]:
    """A row as JSON from which `restore` makes it again."""
    return bullet_of(row).to_json() | {"session_id": row.session_id, "project": row.project}


def bullet_from_json(value: dict[str, Any]) -> Bullet:
    """The bullet kept by `bullet_json`."""
    values = {name: value[name] for name in _BULLET if name in value}  # kept by an older swecli, it may have fewer
    times = {name: datetime.fromisoformat(value[name]) if value.get(name) else None for name in _TIMES}
    return Bullet(id=value["id"], anchors=tuple(value["anchors"]), **values | times)


def evidence_row(bullet: int, delta: int | None, evidence: Evidence, when: datetime) -> EvidenceRow:
    """A new row; evidence without a time was found at that time."""
    values = {field.name: getattr(evidence, field.name) for field in fields(Evidence)}
    return EvidenceRow(bullet=bullet, delta=delta, **values | {"created_at": evidence.created_at or when})


def evidence_of(row: EvidenceRow) -> Evidence:
    """The evidence."""
    return Evidence(**{field.name: getattr(row, field.name) for field in fields(Evidence)})


def op_json(op: Op) -> dict[str, Any]:
    """An operation as JSON, without what it does not say."""
    evidence = [_evidence_json(item) for item in op.evidence]
    row = {"op": op.op, "bullet_id": op.bullet_id, "tag": op.tag, "into": op.into, "fields": op.fields}
    return {name: value for name, value in (row | {"evidence": evidence}).items() if value}


def _evidence_json(item: Evidence) -> dict[str, Any]:
    row = {field.name: getattr(item, field.name) for field in fields(Evidence)}
    return row | {"created_at": item.created_at.isoformat() if item.created_at else None}


def op_from_json(value: dict[str, Any]) -> Op:
    """The operation kept by `op_json`."""
    evidence = (Evidence(**item) for item in value.get("evidence", ()))
    dated = (replace(e, created_at=datetime.fromisoformat(str(e.created_at))) if e.created_at else e for e in evidence)
    told = dict(value.get("fields", {}))
    if "anchors" in told:
        told["anchors"] = tuple(told["anchors"])
    return Op(value["op"], value.get("bullet_id", ""), value.get("tag"), value.get("into", ""), told, tuple(dated))


def delta_json(delta: Delta) -> dict[str, Any]:
    """A delta as JSON."""
    row = {field.name: getattr(delta, field.name) for field in fields(Delta)}
    return row | {"ops": [op_json(op) for op in delta.ops], "created_at": delta.created_at.isoformat()}


def delta_from_json(value: dict[str, Any]) -> Delta:
    """The delta kept by `delta_json`."""
    ops, refused = tuple(op_from_json(op) for op in value["ops"]), tuple(value["refused"])
    when = datetime.fromisoformat(value["created_at"])
    return Delta(**value | {"ops": ops, "refused": refused, "created_at": when})


def applied_of(row: DeltaRow) -> AppliedDelta:
    """The delta as it stands in the store."""
    delta = Delta(
        id=row.id,
        ops=tuple(op_from_json(op) for op in row.ops),
        author=row.author,
        session_id=row.session_id,
        interaction=row.interaction,
        reason=row.reason,
        refused=tuple(row.refused),
        created_at=row.created_at,
    )
    before = {name: bullet_from_json(value) if value else None for name, value in row.before.items()}
    return AppliedDelta(delta, before, tuple(row.added), row.undone)
