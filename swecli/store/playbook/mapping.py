"""Rows of the playbook to models and back, and which of them concern a session: by scope, so that no project sees
another's. Deltas are kept as JSON with all that is needed to undo them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, and_, false, or_, text
from sqlmodel import col, select

from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op, SessionPlaybook
from swecli.models.session import Session
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow

_PLAIN = tuple(field.name for field in fields(Bullet) if field.name not in ("id", "anchors", "belief"))
_EVIDENCE = shared(Evidence, EvidenceRow)
_DELTA = shared(Delta, DeltaRow, "ops", "refused")
_TIMES = ("created_at", "updated_at", "last_used", "verified_at", "vouched_at")
# What evidence and looking leave of a bullet: no change of its words or its state sets it.
_SEEN = ("belief", "helpful", "harmful", "neutral", "uses", "last_used", "verified_at", "stale")
_NOW = text(
    "SELECT (SELECT coalesce(max(number), 0) FROM delta) + (SELECT coalesce(max(turned), 0) FROM delta),"
    " EXISTS (SELECT 1 FROM playbook_switch WHERE project = :project)"
)


def number_of(bullet_id: str) -> int:
    """The number in a bullet's id; 0, which no bullet has, where there is none."""
    digits = bullet_id.removeprefix("P-")
    return int(digits) if bullet_id.startswith("P-") and digits.isdecimal() and len(digits) < 19 else 0


def bullet_rows(db: sqlmodel.Session, names: Iterable[str], *where: ColumnElement[bool]) -> dict[str, BulletRow]:
    """The rows of those bullets by their ids, within a transaction."""
    numbers = {number_of(name) for name in names}
    which = select(BulletRow).where(col(BulletRow.number).in_(numbers), *where)
    return {f"P-{row.number}": row for row in db.exec(which).all()} if numbers else {}


def bullet_of(row: Any) -> Bullet:
    """The bullet of a row."""
    belief = tuple(row.belief or ())
    return Bullet(id=f"P-{row.number}", anchors=tuple(row.anchors or ()), belief=belief, **values(row, _PLAIN))


def fill_bullet(row: BulletRow, bullet: Bullet) -> BulletRow:
    """Write the bullet into its row, without where it belongs."""
    for name in _PLAIN:
        setattr(row, name, getattr(bullet, name))
    row.anchors, row.belief = list(bullet.anchors), list(bullet.belief) or None
    return row


def bullet_json(row: BulletRow) -> dict[str, Any]:
    """A row as JSON from which it is made again, without what evidence and looking leave of it."""
    whole = bullet_of(row).to_json() | {"session_id": row.session_id, "project": row.project}
    return {name: value for name, value in whole.items() if name not in _SEEN}


def _bullet_from_json(value: dict[str, Any]) -> Bullet:
    """The bullet kept by `bullet_json`."""
    plain = {name: value[name] for name in _PLAIN if name in value}  # kept by an older swecli, it may have fewer
    times = {name: datetime.fromisoformat(value[name]) if value.get(name) else None for name in _TIMES}
    return Bullet(id=value["id"], anchors=tuple(value["anchors"]), **plain | times)


def put_back(db: sqlmodel.Session, row: BulletRow | None, value: dict[str, Any]) -> None:
    """Write a kept form into its row, a new one where it is gone; what evidence and looking left of it stays."""
    bullet = _bullet_from_json(value)
    seen = {} if row is None else values(bullet_of(row), _SEEN)
    row = row or BulletRow(number=bullet.number, content=bullet.content)
    db.add(fill_bullet(row, replace(bullet, **seen)))
    row.session_id, row.project = value["session_id"], value["project"]


def evidence_row(bullet: int, delta: int | None, evidence: Evidence, when: datetime) -> EvidenceRow:
    """A new row; evidence without a time was found at that time."""
    found = values(evidence, _EVIDENCE) | {"created_at": evidence.created_at or when}
    return EvidenceRow(bullet=bullet, delta=delta, **found)


def evidence_of(row: EvidenceRow) -> Evidence:
    """The evidence; a verdict reads `helpful: pytest went from failing to passing`."""
    found = Evidence(**values(row, _EVIDENCE))
    return replace(found, quote=f"{row.tag}: {row.quote}") if row.tag else found


