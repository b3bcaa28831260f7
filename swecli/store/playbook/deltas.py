"""Deltas into rows, within a transaction: every bullet they touch is kept as it was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Delta, Op, Verdict
from swecli.models.session import Session
from swecli.store.playbook import evidence, mapping
from swecli.store.playbook.ops import FREE, Outcome, check_caps, work_out
from swecli.store.playbook.scope import applies, made_in, project_of
from swecli.store.tables.playbook import BulletRow, DeltaRow

_SCOPES = ("session", "project", "user")  # from narrow to wide


def write(db: sqlmodel.Session, delta: Delta, session: Session, verdicts: Sequence[Verdict] = ()) -> DeltaRow:
    """Apply a delta and the verdicts that come with it. Raises BadInput, by which the transaction is undone."""
    check_caps(delta, _earlier(db, delta, session))
    numbers = [mapping.number_of(op.bullet_id) for op in delta.ops if op.bullet_id]
    named = select(BulletRow).where(col(BulletRow.number).in_(numbers), applies(session))
    found = db.exec(named).all() if numbers else ()
    rows = {f"P-{row.number}": row for row in found}
    delta = replace(delta, session_id=delta.session_id or session.id)
    outcome = work_out(delta, {name: mapping.bullet_of(row) for name, row in rows.items()})
    before: dict[str, Any] = {name: mapping.bullet_json(rows[name]) for name in outcome.touched}
    scopes = [value["scope"] for value in before.values()]
    rows |= _minted(db, {name: outcome.bullets[name] for name in outcome.added}, session)
    added = [f"P-{rows[name].number}" for name in outcome.added]
    scopes += [outcome.bullets[name].scope for name in (*outcome.touched, *outcome.added)]
    row = DeltaRow(
        id=delta.id,
        session_id=delta.session_id,
        project=project_of(session),
        reach=max(scopes, key=_SCOPES.index, default="project" if verdicts else "session"),
        author=delta.author,
        interaction=delta.interaction,
        reason=delta.reason,
        created_at=delta.created_at,
    )
    row.ops, row.refused = [mapping.op_json(op) for op in delta.ops], list(delta.refused)
    row.before, row.added, row.moved = before | dict.fromkeys(added), added, []
    _carry_out(row, outcome, rows)
    db.add(row)
    db.flush()
    for name, item in outcome.evidence:
        db.add(mapping.evidence_row(rows[name].number or 0, row.number, item, delta.created_at))
    db.flush()
    for name in outcome.touched:
        if _prior_moved(before[name], rows[name]):
            evidence.recompute(db, rows[name])
    evidence.add_verdicts(db, row, verdicts)
    db.refresh(row)  # as the database has it, cleaned
    return row


def _prior_moved(before: dict[str, Any], row: BulletRow) -> bool:
    """Whether the user has said something of a strategy by which its evidence counts otherwise."""
    vouched = row.vouched_at.isoformat() if row.vouched_at else None
    return bool(before["trust"] != row.trust or before["vouched_at"] != vouched)


def _carry_out(row: DeltaRow, outcome: Outcome, rows: dict[str, BulletRow]) -> None:
    for name in outcome.touched:
        if outcome.bullets[name].scope != rows[name].scope:  # it moves in where the change is made
            rows[name].session_id, rows[name].project = row.session_id, row.project
        mapping.fill_bullet(rows[name], outcome.bullets[name])


def _earlier(db: sqlmodel.Session, delta: Delta, session: Session) -> list[Op]:
    """What the rules and models changed in the same turn before."""
    made_of = delta.session_id or session.id
    if not delta.ops or delta.interaction is None or delta.author in FREE or not made_of:
        return []
    same = (col(DeltaRow.session_id) == made_of, col(DeltaRow.interaction) == delta.interaction)
    rows = db.exec(select(DeltaRow).where(*same, made_in(session), col(DeltaRow.undone) == sqlmodel.false())).all()
    return [mapping.op_from_json(op) for row in rows if row.author not in FREE for op in row.ops]


def _minted(db: sqlmodel.Session, bullets: Mapping[str, Bullet], session: Session) -> dict[str, BulletRow]:
    """New rows, given numbers in their order; those that come with numbers of their own, from an import, come first."""
    last = last_number(db) if bullets else 0
    made: dict[str, BulletRow] = {}
    for name in sorted(bullets, key=lambda name: bullets[name].id.startswith("new-")):
        bullet = bullets[name]
        if bullet.scope == "session" and not session.id:
            raise BadInput("There is no session that a strategy of this scope could belong to.", "Use project or user.")
        given = 0 if bullet.id.startswith("new-") else mapping.number_of(bullet.id)
        if given and given <= last:
            raise BadInput(f"The number of {bullet.id} was given before.", "It can be imported under a new one.")
        last = given or last + 1
        row = BulletRow(number=last, content=bullet.content, session_id=session.id, project=project_of(session))
        made[name] = mapping.fill_bullet(row, bullet)
    db.add_all(made.values())
    db.flush()
    for row in made.values():
        evidence.keep_past(db, row)
    return made


def last_number(db: sqlmodel.Session) -> int:
    """The highest number a strategy was ever given, 0 before the first: also that of one that is gone."""
    if db.connection().dialect.name == "sqlite":
        found = db.connection().exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'bullet'").scalar()
    else:
        found = db.exec(sqlmodel.select(func.max(BulletRow.number))).first()
    return int(found or 0)
