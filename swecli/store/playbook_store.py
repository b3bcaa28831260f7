"""The playbook in the database: bullets change by deltas only, each applied whole, once, and reversibly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, and_, func, or_
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.model_io import Usage
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, SessionPlaybook
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.columns import clean_text
from swecli.store.database import Database
from swecli.store.playbook_ops import Outcome, named_in, work_out
from swecli.store.records import PendingReflection
from swecli.store.tables import BulletRow, DeltaRow, EvidenceRow, InteractionRow, ReflectionRow

SCOPES = ("session", "project", "user")  # from narrow to wide
NOT_FINAL = ("failed", "cancelled", "started")
TRIES = 3  # failed reflections of one interaction before it is given up


class PlaybookStore:
    """Strategies, their evidence, the changes made to them, and what has been reflected upon."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, session: Session) -> SessionPlaybook:
        """The bullets that apply to the session: its own, its project's and the user's; all but deleted ones."""
        with self._database.reading() as db:
            return load_bullets(db, session)

    def apply(self, delta: Delta, session: Session) -> AppliedDelta:
        """Apply a delta, all of it or nothing; one whose id was applied before changes nothing and is given back.

        New bullets get numbers that were never used. The session's playbook is loaded anew.

        Raises:
            BadInput: an operation names no bullet that applies to the session, or cannot be carried out.
        """
        with self._database.transaction() as db:
            row = db.exec(select(DeltaRow).where(col(DeltaRow.id) == clean_text(delta.id))).first()
            if row is None:
                row = _apply(db, delta, session)
            playbook = load_bullets(db, session)
            applied = mapping.applied_of(row)
        session.update_playbook(playbook)
        return applied

    def undo(self, session: Session, n: int = 1, *, every: bool = False) -> list[AppliedDelta]:
        """Take back the newest `n` deltas that concern the session (fewer if there are fewer), the newest first.

        A delta that only counts bullets as shown (neutral) is no change that a user made or saw: such ones go along
        with the next older real change and are not among what is returned, unless `every` delta is to count.
        Every bullet they touched is again as it was (its last use apart, which no delta sets). The session's
        playbook is loaded anew.

        Raises:
            BadInput: there is nothing to take back, or another session has changed the same bullet since.
        """
        if n < 1:
            raise BadInput(f"{n} changes cannot be undone.", "Give a number from 1.")
        with self._database.transaction() as db:
            rows = _newest(db, session, n, every)
            if not rows:
                raise BadInput("There is no change of the playbook to undo.")
            for row in rows:
                _take_back(db, row)
            playbook = load_bullets(db, session)
            undone = [mapping.applied_of(row) for row in rows if every or not _only_counts(row)]
        session.update_playbook(playbook)
        return undone

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """The deltas that concern the session, newest first, those taken back too."""
        newest_first = select(DeltaRow).where(_concerns(session)).order_by(col(DeltaRow.number).desc())
        with self._database.reading() as db:
            return [mapping.applied_of(row) for row in db.exec(newest_first.limit(max(0, limit))).all()]

    def get(self, bullet_id: str) -> Bullet | None:
        """A bullet in any state, a deleted one too."""
        with self._database.reading() as db:
            row = db.get(BulletRow, mapping.number_of(bullet_id))
            return None if row is None else mapping.bullet_of(row)

    def evidence(self, bullet_id: str) -> list[Evidence]:
        """What speaks for and against a bullet, in the order it came."""
        theirs = select(EvidenceRow).where(col(EvidenceRow.bullet) == mapping.number_of(bullet_id))
        with self._database.reading() as db:
            return [mapping.evidence_of(row) for row in db.exec(theirs.order_by(col(EvidenceRow.id))).all()]

    def record_reflection(
        self,
        session_id: str,
        interaction: int,
        *,
        status: str,
        author: str,
        usage: Usage,
        cost: float | None,
        detail: str,
    ) -> None:
        """Keep that an interaction was reflected upon, and how it went.

        It stays pending after "failed" (three times at most), "cancelled" and "started"; any other status is final.
        The request's price is counted by `SessionManager.record_request`, not here.

        Raises:
            BadInput: there is no such interaction.
        """
        row = ReflectionRow(session_id=session_id, interaction=interaction, status=status, author=author, detail=detail)
        row.input, row.cache_read, row.cache_write = usage.input, usage.cache_read, usage.cache_write
        row.output, row.reasoning, row.cost = usage.output, usage.reasoning, cost
        row.final = status not in NOT_FINAL
        with self._database.transaction() as db:
            of = (col(InteractionRow.session_id) == session_id, col(InteractionRow.number) == interaction)
            turn = db.exec(select(InteractionRow).where(*of)).first()
            if turn is None:
                raise BadInput(f"There is no interaction {interaction} in session {session_id} to reflect upon.")
            if status == "failed":
                row.final = _failures(db, session_id, interaction) + 1 >= TRIES
            db.add(row)
            turn.pending = turn.pending and not row.final

    def pending(self, session_id: str | None = None) -> list[PendingReflection]:
        """Finished interactions that are still to be reflected upon, the oldest first; of one session, or of all."""
        which = select(InteractionRow).where(col(InteractionRow.pending) == sqlmodel.true())
        if session_id is not None:
            which = which.where(col(InteractionRow.session_id) == session_id)
        with self._database.reading() as db:
            rows = db.exec(which.order_by(col(InteractionRow.id))).all()
            return [PendingReflection(row.session_id, row.number) for row in rows]

    def reflected(self, session_id: str, interaction: int) -> bool:
        """Whether the interaction's reflection is stored, so that there will be no other."""
        which = select(ReflectionRow.id).where(
            col(ReflectionRow.session_id) == session_id,
            col(ReflectionRow.interaction) == interaction,
            col(ReflectionRow.final) == sqlmodel.true(),
        )
        with self._database.reading() as db:
            return db.exec(which.limit(1)).first() is not None


