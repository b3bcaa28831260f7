"""Changes of the playbook taken back, and taken back ones brought back: the words and the state of a bullet as they
were, its belief and counts worked out again from the evidence that stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import Text, cast, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.playbook import evidence, mapping
from swecli.store.playbook.marks import mark_again, unmark
from swecli.store.playbook.scope import revocable
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow


def newest(db: sqlmodel.Session, session: Session, n: int) -> list[DeltaRow]:
    """The newest `n` deltas that stand and are more than the evidence of a turn."""
    which = select(DeltaRow).where(revocable(session), col(DeltaRow.undone) == sqlmodel.false())
    which = which.where((cast(col(DeltaRow.before), Text) != "{}") | (col(DeltaRow.reason).like("mark %")))
    rows = db.exec(which.order_by(col(DeltaRow.number).desc()))
    found: list[DeltaRow] = []
    for row in rows:
        if not mapping.applied_of(row).only_counts:  # one of an older version may have counted that way
            found.append(row)
        if len(found) == n:
            break
    return found


def taken_back_last(db: sqlmodel.Session, session: Session, n: int) -> list[DeltaRow]:
    """The deltas that the last `n` undos took back, the last one first."""
    undone = (revocable(session), col(DeltaRow.undone) == sqlmodel.true(), col(DeltaRow.turned) > 0)
    return list(db.exec(select(DeltaRow).where(*undone).order_by(col(DeltaRow.turned).desc()).limit(n)))


def take_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Undo a delta. Raises BadInput when a bullet it touched has been changed since."""
    _refuse_if_changed(db, row)
    rows = _rows(db, row)
    row.kept = {name: mapping.bullet_json(found) for name, found in rows.items()}
    row.undone = True
    for name, value in row.before.items():
        if value is not None:
            _put(db, rows.get(name), value)
        elif name in rows:
            rows[name].state = "deleted"
    unmark(db, row)
    _settle(db, row)


def bring_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Do a delta again that was taken back: the same numbers, counts and evidence. Raises BadInput when a bullet it
    touches has been changed since."""
    _refuse_if_changed(db, row)
    rows = _rows(db, row)
    for name, value in (row.kept or {}).items():
        if "content" in value:  # an older version kept less: what it had deleted stays so
            _put(db, rows.get(name), value)
    mark_again(db, row)
    row.undone = False
    _settle(db, row)


def _settle(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Note that it was taken or brought back, later than all others, and work out what its bullets are worth now."""
    row.turned = 1 + int(db.exec(sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))).one())
    db.flush()
    judged = db.exec(select(EvidenceRow.bullet).where(col(EvidenceRow.delta) == row.number).distinct()).all()
    numbers = {*judged, *(mapping.number_of(name) for name in row.before)}
    for found in db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers))).all():
        evidence.recompute(db, found)
    db.flush()


def touched(db: sqlmodel.Session, row: DeltaRow) -> set[str]:
    """The bullets that are another thing when the delta comes or goes."""
    judged = db.exec(select(EvidenceRow.bullet).where(col(EvidenceRow.delta) == row.number).distinct()).all()
    return {*row.before, *(f"P-{number}" for number in judged)}


def _rows(db: sqlmodel.Session, row: DeltaRow) -> dict[str, BulletRow]:
    numbers = [mapping.number_of(name) for name in row.before]
    found = db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers))).all()
    return {f"P-{bullet.number}": bullet for bullet in found}


def _put(db: sqlmodel.Session, row: BulletRow | None, value: dict[str, Any]) -> None:
    """Write a kept form into its row; what evidence and looking left of it stays."""
    bullet = mapping.bullet_from_json(value)
    seen: dict[str, Any] = {}
    if row is None:
        row = BulletRow(number=bullet.number, content=bullet.content)
    else:
        now = mapping.bullet_of(row)
        seen = {name: getattr(now, name) for name in mapping.SEEN}
    db.add(mapping.fill_bullet(row, replace(bullet, **seen)))
    row.session_id, row.project = value["session_id"], value["project"]


def _refuse_if_changed(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Raises BadInput when a later delta that stands has touched one of its bullets too."""
    later = (col(DeltaRow.number) > row.number, col(DeltaRow.undone) == sqlmodel.false())
    which = select(DeltaRow).where(*later, cast(col(DeltaRow.before), Text) != "{}")
    for other in db.exec(which).all() if row.before else ():
        shared = sorted(row.before.keys() & other.before.keys())
        if shared and not mapping.applied_of(other).only_counts:
            outside = f"outside of a session, in {other.project}"
            place = f"in session {other.session_id}" if other.session_id else outside
            raise BadInput(f"{shared[0]} has been changed since, {place}.", "Undo that change there first.")