def delta_row(delta: Delta, project: str, reach: str) -> DeltaRow:
    """A new row for the delta, before it has changed anything."""
    row = DeltaRow(project=project, reach=reach, **values(delta, _DELTA))
    row.ops, row.refused = [_op_json(op) for op in delta.ops], list(delta.refused)
    return row


def _op_json(op: Op) -> dict[str, Any]:
    """An operation as JSON, without what is empty."""
    evidence = [
        values(item, _EVIDENCE) | {"created_at": item.created_at.isoformat() if item.created_at else None}
        for item in op.evidence
    ]
    row = {"op": op.op, "bullet_id": op.bullet_id, "fields": op.fields, "evidence": evidence}
    return {name: value for name, value in row.items() if value}


def op_from_json(value: dict[str, Any]) -> Op:
    """The operation as a delta's row keeps it."""
    evidence = (Evidence(**item) for item in value.get("evidence", ()))
    dated = (replace(e, created_at=datetime.fromisoformat(str(e.created_at))) if e.created_at else e for e in evidence)
    named = dict(value.get("fields", {}))
    if "anchors" in named:
        named["anchors"] = tuple(named["anchors"])
    return Op(value["op"], value.get("bullet_id", ""), named, tuple(dated))


def applied_of(row: DeltaRow) -> AppliedDelta:
    """The delta as it is in the store."""
    delta = Delta(ops=tuple(op_from_json(op) for op in row.ops), refused=tuple(row.refused), **values(row, _DELTA))
    before = {name: _bullet_from_json(value) if value else None for name, value in row.before.items()}
    return AppliedDelta(delta, before, tuple(row.added), row.undone)


def project_of(session: Session) -> str:
    """What a session's project is known by; its directory where it has no other."""
    return clean_text(session.project or session.working_directory)


def applies(session: Session) -> ColumnElement[bool]:
    """Whether a bullet may be seen and changed from the session."""
    scope = col(BulletRow.scope)
    return or_(
        and_(scope == "session", _of(session, col(BulletRow.session_id))),
        and_(scope == "project", col(BulletRow.project) == project_of(session)),
        scope == "user",
    )


def revocable(session: Session) -> ColumnElement[bool]:
    """Whether a change was made in the session, or in its project with more reach: there it is listed and undone."""
    return or_(made_by(session), and_(made_in(session), col(DeltaRow.reach).in_(("project", "user"))))


def made_in(session: Session) -> ColumnElement[bool]:
    """Whether a change was made in the session's project."""
    return col(DeltaRow.project) == project_of(session)


def made_by(session: Session) -> ColumnElement[bool]:
    """Whether a change was made in the session itself."""
    return and_(_of(session, col(DeltaRow.session_id)), made_in(session))


def _of(session: Session, owner: Any) -> ColumnElement[bool]:
    """Whether something is the session's own: before there is a session nothing is, though the ids are alike."""
    return owner == session.id if session.id else false()


def load_bullets(db: sqlmodel.Session, session: Session, changed: Iterable[str] | None = None) -> SessionPlaybook:
    """What applies to the session, within a transaction. Where its playbook was current before a change of the bullets
    in `changed`, only they are read."""
    columns: list[Any] = [getattr(BulletRow, name) for name in ("number", "anchors", "belief", *_PLAIN)]
    alive = sqlmodel.select(*columns).where(applies(session), col(BulletRow.state) != "deleted")
    old, named = ({}, set()) if changed is None else (session.playbook.bullets, set(changed))
    if changed is not None:
        alive = alive.where(col(BulletRow.number).in_([number_of(name) for name in named]))
    rows = db.connection().execute(alive.order_by(col(BulletRow.number))).all()
    found = {f"P-{row.number}": bullet_of(row) for row in rows}
    kept = {name: bullet for name, bullet in old.items() if name in found or name not in named}
    return SessionPlaybook(kept | found, *_now(db, session))


def is_current(db: sqlmodel.Session, session: Session) -> bool:
    """Whether the session's playbook is as the database has it, within a transaction: without reading a bullet."""
    return (session.playbook.version, session.playbook.off) == _now(db, session)


def _now(db: sqlmodel.Session, session: Session) -> tuple[int, bool]:
    """A number that grows with every change, every one taken back and every one brought back, and whether the playbook
    is off: found without reading the changes."""
    version, off = db.connection().execute(_NOW, {"project": project_of(session)}).one()
    return int(version), bool(off)
