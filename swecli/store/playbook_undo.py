"""Changes of the playbook taken back, and taken back ones brought back: the store is as it was, each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.playbook_marks import mark_again, unmark
from swecli.store.playbook_ops import named_in, work_out
from swecli.store.playbook_scope import made_here
from swecli.store.playbook_write import carry_out, move_evidence, rehang, turns_past
from swecli.store.tables.sessions import BulletRow, DeltaRow, EvidenceRow

SEEN = ("last_used", "verified_at", "stale")  # what was seen of a strategy: no change sets it, and none takes it away


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


def taken_back_last(db: sqlmodel.Session, session: Session, n: int, every: bool) -> list[DeltaRow]:
    """The deltas that the last `n` undos took back, the last one first: each with those that went along with it."""
    undone = (made_here(session), col(DeltaRow.undone) == sqlmodel.true(), col(DeltaRow.turned) > 0)
    found: list[DeltaRow] = []
    real = 0
    for row in db.exec(select(DeltaRow).where(*undone).order_by(col(DeltaRow.turned).desc())):
        real += every or not only_counts(row)
        if real > n:
            break
        found.append(row)
    return found


def only_counts(row: DeltaRow) -> bool:
    """Whether a delta only says that bullets were shown."""
    return not row.judged and all(op.op == "TAG" and op.tag == "neutral" for op in mapping.applied_of(row).delta.ops)


def take_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Undo a delta. Raises BadInput when a bullet it touched has been changed since."""
    if (other := _later(db, row)) is not None:
        name, place = other
        raise BadInput(f"{name} has been changed since, {place}.", "Undo that change there first.")
    db.exec(sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.delta) == row.number))
    for key, number in reversed(row.moved):
        rehang(db, [key], number)
    seen: dict[str, Any] = {}
    for name, value in row.before.items():
        bullet = db.get(BulletRow, mapping.number_of(name))
        if value is None:
            if bullet is not None:
                seen[name] = _seen_json(bullet)
                db.delete(bullet)
            continue
        old = mapping.bullet_from_json(value)
        bullet = bullet or BulletRow(number=old.number, content=old.content)
        still = {name: getattr(bullet, name) or getattr(old, name) for name in SEEN}
        db.add(mapping.fill_bullet(bullet, replace(old, **still)))  # what was seen of it stays seen
        bullet.session_id, bullet.project = value["session_id"], value["project"]
    unmark(db, row)
    row.undone, row.kept = True, seen
    _turn(db, row)


def bring_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Do a delta again that was taken back: the same numbers, counts and evidence. Raises BadInput when a bullet it
    touches is not as the undo left it."""
    delta = mapping.applied_of(row).delta
    numbers = [mapping.number_of(name) for name in {*named_in(delta), *row.before}]
    rows = {
        f"P-{found.number}": found for found in db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers)))
    }
    for name, value in row.before.items():
        if not _as_left(rows.get(name), value):
            later = _later(db, row)
            place = f", {later[1]}" if later is not None and later[0] == name else ""
            raise BadInput(f"{name} has been changed since it was taken back{place}.", "Undo that change first.")
    outcome = work_out(delta, {name: mapping.bullet_of(found) for name, found in rows.items()})
    for name, number in zip(outcome.added, row.added, strict=True):
        fresh = BulletRow(number=mapping.number_of(number), content="", session_id=row.session_id, project=row.project)
        db.add(mapping.fill_bullet(fresh, replace(outcome.bullets[name], **_seen(row.kept, number))))
        rows[name] = fresh
    db.flush()
    carry_out(row, outcome, rows)
    row.moved = move_evidence(db, outcome)
    for name, item in outcome.evidence:
        db.add(mapping.evidence_row(rows[name].number or 0, row.number, item, delta.created_at))
        db.flush()  # one by one: they are read back in this order
    mark_again(db, row)
    row.undone = False
    _turn(db, row)


def _turn(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Note that it was taken or brought back, later than all others."""
    row.turned = 1 + int(db.exec(sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))).one())
    turns_past(db, row)
    db.flush()


def _later(db: sqlmodel.Session, row: DeltaRow) -> tuple[str, str] | None:
    """A bullet of the delta that a later one which stands has touched too, and where that was."""
    standing = (col(DeltaRow.number) > row.number, col(DeltaRow.undone) == sqlmodel.false())
    for other in db.exec(select(DeltaRow).where(*standing)).all():
        if shared := sorted(row.before.keys() & other.before.keys()):
            outside = f"outside of a session, in {other.project}"
            return shared[0], f"in session {other.session_id}" if other.session_id else outside
    return None


def _as_left(bullet: BulletRow | None, before: dict[str, Any] | None) -> bool:
    """Whether a bullet is what it was before the delta, apart from what was seen of it."""
    if bullet is None or before is None:
        return bullet is None and before is None
    place = (before["session_id"], before["project"])
    return (bullet.session_id, bullet.project) == place and _unseen(mapping.bullet_of(bullet)) == _unseen(
        mapping.bullet_from_json(before)
    )


def _unseen(bullet: Bullet) -> Bullet:
    return replace(bullet, last_used=None, verified_at=None, stale="")


def _seen_json(row: BulletRow) -> dict[str, str]:
    bullet = mapping.bullet_of(row).to_json()
    return {name: bullet[name] for name in SEEN if bullet[name]}


def _seen(kept: Any, name: str) -> dict[str, Any]:
    """What was seen of a bullet that a delta had added, as it was when that was taken back."""
    read: dict[str, Callable[[str], Any]] = {"stale": str}
    return {key: read.get(key, datetime.fromisoformat)(value) for key, value in (kept or {}).get(name, {}).items()}
