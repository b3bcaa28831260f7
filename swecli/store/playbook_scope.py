"""Which bullets and which changes concern a session: by scope, so that no project sees another's."""

from __future__ import annotations

import sqlmodel
from sqlalchemy import ColumnElement, and_, func, or_
from sqlmodel import col, select

from swecli.models.playbook import SessionPlaybook
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.columns import clean_text
from swecli.store.playbook_tables import SwitchRow
from swecli.store.tables import BulletRow, DeltaRow


def project_of(session: Session) -> str:
    """What a session's project is known by; its directory where nothing else was said."""
    return clean_text(session.project or session.working_directory)


def applies(session: Session) -> ColumnElement[bool]:
    """Whether a bullet may be seen and changed from the session."""
    scope = col(BulletRow.scope)
    return or_(
        and_(scope == "session", col(BulletRow.session_id) == session.id),
        and_(scope == "project", col(BulletRow.project) == project_of(session)),
        scope == "user",
    )


def concerns(session: Session) -> ColumnElement[bool]:
    """Whether a change touched what the session sees."""
    reach = col(DeltaRow.reach)
    return or_(
        col(DeltaRow.session_id) == session.id,
        and_(reach == "project", col(DeltaRow.project) == project_of(session)),
        reach == "user",
    )


def load_bullets(db: sqlmodel.Session, session: Session) -> SessionPlaybook:
    """What applies to the session, within a transaction."""
    alive = select(BulletRow).where(applies(session), col(BulletRow.state) != "deleted")
    rows = db.exec(alive.order_by(col(BulletRow.number))).all()
    bullets = [mapping.bullet_of(row) for row in rows]
    off = db.get(SwitchRow, project_of(session)) is not None
    return SessionPlaybook({bullet.id: bullet for bullet in bullets}, _version(db), off)


def _version(db: sqlmodel.Session) -> int:
    """A number that grows with every change and every one taken back; both are found without reading the changes."""
    newest = sqlmodel.select(func.coalesce(func.max(DeltaRow.number), 0)).scalar_subquery()
    undone = sqlmodel.select(func.count()).select_from(DeltaRow).where(col(DeltaRow.undone)).scalar_subquery()
    return int(db.exec(sqlmodel.select(newest + undone)).one())
