"""Which bullets and which changes concern a session: by scope, so that no project sees another's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, and_, false, or_, text
from sqlmodel import col, select

from swecli.models.playbook import AppliedDelta, SessionPlaybook
from swecli.models.session import Session
from swecli.store.playbook import mapping
from swecli.store.tables.columns import clean_text
from swecli.store.tables.playbook import BulletRow, DeltaRow

_NOW = text(
    "SELECT (SELECT coalesce(max(number), 0) FROM delta) + (SELECT coalesce(max(turned), 0) FROM delta),"
    " EXISTS (SELECT 1 FROM playbook_switch WHERE project = :project)"
)


def project_of(session: Session) -> str:
    """What a session's project is known by; its directory where nothing else was said."""
    return clean_text(session.project or session.working_directory)


def applies(session: Session) -> ColumnElement[bool]:
    """Whether a bullet may be seen and changed from the session."""
    scope = col(BulletRow.scope)
    return or_(
        and_(scope == "session", _of(session, col(BulletRow.session_id))),
        and_(scope == "project", col(BulletRow.project) == project_of(session)),
        scope == "user",
    )


def concerns(session: Session) -> ColumnElement[bool]:
    """Whether a change touched what the session sees, wherever it was made; see `seen_of` for the part it sees."""
    in_project = and_(made_in(session), col(DeltaRow.reach) == "project")
    return or_(made_by(session), in_project, col(DeltaRow.reach) == "user")


def revocable(session: Session) -> ColumnElement[bool]:
    """Whether a change that concerns the session was made in its project: only there may it be taken back."""
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


def seen_of(db: sqlmodel.Session, rows: Sequence[DeltaRow], session: Session) -> list[AppliedDelta]:
    """Changes as far as the session sees them: of one that was made in another project only what it did to strategies
    that apply in this one or were for all projects then, without what was refused there. Within a transaction."""
    names = {name for row in rows if row.project != project_of(session) for name in row.before}
    numbers = [mapping.number_of(name) for name in names]
    which = select(BulletRow.number).where(col(BulletRow.number).in_(numbers), applies(session))
    shared = {f"P-{number}" for number in db.exec(which).all()} if names else set()
    seen = [
        mapping.applied_of(row) if row.project == project_of(session) else _part(mapping.applied_of(row), shared)
        for row in rows
    ]
    return [change for change, row in zip(seen, rows, strict=True) if change.delta.ops or not row.ops]


def _part(applied: AppliedDelta, shared: Iterable[str]) -> AppliedDelta:
    """A change of another project without what only that project sees."""
    seen = {*shared, *(name for name, old in applied.before.items() if old is not None and old.scope == "user")}
    return AppliedDelta(
        replace(applied.delta, ops=tuple(op for name, op in applied.named() if name in seen), refused=()),
        {name: old for name, old in applied.before.items() if name in seen},
        tuple(name for name in applied.added if name in seen),
        applied.undone,
    )


def load_bullets(db: sqlmodel.Session, session: Session) -> SessionPlaybook:
    """What applies to the session, within a transaction."""
    alive = sqlmodel.select(*mapping.columns()).where(applies(session), col(BulletRow.state) != "deleted")
    rows = db.connection().execute(alive.order_by(col(BulletRow.number))).all()
    bullets = [mapping.bullet_of(row) for row in rows]
    return SessionPlaybook({bullet.id: bullet for bullet in bullets}, *_now(db, session))


def refresh(db: sqlmodel.Session, session: Session, names: Iterable[str]) -> SessionPlaybook:
    """The session's playbook after a change of these bullets: only they are read. It must have been current before."""
    playbook, named = session.playbook, set(names)
    numbers = [mapping.number_of(name) for name in named]
    which = sqlmodel.select(*mapping.columns()).where(applies(session), col(BulletRow.number).in_(numbers))
    rows = db.connection().execute(which.where(col(BulletRow.state) != "deleted")).all()
    found = {bullet.id: bullet for bullet in map(mapping.bullet_of, rows)}
    for name in named - found.keys():
        playbook.bullets.pop(name, None)
    playbook.bullets.update(found)
    return SessionPlaybook(playbook.bullets, *_now(db, session))


def is_current(db: sqlmodel.Session, session: Session) -> bool:
    """Whether the session's playbook is as the database has it, within a transaction: without reading a bullet."""
    return (session.playbook.version, session.playbook.off) == _now(db, session)


def _now(db: sqlmodel.Session, session: Session) -> tuple[int, bool]:
    """A number that grows with every change, every one taken back and every one brought back, and whether the playbook
    is off: found without reading the changes."""
    version, off = db.connection().execute(_NOW, {"project": project_of(session)}).one()
    return int(version), bool(off)