def project_of(session: Session) -> str:
    """What a session's project is known by; its directory where nothing else was said."""
    return clean_text(session.project or session.working_directory)


def _applies(session: Session) -> ColumnElement[bool]:
    scope = col(BulletRow.scope)
    return or_(
        and_(scope == "session", col(BulletRow.session_id) == session.id),
        and_(scope == "project", col(BulletRow.project) == project_of(session)),
        scope == "user",
    )


def _concerns(session: Session) -> ColumnElement[bool]:
    reach = col(DeltaRow.reach)
    return or_(
        col(DeltaRow.session_id) == session.id,
        and_(reach == "project", col(DeltaRow.project) == project_of(session)),
        reach == "user",
    )


def load_bullets(db: sqlmodel.Session, session: Session) -> SessionPlaybook:
    """What applies to the session, within a transaction."""
    alive = select(BulletRow).where(_applies(session), col(BulletRow.state) != "deleted")
    rows = db.exec(alive.order_by(col(BulletRow.number))).all()
    # taking back is a change too: a version never comes twice with different bullets
    counted = sqlmodel.select(func.count(), func.count().filter(col(DeltaRow.undone))).where(_concerns(session))
    applied, undone = db.exec(counted.select_from(DeltaRow)).one()
    bullets = [mapping.bullet_of(row) for row in rows]
    return SessionPlaybook({bullet.id: bullet for bullet in bullets}, applied + undone)


def _apply(db: sqlmodel.Session, delta: Delta, session: Session) -> DeltaRow:
    numbers = [mapping.number_of(name) for name in named_in(delta)]
    found = db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers), _applies(session))).all()
    rows = {f"P-{row.number}": row for row in found}
    outcome = work_out(delta, {name: mapping.bullet_of(row) for name, row in rows.items()})
    before: dict[str, Any] = {name: mapping.bullet_json(rows[name]) for name in outcome.touched}
    scopes = [value["scope"] for value in before.values()]
    for name in outcome.touched:
        if outcome.bullets[name].scope != rows[name].scope:  # it moves in where the change is made
            rows[name].session_id, rows[name].project = session.id, project_of(session)
        mapping.fill_bullet(rows[name], outcome.bullets[name])
    for name in outcome.added:
        rows[name] = _mint(db, outcome.bullets[name], session)
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
    db.refresh(row)  # as the database has it, cleaned
    return row


def _mint(db: sqlmodel.Session, bullet: Bullet, session: Session) -> BulletRow:
    if bullet.scope == "session" and not session.id:
        raise BadInput("There is no session that a strategy of this scope could belong to.", "Use project or user.")
    row = BulletRow(content=bullet.content, session_id=session.id, project=project_of(session))
    db.add(mapping.fill_bullet(row, bullet))
    db.flush()
    return row


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


def _newest(db: sqlmodel.Session, session: Session, n: int, every: bool) -> list[DeltaRow]:
    """The newest deltas that stand, down to the n-th one that counts."""
    which = select(DeltaRow).where(_concerns(session), col(DeltaRow.undone) == sqlmodel.false())
    found: list[DeltaRow] = []
    real = 0
    for row in db.exec(which.order_by(col(DeltaRow.number).desc())):
        found.append(row)
        real += every or not _only_counts(row)
        if real == n:
            return found
    while found and not every and _only_counts(found[-1]):
        found.pop()
    return found


def _only_counts(row: DeltaRow) -> bool:
    """Whether a delta only says that bullets were shown."""
    return all(op.op == "TAG" and op.tag == "neutral" for op in mapping.applied_of(row).delta.ops)


def _take_back(db: sqlmodel.Session, row: DeltaRow) -> None:
    later = select(DeltaRow).where(col(DeltaRow.number) > row.number, col(DeltaRow.undone) == sqlmodel.false())
    for other in db.exec(later).all():
        if shared := sorted(row.before.keys() & other.before.keys()):
            raise BadInput(
                f"{shared[0]} has been changed since, in session {other.session_id}.", "Undo that change there first."
            )
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
        used = bullet.last_used or old.last_used
        db.add(mapping.fill_bullet(bullet, old))
        bullet.last_used, bullet.session_id, bullet.project = used, value["session_id"], value["project"]
    row.undone = True
    db.flush()


def _failures(db: sqlmodel.Session, session_id: str, interaction: int) -> int:
    which = sqlmodel.select(func.count()).where(
        col(ReflectionRow.session_id) == session_id,
        col(ReflectionRow.interaction) == interaction,
        col(ReflectionRow.status) == "failed",
    )
    return db.exec(which.select_from(ReflectionRow)).one()
