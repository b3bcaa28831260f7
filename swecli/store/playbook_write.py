"""Deltas into rows and out again, within a transaction: every bullet they touch is kept as it was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Delta, Op
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.playbook_limits import FREE, check
from swecli.store.playbook_ops import Outcome, named_in, work_out
from swecli.store.playbook_scope import applies, made_here, made_in, project_of
from swecli.store.playbook_standing import forget
from swecli.store.tables import BulletRow, DeltaRow, EvidenceRow

SCOPES = ("session", "project", "user")  # from narrow to wide


def write(db: sqlmodel.Session, delta: Delta, session: Session) -> DeltaRow:
    """Apply a delta. Raises BadInput, by which the transaction is undone."""
    check(delta, _earlier(db, delta, session))
    numbers = [mapping.number_of(name) for name in named_in(delta)]
    found = db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers), applies(session))).all()
    rows = {f"P-{row.number}": row for row in found}
    outcome = work_out(delta, {name: mapping.bullet_of(row) for name, row in rows.items()})
    before: dict[str, Any] = {name: mapping.bullet_json(rows[name]) for name in outcome.touched}
    scopes = [value["scope"] for value in before.values()]
    for name in outcome.touched:
        if outcome.bullets[name].scope != rows[name].scope:  # it moves in where the change is made
            rows[name].session_id, rows[name].project = session.id, project_of(session)
        mapping.fill_bullet(rows[name], outcome.bullets[name])
    for name in sorted(outcome.added, key=lambda name: outcome.bullets[name].id.startswith("new-")):
        rows[name] = _mint(db, outcome.bullets[name], session)  # those with numbers of their own come first
    added = [f"P-{rows[name].number}" for name in outcome.added]
    scopes += [outcome.bullets[name].scope for name in (*outcome.touched, *outcome.added)]
    row = DeltaRow(
        id=delta.id,
        session_id=delta.session_id or session.id,
        project=project_of(session),
        reach=max(scopes, key=SCOPES.index, default="session"),
        author=delta.author,
        interaction=delta.interaction,
        reason=delta.reason,
        created_at=delta.created_at,
    )
    row.ops, row.refused = [mapping.op_json(op) for op in delta.ops], list(delta.refused)
    row.before, row.added = before | dict.fromkeys(added), added
    row.moved = _move_evidence(db, outcome)
    db.add(row)
    db.flush()
    for name, item in outcome.evidence:
        db.add(mapping.evidence_row(rows[name].number or 0, row.number, item, delta.created_at))
        db.flush()  # one by one: they are read back in this order
    _turns_past(db, row)
    db.refresh(row)  # as the database has it, cleaned
    return row


def _earlier(db: sqlmodel.Session, delta: Delta, session: Session) -> list[Op]:
    """What the rules and models changed in the same turn before."""
    made_of = delta.session_id or session.id
    if delta.interaction is None or delta.author in FREE or not made_of:
        return []
    same = (col(DeltaRow.session_id) == made_of, col(DeltaRow.interaction) == delta.interaction)
    rows = db.exec(select(DeltaRow).where(*same, made_in(session), col(DeltaRow.undone) == sqlmodel.false())).all()
    return [mapping.op_from_json(op) for row in rows if row.author not in FREE for op in row.ops]


def _mint(db: sqlmodel.Session, bullet: Bullet, session: Session) -> BulletRow:
    if bullet.scope == "session" and not session.id:
        raise BadInput("There is no session that a strategy of this scope could belong to.", "Use project or user.")
    row = BulletRow(content=bullet.content, session_id=session.id, project=project_of(session))
    if not bullet.id.startswith("new-"):  # it comes with a number of its own, from an import
        row.number = mapping.number_of(bullet.id)
        if row.number <= last_number(db):
            raise BadInput(f"The number of {bullet.id} was given before.", "It can be imported under a new one.")
    db.add(mapping.fill_bullet(row, bullet))
    db.flush()
    return row


def last_number(db: sqlmodel.Session) -> int:
    """The highest number a strategy was ever given, 0 before the first: also that of one that is gone."""
    if db.connection().dialect.name == "sqlite":
        found = db.connection().exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'bullet'").scalar()
    else:
        found = db.exec(sqlmodel.select(func.max(BulletRow.number))).first()
    return int(found or 0)


def _move_evidence(db: sqlmodel.Session, outcome: Outcome) -> list[list[int]]:
    """Move what merged bullets had to those that stay; returns [evidence, from] for each that moved."""
    moved: list[list[int]] = []
    for gone, stays in outcome.merges:
        number = mapping.number_of(gone)
        ids = db.exec(select(EvidenceRow.id).where(col(EvidenceRow.bullet) == number)).all()
        moved += [[key or 0, number] for key in ids]
        _rehang(db, ids, mapping.number_of(stays))
    return moved


def _rehang(db: sqlmodel.Session, ids: Sequence[int | None], number: int) -> None:
    db.exec(sqlmodel.update(EvidenceRow).where(col(EvidenceRow.id).in_(ids)).values(bullet=number))


def newest(db: sqlmodel.Session, session: Session, n: int, every: bool) -> list[DeltaRow]:
    """The newest deltas that stand, down to the n-th one that counts."""
    which = select(DeltaRow).where(made_here(session), col(DeltaRow.undone) == sqlmodel.false())
    found: list[DeltaRow] = []
    real = 0
    for row in db.exec(which.order_by(col(DeltaRow.number).desc())):
        found.append(row)
        real += every or not only_counts(row)
        if real == n:
            return found
    while found and not every and only_counts(found[-1]):
        found.pop()
    return found


def only_counts(row: DeltaRow) -> bool:
    """Whether a delta only says that bullets were shown."""
    return all(op.op == "TAG" and op.tag == "neutral" for op in mapping.applied_of(row).delta.ops)


def take_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Undo a delta. Raises BadInput when a bullet it touched has been changed since."""
    later = select(DeltaRow).where(col(DeltaRow.number) > row.number, col(DeltaRow.undone) == sqlmodel.false())
    for other in db.exec(later).all():
        if shared := sorted(row.before.keys() & other.before.keys()):
            where = (
                f"in session {other.session_id}" if other.session_id else f"outside of a session, in {other.project}"
            )
            raise BadInput(f"{shared[0]} has been changed since, {where}.", "Undo that change there first.")
    db.exec(sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.delta) == row.number))
    for key, number in reversed(row.moved):
        _rehang(db, [key], number)
    for name, value in row.before.items():
        bullet = db.get(BulletRow, mapping.number_of(name))
        if value is None:
            if bullet is not None:
                db.delete(bullet)
            continue
        old = mapping.bullet_from_json(value)
        bullet = bullet or BulletRow(number=old.number, content=old.content)
        seen = {name: getattr(bullet, name) or getattr(old, name) for name in ("last_used", "verified_at", "stale")}
        db.add(mapping.fill_bullet(bullet, replace(old, **seen)))  # what was seen of it stays seen
        bullet.session_id, bullet.project = value["session_id"], value["project"]
    row.undone = True
    _turns_past(db, row)
    db.flush()


def _turns_past(db: sqlmodel.Session, row: DeltaRow) -> None:
    """What is known of the change's turn, or of the one before it, is another thing now."""
    if row.interaction is not None and any(op["op"] == "TAG" for op in row.ops):
        forget(db, row.session_id, row.interaction - 1)
