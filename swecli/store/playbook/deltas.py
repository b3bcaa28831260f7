"""Changes of the playbook, within a transaction: made, taken back, brought back, and read. Every bullet that one
touches is kept as it was before; its belief and counts are worked out again from the evidence that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, cast, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Delta, Op, Verdict
from swecli.models.session import Session
from swecli.store.playbook import evidence, mapping
from swecli.store.playbook.mapping import applies, made_in, project_of, revocable
from swecli.store.playbook.ops import FREE, check_caps, work_out
from swecli.store.playbook.turns import mark_again, unmark
from swecli.store.records import Change, InteractionInfo
from swecli.store.sessions.mapping import interaction_of
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow
from swecli.store.tables.sessions import InteractionRow

_SCOPES = ("session", "project", "user")  # from narrow to wide


def write(db: sqlmodel.Session, delta: Delta, session: Session, verdicts: Sequence[Verdict] = ()) -> DeltaRow:
    """Apply a delta and the verdicts that come with it. Raises BadInput, by which the transaction is undone."""
    check_caps(delta, _earlier(db, delta, session))
    rows = mapping.bullet_rows(db, (op.bullet_id for op in delta.ops if op.bullet_id), applies(session))
    delta = replace(delta, session_id=delta.session_id or session.id)
    outcome = work_out(delta, {name: mapping.bullet_of(row) for name, row in rows.items()})
    before: dict[str, Any] = {name: mapping.bullet_json(rows[name]) for name in outcome.touched}
    scopes = [value["scope"] for value in before.values()]
    rows |= _minted(db, {name: outcome.bullets[name] for name in outcome.added}, session)
    added = [f"P-{rows[name].number}" for name in outcome.added]
    scopes += [outcome.bullets[name].scope for name in (*outcome.touched, *outcome.added)]
    reach = max(scopes, key=_SCOPES.index, default="project" if verdicts else "session")
    row = mapping.delta_row(delta, project_of(session), reach)
    row.before, row.added = before | dict.fromkeys(added), added
    for name in outcome.touched:
        if outcome.bullets[name].scope != rows[name].scope:  # it moves in where the change is made
            rows[name].session_id, rows[name].project = row.session_id, row.project
        mapping.fill_bullet(rows[name], outcome.bullets[name])
    db.add(row)
    db.flush()
    for name, item in outcome.evidence:
        db.add(mapping.evidence_row(rows[name].number or 0, row.number, item, delta.created_at))
    db.flush()
    for name in outcome.touched:
        after = mapping.bullet_json(rows[name])
        if any(before[name][field] != after[field] for field in ("trust", "vouched_at")):  # evidence counts otherwise
            evidence.recompute(db, rows[name])
    evidence.add_verdicts(db, row, verdicts)
    db.refresh(row)  # as the database has it, cleaned
    return row


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
    found = db.connection().exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'bullet'")
    return int(found.scalar() or 0)


def newest(db: sqlmodel.Session, session: Session, n: int, *, undone: bool) -> list[DeltaRow]:
    """The newest `n` deltas that can be taken back and are more than the evidence of a turn; with `undone` those that
    the last undos took back, the last one first."""
    theirs = select(DeltaRow).where(revocable(session), col(DeltaRow.undone).is_(undone))
    if undone:
        which = theirs.where(col(DeltaRow.turned) > 0).order_by(col(DeltaRow.turned).desc())
    else:
        which = theirs.where((cast(col(DeltaRow.before), Text) != "{}") | (col(DeltaRow.reason).like("mark %")))
        which = which.order_by(col(DeltaRow.number).desc())
    return list(db.exec(which.limit(n)))


def take_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Undo a delta. Raises BadInput when a bullet it touched has been changed since."""
    _refuse_if_changed(db, row)
    rows = mapping.bullet_rows(db, row.before)
    row.kept = {name: mapping.bullet_json(found) for name, found in rows.items()}
    row.undone = True
    for name, value in row.before.items():
        if value is not None:
            mapping.put_back(db, rows.get(name), value)
        elif name in rows:
            rows[name].state = "deleted"
    unmark(db, row)
    _settle(db, row)


def bring_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Do a delta again that was taken back: the same numbers, counts and evidence. Raises BadInput when a bullet it
    touches has been changed since."""
    _refuse_if_changed(db, row)
    rows = mapping.bullet_rows(db, row.before)
    for name, value in (row.kept or {}).items():
        if "content" in value:  # an older version kept less: what it had deleted stays so
            mapping.put_back(db, rows.get(name), value)
    mark_again(db, row)
    row.undone = False
    _settle(db, row)


def _settle(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Note that it was taken or brought back, later than all others, and work out what its bullets are worth now."""
    row.turned = 1 + int(db.exec(sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))).one())
    db.flush()
    for found in mapping.bullet_rows(db, touched(db, row)).values():
        evidence.recompute(db, found)
    db.flush()


def touched(db: sqlmodel.Session, row: DeltaRow) -> set[str]:
    """The bullets that are another thing when the delta comes or goes."""
    judged = db.exec(select(EvidenceRow.bullet).where(col(EvidenceRow.delta) == row.number).distinct()).all()
    return {*row.before, *(f"P-{number}" for number in judged)}


def _refuse_if_changed(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Raises BadInput when a later delta that stands has touched one of its bullets too."""
    later = (col(DeltaRow.number) > row.number, col(DeltaRow.undone) == sqlmodel.false())
    which = select(DeltaRow).where(*later, cast(col(DeltaRow.before), Text) != "{}")
    for other in db.exec(which).all() if row.before else ():
        shared = sorted(row.before.keys() & other.before.keys())
        if shared:
            outside = f"outside of a session, in {other.project}"
            place = f"in session {other.session_id}" if other.session_id else outside
            raise BadInput(f"{shared[0]} has been changed since, {place}.", "Undo that change there first.")


class PlaybookHistory:
    """Reads deltas and turns; changes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, bullet_id: str) -> list[Change]:
        """The changes that stand of one strategy, the oldest first; its current form is the last one's `after`."""
        names_it = _holds(col(DeltaRow.before), bullet_id)
        standing = select(DeltaRow).where(names_it, col(DeltaRow.undone).is_(False)).order_by(col(DeltaRow.number))
        with self._database.reading() as db:
            found = [mapping.applied_of(row) for row in db.exec(standing).all()]
            row = db.get(BulletRow, mapping.number_of(bullet_id))
            now = None if row is None else mapping.bullet_of(row)
        found = [applied for applied in found if bullet_id in applied.before]
        forms = [applied.before[bullet_id] for applied in found] + [now]
        return [Change(bullet_id, a, forms[i], forms[i + 1]) for i, a in enumerate(found)]

    def removed(self, session: Session) -> list[Bullet]:
        """The strategies the user removed, refused or took back, as far as the session could see them."""
        gone = select(BulletRow).where(applies(session), col(BulletRow.state) == "deleted")
        with self._database.reading() as db:
            return [mapping.bullet_of(row) for row in db.exec(gone).all()]

    def prompts(self, bullet_id: str, limit: int = 20) -> list[InteractionInfo]:
        """The turns in whose prompt a strategy stood, newest first."""
        which = select(InteractionRow).where(_holds(col(InteractionRow.shown), bullet_id))
        with self._database.reading() as db:
            found = db.exec(which.order_by(col(InteractionRow.id).desc()).limit(limit)).all()
            return [interaction_of(row) for row in found]


def _holds(column: Any, bullet_id: str) -> ColumnElement[bool]:
    """Whether a JSON column holds the id as a string or a key."""
    return cast(column, Text).contains(f'"{bullet_id}"', autoescape=True)
